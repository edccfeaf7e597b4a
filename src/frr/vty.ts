import { connect, type Socket } from "node:net";
import { VtyError, type VtyErrorCode } from "./error.ts";

/** Result codes of a line (lib/command.h). */
export const VtyStatus = { success: 0, warning: 1, noMatch: 2, ambiguous: 3, incomplete: 4, configurationFailed: 13 } as const;

export interface VtyReply {
  readonly status: number;
  readonly text: string;
}

export interface VtyOptions {
  daemon: string;
  signal: AbortSignal;
  deadlineMs?: number;
}

interface Request {
  readonly line: string;
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
  readonly resolve: (reply: VtyReply) => void;
  readonly reject: (reason: unknown) => void;
}

const DEADLINE_MS = 10_000;
/** Longer lines are rejected by FRR's main branch, not always with a message. */
const LONGEST_LINE = 4000;
const END_OF_REPLY = 4;
/** Many times the largest router's output. */
const LONGEST_REPLY = 256 * 1024 * 1024;
/** mgmtd does one commit at a time, and tells a second client to retry. */
const BUSY = /^% (?:command failed, )?could not lock \w+ DS/;
const BUSY_AGAIN_MS = 20;
/** A busy daemon answers, so it does not hang; a commit takes as long as the slowest backend. */
const BUSY_DEADLINES = 6;

/**
 * A connection to one daemon's vty socket, in enable mode. One line at a time. A lost connection stays lost: a new one would not know the
 * entered context.
 */
export class Vty {
  readonly daemon: string;
  readonly #socket: Socket;
  readonly #deadlineMs: number;
  readonly #waiting: Request[] = [];
  #underway: { request: Request; stop: () => void; deadline: NodeJS.Timeout; again?: NodeJS.Timeout; busyUntil?: number } | undefined;
  #received: Buffer[] = [];
  #receivedBytes = 0;
  #lost: { code: VtyErrorCode; text: string; cause?: unknown } | undefined;
  readonly #onLoss = new Set<() => void>();

  private constructor(socket: Socket, daemon: string, deadlineMs: number) {
    this.daemon = daemon;
    this.#socket = socket;
    this.#deadlineMs = deadlineMs;
    socket.on("data", (chunk) => this.#receive(chunk));
    socket.on("error", (cause) => this.#lose({ code: "Closed", text: `the connection failed: ${cause.message}`, cause }));
    socket.on("close", () => this.#lose({ code: "Closed", text: "the daemon closed the connection" }));
  }

  static async connect(path: string, options: VtyOptions): Promise<Vty> {
    const { daemon, signal, deadlineMs = DEADLINE_MS } = options;
    const vty = new Vty(await connected(path, daemon, signal), daemon, deadlineMs);
    try {
      // A new connection is read-only. A hanging daemon is noticed here: the kernel accepts connections for it.
      await vty.must("enable", signal);
    } catch (error) {
      vty.close();
      throw error;
    }
    return vty;
  }

  get open(): boolean {
    return this.#lost === undefined;
  }

  /** Called once, when the connection is lost. Returns a function that removes it. */
  onLoss(tell: () => void): () => void {
    this.#onLoss.add(tell);
    return () => this.#onLoss.delete(tell);
  }

  /** A rejection is a normal reply. */
  run(line: string, signal: AbortSignal, options: { deadlineMs?: number } = {}): Promise<VtyReply> {
    const problem = unsendable(line);
    if (problem) return Promise.reject(new VtyError("Malformed", this.daemon, line, problem));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line, signal, deadlineMs: options.deadlineMs ?? this.#deadlineMs, resolve, reject });
      this.#next();
    });
  }

  /** Throws if FRR rejects the line. */
  async must(line: string, signal: AbortSignal, options: { deadlineMs?: number } = {}): Promise<string> {
    const { status, text } = await this.run(line, signal, options);
    if (status !== VtyStatus.success) throw new VtyError("Rejected", this.daemon, line, errorText(text, status), { status });
    return text;
  }

  /** The output of a `show … json` command. The caller must check the shape of T. */
  async json<T>(line: string, signal: AbortSignal): Promise<T> {
    const { status, text } = await this.run(line, signal);
    // Some commands warn and still print JSON.
    try {
      return JSON.parse(text) as T;
    } catch (cause) {
      if (status !== VtyStatus.success) throw new VtyError("Rejected", this.daemon, line, errorText(text, status), { status });
      throw new VtyError("Malformed", this.daemon, line, `the answer is not JSON: ${text.slice(0, 80)}`, { cause });
    }
  }

  /** Sends lines in configuration mode, in order. Stops at the first rejected one. */
  async configure(lines: readonly string[], signal: AbortSignal): Promise<void> {
    await this.must("configure terminal", signal);
    try {
      for (const line of lines) await this.must(line, signal);
    } finally {
      if (this.open) await this.must("end", signal);
    }
  }

  close(): void {
    this.#lose({ code: "Closed", text: "the connection was closed" });
  }

  #next(): void {
    if (this.#underway) return;
    const request = this.#waiting.shift();
    if (!request) return;
    const { line, signal, deadlineMs } = request;
    if (this.#lost) {
      request.reject(this.#lossOf(line));
      return this.#next();
    }
    if (signal.aborted) {
      request.reject(signal.reason);
      return this.#next();
    }
    // After an abort the pending reply would be taken for the next one's, so the connection is closed.
    const abort = () => this.#giveUp(request, signal.reason, "the request was aborted");
    const deadline = setTimeout(() => {
      // If this process was blocked, the reply is there and only has to be read.
      setImmediate(() => {
        if (this.#underway?.request === request) this.#isLate(request, `no answer in ${deadlineMs / 1000} s`);
      });
    }, deadlineMs);
    signal.addEventListener("abort", abort, { once: true });
    const stop = () => {
      clearTimeout(deadline);
      clearTimeout(this.#underway?.again);
      signal.removeEventListener("abort", abort);
    };
    this.#underway = { request, stop, deadline };
    this.#socket.write(`${line}\0`);
  }

  #isLate(request: Request, text: string): void {
    this.#giveUp(request, new VtyError("Timeout", this.daemon, request.line, text), text);
  }

  #giveUp(request: Request, reason: unknown, text: string): void {
    this.#underway?.stop();
    this.#underway = undefined;
    request.reject(reason);
    this.#lose({ code: "Closed", text });
  }

  #receive(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes > LONGEST_REPLY) {
      this.#received = [];
      return this.#lose({ code: "Malformed", text: "received an unterminated answer" });
    }
    // Text has no NUL, so three of them and a status are the end.
    const tail = chunk.length < END_OF_REPLY && this.#received.length > 1 ? this.#mergeReceived() : chunk;
    const at = tail.length - END_OF_REPLY;
    if (at < 0 || tail[at] !== 0 || tail[at + 1] !== 0 || tail[at + 2] !== 0) return;
    const all = this.#mergeReceived();
    this.#received = [];
    this.#receivedBytes = 0;
    const underway = this.#underway;
    if (!underway || all.indexOf(0) !== all.length - END_OF_REPLY) {
      return this.#lose({ code: "Malformed", text: "received an unexpected answer" });
    }
    const reply = { status: all[all.length - 1] ?? 0, text: all.toString("utf8", 0, all.length - END_OF_REPLY) };
    if (BUSY.test(reply.text)) {
      const { request, deadline } = underway;
      underway.busyUntil ??= performance.now() + BUSY_DEADLINES * request.deadlineMs;
      if (performance.now() > underway.busyUntil) return this.#isLate(request, errorText(reply.text, reply.status));
      deadline.refresh();
      underway.again = setTimeout(() => this.#socket.write(`${request.line}\0`), BUSY_AGAIN_MS * (0.5 + Math.random()));
      return;
    }
    underway.stop();
    this.#underway = undefined;
    underway.request.resolve(reply);
    this.#next();
  }

  #mergeReceived(): Buffer {
    const all = this.#received.length === 1 && this.#received[0] ? this.#received[0] : Buffer.concat(this.#received);
    this.#received = [all];
    return all;
  }

