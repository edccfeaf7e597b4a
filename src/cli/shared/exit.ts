import { CommanderError } from "commander";
import { KubeError, type KubeErrorCode } from "../../kube/client/error.ts";
import { printError, printable } from "../../kube/printable.ts";

/** What the exit code of every command means. */
export const EXIT = { fine: 0, no: 1, misuse: 2, unknown: 3 } as const;

/** Ends a command with a sentence for its user, and a code. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number, options?: ErrorOptions) {
    super(message, options);
    this.name = "CliError";
    this.exitCode = exitCode;
  }
}

/** Says what went wrong, and goes on; the command ends with the gravest of its codes. */
export function failWith(sentence: string, exitCode: number): void {
  printError(`plumbline: ${printable(sentence)}\n`);
  process.exitCode = Math.max(exitCode, typeof process.exitCode === "number" ? process.exitCode : EXIT.fine);
}

/** The exit code for whatever a command threw, after telling the user about it. */
export function exitCodeFor(error: unknown, say: (line: string) => void): number {
  // Commander has printed help, version or the misuse itself.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.fine : EXIT.misuse;
  if (error instanceof CliError) {
    say(`plumbline: ${printable(error.message)}`);
    return error.exitCode;
  }
  if (error instanceof KubeError) {
    say(`plumbline: ${printable(error.message)}`);
    return exitCodeOf(error);
  }
  if (error instanceof Error && error.name === "AbortError") return EXIT.unknown;
  if (isForeseen(error)) {
    say(`plumbline: ${printable(error.message)}`);
    return EXIT.unknown;
  }
  // Not foreseen, so ours to mend: here the stack is worth its lines.
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  say(`plumbline: this should not have happened, and is a bug: ${printable(stack)}`);
  return EXIT.unknown;
}

/** Ours and the system's errors carry a code and explain themselves; Node's ERR_ codes are about wrong code. */
function isForeseen(error: unknown): error is Error {
  return error instanceof Error && "code" in error && typeof error.code === "string" && !error.code.startsWith("ERR_");
}

const ANSWERED: ReadonlySet<KubeErrorCode> = new Set(["NotFound", "AlreadyExists", "Conflict", "Invalid", "MethodNotAllowed"]);

/** A server that says no has answered; one that lets us see nothing, or is not there, has not. */
export function exitCodeOf({ code, method }: KubeError): number {
  if (code === "BadRequest") return EXIT.misuse;
  return ANSWERED.has(code) || (code === "Forbidden" && method !== "GET") ? EXIT.no : EXIT.unknown;
}
