import { styleText } from "node:util";
import { destination, pino, stdTimeFunctions, type LevelWithSilent, type Logger } from "pino";
import { printable } from "./printable.ts";

/** Messages are constant, variables are fields: `log.warn({ key, error }, "reconcile failed")`. An error goes into the field `error`. */
export type Log = Logger;

export interface LogOptions {
  level?: LevelWithSilent;
  /** One line of text instead of JSON. Default if stderr is a terminal. */
  pretty?: boolean;
  /** Gets each line; by default stderr, written synchronously so that nothing is lost when the process dies. */
  write?: (line: string) => void;
}

export function createLog(options: LogOptions = {}): Log {
  const pretty = options.pretty ?? (options.write === undefined && process.stderr.isTTY);
  const write = options.write ?? stderr();
  return pino(
    {
      level: options.level ?? "info",
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      errorKey: "error",
      serializers: { error: describeError },
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: pretty ? (line: string) => write(prettyLine(line)) : write },
  );
}

function stderr(): (line: string) => void {
  const stream = destination({ dest: 2, sync: true });
  return (line) => stream.write(line);
}

interface ErrorFields {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: unknown;
}

/** An error with a code needs no stack. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const fields: ErrorFields = { type: error.name, message: error.message };
  if ("code" in error && typeof error.code === "string") fields.code = error.code;
  else if (error.stack !== undefined) fields.stack = error.stack;
  if (error.cause !== undefined) fields.cause = describeError(error.cause);
  return fields;
}

const colors = { trace: "gray", debug: "gray", info: "green", warn: "yellow", error: "red", fatal: "magenta" } as const;

interface Line extends Record<string, unknown> {
  level: keyof typeof colors;
  time: string;
  msg: string;
}

function prettyLine(json: string): string {
  const { level, time, msg, error, ...fields } = JSON.parse(json) as Line;
  const parts = [styleText("gray", time.slice(11, 23)), styleText(colors[level], level.toUpperCase().padEnd(5)), printable(msg)];
  for (const [name, value] of Object.entries(fields)) {
    parts.push(styleText("cyan", `${printable(name)}=`) + fieldText(value));
  }
  return `${parts.join(" ")}${error === undefined ? "" : prettyError(error)}\n`;
}

/** Unchanged, unless it would start a line or move the cursor. */
function fieldText(value: unknown): string {
  return typeof value === "string" && !/\p{Cc}/u.test(value) ? value : printable(JSON.stringify(value));
}

function prettyError(error: unknown): string {
  if (typeof error !== "object" || error === null || !("message" in error)) return ` ${styleText("red", printable(JSON.stringify(error)))}`;
  const { type, message, stack, cause } = error as ErrorFields;
  const text = stack === undefined ? ` ${styleText("red", indented(`${type}: ${message}`))}` : `\n  ${indented(stack)}`;
  return cause === undefined ? text : `${text} caused by${prettyError(cause)}`;
}

function indented(text: string): string {
  return printable(text).replaceAll("\n", "\n  ");
}