  #lose(lost: { code: VtyErrorCode; text: string; cause?: unknown }): void {
    if (this.#lost) return;
    this.#lost = lost;
    // Destroyed, not closed: a process that another thread is starting would keep a copy open. When a session ends late, mgmtd 10 forgets
    // what the next one commits.
    this.#socket.destroySoon();
    const underway = this.#underway;
    underway?.stop();
    this.#underway = undefined;
    underway?.request.reject(this.#lossOf(underway.request.line));
    this.#next();
    for (const tell of this.#onLoss) tell();
    this.#onLoss.clear();
  }

  #lossOf(line: string): VtyError {
    const { code, text, cause } = this.#lost ?? { code: "Closed", text: "the connection was closed" };
    return new VtyError(code, this.daemon, line, text, { cause });
  }
}

/** `% [BGPD] Unknown command: foo` without sign, name and line ends. */
export function errorText(text: string, status: number): string {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => line.replace(/^\s*%+\s*(\[[A-Z]+\] )?/, "").trim())
    .filter((line) => line !== "");
  return lines.length ? lines.join("; ") : (SILENT_REJECTIONS[status] ?? `rejected with status ${status}`);
}

const SILENT_REJECTIONS: Readonly<Record<number, string>> = {
  [VtyStatus.warning]: "rejected without a message",
  [VtyStatus.noMatch]: "unknown command",
  [VtyStatus.ambiguous]: "ambiguous command",
  [VtyStatus.incomplete]: "command incomplete",
  [VtyStatus.configurationFailed]: "configuration failed",
};

function unsendable(line: string): string | undefined {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(line)) return "a line must not have control characters";
  if (Buffer.byteLength(line) > LONGEST_LINE) return `a line must not be longer than ${LONGEST_LINE} bytes`;
  return undefined;
}

function connected(path: string, daemon: string, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const socket = connect(path).on("error", () => {});
    const abort = () => finish(() => (socket.destroy(), reject(signal.reason as Error)));
    const fail = (cause: NodeJS.ErrnoException) =>
      finish(() => reject(new VtyError("Unreachable", daemon, "", unreachable(path, cause), { cause })));
    const ready = () => finish(() => resolve(socket));
    const finish = (how: () => void) => {
      signal.removeEventListener("abort", abort);
      socket.off("error", fail).off("connect", ready);
      how();
    };
    signal.addEventListener("abort", abort, { once: true });
    socket.once("error", fail).once("connect", ready);
  });
}

function unreachable(path: string, cause: NodeJS.ErrnoException): string {
  if (cause.code === "ENOENT") return `not running, ${path} does not exist`;
  if (cause.code === "ECONNREFUSED") return `not running, nothing listens on ${path}`;
  if (cause.code === "EACCES") return `no permission for ${path}; run as root or join the group frrvty`;
  return `cannot reach ${path}: ${cause.message}`;
}
