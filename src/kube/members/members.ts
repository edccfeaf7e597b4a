import { isObject } from "../../api/admission/value.ts";
import type { ConfigMap } from "../../api/core/config-map.ts";
import { isSigningKey } from "./agent-lease.ts";
import type { FreedIndex, Indexes, NodeIndex } from "./indexes.ts";

/** Published by the controller to all agents: the live agents, their keys, and the nodes' indexes. */
export interface Members extends Indexes {
  live: readonly string[];
  /** Public signing keys by node. Older controllers publish none. */
  keys: Readonly<Record<string, string>>;
}

export const membersName = "plumbline-members";

export const emptyMembers: Members = { live: [], keys: {}, indexes: {}, freed: [] };

/** The object is invalid. Readers keep the last valid one. */
export class MembersError extends Error {
  override readonly name = "MembersError";
  readonly code = "Malformed";
  readonly field: string;

  constructor(field: string, problem: string, cause?: unknown) {
    super(`ConfigMap ${membersName}: data.${field} ${problem}; restore it, or delete the object: Nodes keep their index`, {
      cause,
    });
    this.field = field;
  }
}

/** Strict about known fields; ignores unknown ones. */
export function parseMembers({ data = {} }: ConfigMap): Members {
  return {
    live: parse(data, "live", isNames, "is not a list of node names"),
    keys: data["keys"] === undefined ? {} : parse(data, "keys", isKeys, "does not give nodes a key each"),
    indexes: parse(data, "indexes", isIndexes, "does not give each node an index of its own"),
    freed: parse(data, "freed", isFreed, "is not a list of indexes with the times they were freed"),
  };
}

export function printMembers({ live, keys, indexes, freed }: Members): Record<string, string> {
  return { live: JSON.stringify(live), keys: JSON.stringify(keys), indexes: JSON.stringify(indexes), freed: JSON.stringify(freed) };
}

/** The number of live agents with a lower index; if unknown, the maximum. */
export function agentsBefore(node: string, members: ConfigMap | undefined): number {
  if (!members) return 0;
  try {
    const { live, indexes } = parseMembers(members);
    const rank = (name: string) => indexes[name]?.index ?? Infinity;
    return live.filter((other) => rank(other) < rank(node)).length;
  } catch {
    return Infinity;
  }
}

function parse<T>(data: Record<string, string>, field: string, is: (value: unknown) => value is T, problem: string): T {
  const text = data[field];
  if (text === undefined) throw new MembersError(field, "is missing");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new MembersError(field, "is not JSON", error);
  }
  if (!is(value)) throw new MembersError(field, problem);
  return value;
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function isKeys(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every((key) => typeof key === "string" && isSigningKey(key));
}

function isIndexes(value: unknown): value is Record<string, NodeIndex> {
  if (!isObject(value)) return false;
  const indexes = Object.values(value);
  return indexes.every(hasIndex) && new Set(indexes.map(({ index }) => index)).size === indexes.length;
}

function isFreed(value: unknown): value is FreedIndex[] {
  return (
    Array.isArray(value) &&
    value.every((item) => hasIndex(item) && "at" in item && typeof item.at === "string" && !Number.isNaN(Date.parse(item.at)))
  );
}

function hasIndex(value: unknown): value is NodeIndex {
  return isObject(value) && Number.isSafeInteger(value["index"]) && Number(value["index"]) >= 0;
}
