import type { RemoteProcess } from "../machine/machine.ts";
import type { LabHost } from "../net/lab-host.ts";

/** A ping that goes on and on: how much of it was lost, and whether it passes now. */
export class Traffic {
  readonly label: string;
  readonly #process: RemoteProcess;
  readonly #answered = new Set<number>();
  #sent = 0;
  #rest = "";
  #milliseconds: number | undefined;

  /** From a network namespace of a node, or from the host itself. */
  constructor(options: { label: string; host: LabHost; namespace?: string; to: string; everyMs: number; bytes?: number }) {
    this.label = options.label;
    const enter = options.namespace === undefined ? [] : ["ip", "netns", "exec", options.namespace];
    // -O tells of every request that has no answer yet when the next one goes out.
    const size = options.bytes === undefined ? [] : ["-s", String(options.bytes)];
    this.#process = options.host.start([...enter, "ping", "-n", "-O", ...size, "-i", String(options.everyMs / 1000), options.to]);
    this.#process.onOutput = (chunk) => this.#read(chunk.toString());
  }

  /** Unanswered requests, without those in flight. */
  get lost(): number {
    return this.#sent - this.#answered.size;
  }

  get answered(): number {
    return this.#answered.size;
  }

  /** The last round trip; undefined while nothing comes back. */
  get milliseconds(): number | undefined {
    return this.#milliseconds;
  }

  /** When it has ended, by itself or because it was stopped. */
  get ended(): Promise<void> {
    return this.#process.ended.then(
      () => undefined,
      () => undefined,
    );
  }

  async stop(): Promise<void> {
    await this.#process.kill();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const sequence = Number(/icmp_seq=(\d+)/.exec(line)?.[1] ?? 0);
      if (sequence === 0) continue;
      this.#sent = Math.max(this.#sent, sequence);
      const time = / time=([\d.]+) ms/.exec(line)?.[1];
      if (time !== undefined) this.#answered.add(sequence);
      this.#milliseconds = time === undefined ? undefined : Number(time);
    }
  }
}
