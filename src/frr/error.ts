import { masked } from "./entry.ts";

export type VtyErrorCode =
  /** The daemon is down, or its socket is missing. */
  | "Unreachable"
  /** The daemon did not answer in time. */
  | "Timeout"
  /** The daemon ended, or the connection was closed. */
  | "Closed"
  /** FRR does not want the line; `text` has its words. */
  | "Rejected"
  /** The line cannot be sent, or the answer is not what the command promises. */
  | "Malformed";

/** Passwords are masked, since it goes into logs and statuses. */
export class VtyError extends Error {
  override readonly name = "VtyError";
  readonly code: VtyErrorCode;
  readonly daemon: string;
  readonly line: string;
  readonly text: string;
  readonly status: number | undefined;

  constructor(code: VtyErrorCode, daemon: string, line: string, text: string, options: { status?: number; cause?: unknown } = {}) {
    super(masked(line ? `${daemon}: ${text} (${line.slice(0, 200)})` : `${daemon}: ${text}`), { cause: options.cause });
    this.code = code;
    this.daemon = daemon;
    this.line = masked(line);
    this.text = masked(text);
    this.status = options.status;
  }
}

/** FRR is not installed, or its programs fail. */
export class FrrError extends Error {
  override readonly name = "FrrError";
  readonly code: "NotInstalled" | "NotStarted" | "ReloadFailed";

  constructor(code: FrrError["code"], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
