import type { StoredObject } from "../kinds/served-kind.ts";
import type { Declaration } from "./declaration.ts";
import { checked } from "../../resilience/checksummed-lines.ts";
import type { ChangeLogEntry } from "./change-log.ts";

/** One line of the state file, as it is read back. */
export interface StateRecord {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  /** Undefined when the object was deleted. */
  readonly object?: StoredObject;
  /** Null when its file is gone; undefined when nothing changed about it. */
  readonly declaration?: Declaration | null;
}

/** The first line: what the others look like. */
export const FORMAT = 1;
export const HEADER = checked(JSON.stringify({ format: FORMAT }));

/** A change as a line. The object's JSON goes in as it is. */
export function lineOf({ revision, resource, key, entry, declaration }: ChangeLogEntry): Buffer {
  const head = JSON.stringify({ revision, resource, key }).slice(0, -1);
  if (!entry) return checked(`${head}}`);
  const tail = declaration === undefined ? "}" : `,"declaration":${JSON.stringify(declaration)}}`;
  return checked(Buffer.concat([Buffer.from(`${head},"object":`), entry.json, Buffer.from(tail)]));
}

/** What a damaged line seems to have been about. */
export function guessSubject(line: Buffer): string {
  const text = line.toString("latin1", 0, 600);
  const [, resource] = /"resource":"([^"]+)"/.exec(text) ?? [];
  const [, key] = /"key":"([^"]+)"/.exec(text) ?? [];
  return resource !== undefined && key !== undefined ? `${resource} ${key}` : "unknown";
}
