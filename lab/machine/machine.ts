import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { LabError } from "../error.ts";
import { encode, type Exit, FRAME, frameReader } from "./frames.ts";

/** How to reach the control program of a machine; also what another process needs to know of it. */
export interface MachineAccess {
  readonly address: string;
  readonly port: number;
  readonly token: string;
}

export interface CommandOptions {
  readonly signal?: AbortSignal;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface ExecOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const ATTEMPT_MS = 1_000;
const ATTEMPT_PAUSE_MS = 100;

/** The kernel that the lab's namespaces live on: this machine's own, or User-Mode Linux. */
export class Machine {
  readonly access: MachineAccess;
  readonly #running = new Set<RemoteProcess>();

  constructor(access: MachineAccess) {
    this.access = access;
  }

  /** Returns when the control program answers. */
  async ready(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      try {
        await this.run(["true"], { signal: AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]) });
        return;
      } catch {
        await sleep(ATTEMPT_PAUSE_MS, undefined, { signal });
      }
    }
  }

  /** Runs a command to its end, whatever its exit code. */
  async run(command: readonly string[], { input, ...options }: CommandOptions & { input?: string } = {}): Promise<ExecOutcome> {
    const process = this.start(command, options);
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    process.onOutput = (chunk) => stdout.push(chunk);
    process.onErrors = (chunk) => stderr.push(chunk);
    process.endInput(input);
    const code = await process.ended;
    return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
  }

  /** Runs a command that must succeed, and gives its output. */
  async do(command: readonly string[], options: CommandOptions & { input?: string } = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(command, options);
    if (code !== 0)
      throw new LabError("CommandFailed", `${command.join(" ")} ended with ${code} in the lab:\n${(stderr || stdout).trim()}`);
    return stdout;
  }

  /** Starts a command, which lives until it ends, is stopped, or we are gone. */
  start(command: readonly string[], options: CommandOptions = {}): RemoteProcess {
    const process = new RemoteProcess(this.access, command, options);
    this.#running.add(process);
    process.ended.catch(() => undefined).finally(() => this.#running.delete(process));
    return process;
  }

  /** Gives up everything that runs: a machine that was switched off says no word on its connections. */
  close(): void {
    for (const process of this.#running) process.giveUp();
  }
}

/** A process inside the machine. */
export class RemoteProcess {
  onOutput: (chunk: Buffer) => void = () => undefined;
  onErrors: (chunk: Buffer) => void = () => undefined;
  /** Its exit code, as a shell gives it. Rejects when there is no such program or the machine is gone. */
  readonly ended: Promise<number>;
  readonly #socket: Socket;

  constructor({ address, port, token }: MachineAccess, command: readonly string[], { signal, ...settings }: CommandOptions) {
    const socket = connect({ host: address, port, noDelay: true, ...(signal === undefined ? {} : { signal }) });
    this.#socket = socket;
    this.#send(encode(FRAME.request, JSON.stringify({ token, command, ...settings })));
    this.ended = new Promise((resolve, reject) => {
      const read = frameReader((type, payload) => {
        if (type === FRAME.output) this.onOutput(payload);
        else if (type === FRAME.errors) this.onErrors(payload);
        else if (type === FRAME.exit) {
          const { code, problem } = JSON.parse(payload.toString()) as Exit;
          if (problem === undefined) resolve(code);
          else reject(new LabError("CommandFailed", `${command.join(" ")} did not start in the lab: ${problem}`));
        }
      });
      socket.on("data", read);
      socket.once("error", (error) => reject(signal?.aborted ? signal.reason : unreachable(command, error)));
      socket.once("close", () => reject(unreachable(command)));
    });
    // The caller of a background command may read its result later, or never.
    this.ended.catch(() => undefined);
  }

  input(chunk: Uint8Array | string): void {
    this.#send(encode(FRAME.input, chunk));
  }

  endInput(last?: string): void {
    if (last !== undefined) this.input(last);
    this.#send(encode(FRAME.inputEnd));
  }

  signal(name: NodeJS.Signals): void {
    this.#send(encode(FRAME.signal, name));
  }

  /** Kills it and all it started in its group. */
  async kill(): Promise<void> {
    if (this.#socket.destroyed) return;
    this.signal("SIGKILL");
    await once(this.#socket, "close");
  }

  giveUp(): void {
    this.#socket.destroy();
  }

  #send(frame: Buffer): void {
    if (this.#socket.writable) this.#socket.write(frame);
  }
}

function unreachable(command: readonly string[], cause?: unknown): LabError {
  return new LabError("Unreachable", `The lab's machine is gone; ${command.join(" ")} has no end that could be told`, cause);
}
