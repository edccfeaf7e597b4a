import { CommanderError } from "commander";
import { KubeError, type KubeErrorCode } from "../../kube/client/error.ts";
import { printError, printable } from "../../kube/printable.ts";

/** The exit codes of all commands. */
export const EXIT = { fine: 0, no: 1, misuse: 2, unknown: 3 } as const;

/** Ends a command with a message and an exit code. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number, options?: ErrorOptions) {
    super(message, options);
    this.name = "CliError";
    this.exitCode = exitCode;
  }
}

/** Prints an error and continues; the command ends with the highest exit code. */
export function failWith(sentence: string, exitCode: number): void {
  printError(`plumbline: ${printable(sentence)}\n`);
  process.exitCode = Math.max(exitCode, typeof process.exitCode === "number" ? process.exitCode : EXIT.fine);
}

/** Prints an error, and returns the exit code for it. */
export function exitCodeFor(error: unknown, say: (line: string) => void): number {
  const { sentence, exitCode } = sentenceAbout(error);
  if (sentence !== undefined) say(`plumbline: ${sentence}`);
  return exitCode;
}

/** What to print about an error, and the exit code for it. Without a sentence there is nothing to say. */
export function sentenceAbout(error: unknown): { sentence?: string; exitCode: number } {
  // Commander has printed help, version or the misuse itself.
  if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? EXIT.fine : EXIT.misuse };
  if (error instanceof CliError) return { sentence: printable(error.message), exitCode: error.exitCode };
  if (error instanceof KubeError) return { sentence: printable(error.message), exitCode: exitCodeOf(error) };
  if (error instanceof Error && error.name === "AbortError") return { exitCode: EXIT.unknown };
  if (isForeseen(error)) return { sentence: printable(error.message), exitCode: EXIT.unknown };
  // Unexpected, so a bug of ours: print the stack.
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { sentence: `internal error, report it with this trace: ${printable(stack)}`, exitCode: EXIT.unknown };
}

/** Our own and system errors have a code and a clear message; Node's ERR_ codes are bugs. */
function isForeseen(error: unknown): error is Error {
  return error instanceof Error && "code" in error && typeof error.code === "string" && !error.code.startsWith("ERR_");
}

const ANSWERED: ReadonlySet<KubeErrorCode> = new Set(["NotFound", "AlreadyExists", "Conflict", "Invalid", "MethodNotAllowed"]);

/** A rejected write is an answer; a forbidden read or an unreachable server is not. */
export function exitCodeOf({ code, method }: KubeError): number {
  if (code === "BadRequest") return EXIT.misuse;
  return ANSWERED.has(code) || (code === "Forbidden" && method !== "GET") ? EXIT.no : EXIT.unknown;
}
