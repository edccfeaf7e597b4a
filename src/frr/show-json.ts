import { VtyError } from "./error.ts";
import type { Vty } from "./vty.ts";

/** An object of an answer, of which nothing is known yet. A field that is missing or of an unexpected type counts as missing. */
export type UnparsedAnswer = Record<string, unknown>;

/** Whoever passes on a question to a daemon. */
export interface ShowClient {
  vty(daemon: string, signal: AbortSignal): Promise<Pick<Vty, "run">>;
}

/** FRR 8.4 says nothing at all where there is nothing to say. */
export async function read(router: ShowClient, daemon: string, line: string, signal: AbortSignal): Promise<unknown> {
  const { text } = await (await router.vty(daemon, signal)).run(line, signal);
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new VtyError("Malformed", daemon, line, `the answer is not JSON: ${text.trim().slice(0, 80)}`, { cause });
  }
}

export function text(said: unknown): string | undefined {
  return typeof said === "string" ? said : undefined;
}

export function number(said: unknown): number {
  return typeof said === "number" && Number.isFinite(said) ? said : 0;
}

export function record(said: unknown): UnparsedAnswer {
  return typeof said === "object" && said !== null && !Array.isArray(said) ? (said as UnparsedAnswer) : {};
}

export function members(said: unknown): [string, unknown][] {
  return Object.entries(record(said)).filter(([, value]) => typeof value === "object");
}

export function list(said: unknown): unknown[] {
  return Array.isArray(said) ? said : [];
}
