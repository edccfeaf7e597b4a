import { afterEach, beforeEach, vi } from "vitest";
import { fixedAccess } from "./fixed-access.ts";
import { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/error.ts";
import type { Term } from "../leader/leader.ts";
import { createLog } from "../log.ts";
import type { Runnable } from "../controller/controller.ts";
import { aborted } from "../../util/deadline.ts";
import { Manager, type ManagerOptions } from "../controller/manager.ts";

/** Managers and their parts, in fake time, and what became of them. */
class ManagerHarness {
  /** What parts, elections and connections did, in order. */
  readonly story: string[] = [];
  readonly lines: Record<string, unknown>[] = [];
  readonly stop = new AbortController();

  manager(options: Partial<ManagerOptions> = {}): Manager {
    const client = new KubeClient(fixedAccess("http://127.0.0.1:1"));
    const close = client.close.bind(client);
    vi.spyOn(client, "close").mockImplementation(() => {
      this.story.push("client closed");
      close();
    });
    const log = createLog({ level: "debug", write: (line) => this.lines.push(JSON.parse(line) as Record<string, unknown>) });
    return new Manager({ client, log, ...options });
  }

  /** Tells the story of its start and end, which takes the given time after the abort. */
  part(name: string, endsAfterMs = 0): Runnable {
    const { story } = this;
    return {
      name,
      async run(signal) {
        story.push(`${name} starts`);
        await aborted(signal);
        story.push(`${name} ends`);
        if (endsAfterMs > 0) await new Promise((resolve) => setTimeout(resolve, endsAfterMs));
        story.push(`${name} ended`);
      },
    };
  }

  /** Elected whenever the test says so. */
  elections() {
    const { story } = this;
    let election = Promise.withResolvers<void>();
    let term = new AbortController();
    return {
      elect: () => election.resolve(),
      depose: () => term.abort(new KubeError("Fenced", "the Lease was taken away")),
      async run(signal: AbortSignal, { onStarted }: Term) {
        story.push("stands for leader");
        election = Promise.withResolvers<void>();
        term = new AbortController();
        await Promise.race([election.promise, aborted(signal)]);
        if (signal.aborted) return;
        await onStarted(AbortSignal.any([signal, term.signal]), "free");
        story.push(term.signal.aborted ? "Lease lost" : "Lease released");
        term.signal.throwIfAborted();
      },
    };
  }

  /** Where the health server listening, once it does. */
  healthAddress(): Promise<string> {
    return vi.waitFor(
      () => {
        const line = this.lines.find(({ msg }) => msg === "health server listening");
        if (!line) throw new Error("it does not listen yet");
        return line["address"] as string;
      },
      { timeout: 10_000, interval: 10 },
    );
  }
}

/** Gives each test a harness of its own. */
export function useManagerHarness(): () => ManagerHarness {
  let harness: ManagerHarness;
  beforeEach(() => {
    vi.useFakeTimers();
    harness = new ManagerHarness();
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  return () => harness;
}

export const soon = () => vi.advanceTimersByTimeAsync(0);

export const flushMicrotasks = (promise: Promise<void>) =>
  promise.then(
    () => "fine",
    (error: unknown) => error,
  );
