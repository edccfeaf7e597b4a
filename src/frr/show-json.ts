import { VtyError } from "./error.ts";
import type { Vty } from "./vty.ts";

/** An unchecked JSON object. A field that is missing or of an unexpected type counts as missing. */
export type UnparsedAnswer = Record<string, unknown>;

export interface ShowClient {
  vty(daemon: string, signal: AbortSignal): Promise<Pick<Vty, "run">>;
}

/** FRR 8.4 prints nothing instead of an empty result. */
export async function read(router: ShowClient, daemon: string, line: string, signal: AbortSignal): Promise<unknown> {
  const { text } = await (await router.vty(daemon, signal)).run(line, signal);
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new VtyError("Malformed", daemon, line, `the answer is not JSON: ${text.trim().slice(0, 80)}`, { cause });
  }
}

export function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function number(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

export function record(value: unknown): UnparsedAnswer {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as UnparsedAnswer) : {};
}

export function members(value: unknown): [string, unknown][] {
  return Object.entries(record(value)).filter(([, member]) => typeof member === "object");
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
