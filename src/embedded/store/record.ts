import type { StoredObject } from "../kinds/served-kind.ts";
import type { Declaration } from "./declaration.ts";
import { checked } from "../../resilience/checksummed-lines.ts";
import type { ChangeLogEntry } from "./change-log.ts";

export interface StateRecord {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  readonly object?: StoredObject;
  /** Null if its file is gone; undefined if it is unchanged. */
  readonly declaration?: Declaration | null;
}

/** The first line has the format of the others. */
export const FORMAT = 1;
export const HEADER = checked(JSON.stringify({ format: FORMAT }));

export function lineOf({ revision, resource, key, entry, declaration }: ChangeLogEntry): Buffer {
  const head = JSON.stringify({ revision, resource, key }).slice(0, -1);
  if (!entry) return checked(`${head}}`);
  const tail = declaration === undefined ? "}" : `,"declaration":${JSON.stringify(declaration)}}`;
  return checked(Buffer.concat([Buffer.from(`${head},"object":`), entry.json, Buffer.from(tail)]));
}

/** The object that a damaged line seems to be about. */
export function guessSubject(line: Buffer): string {
  const text = line.toString("latin1", 0, 600);
  const [, resource] = /"resource":"([^"]+)"/.exec(text) ?? [];
  const [, key] = /"key":"([^"]+)"/.exec(text) ?? [];
  return resource !== undefined && key !== undefined ? `${resource} ${key}` : "unknown";
}
