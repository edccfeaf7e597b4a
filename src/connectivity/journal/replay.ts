import { checkedLines, wholeBytes } from "../../resilience/checksummed-lines.ts";
import type { History } from "../history/history.ts";
import { reduce } from "../history/reduce.ts";
import type { Told } from "../outage-events.ts";
import { FORMAT, HEADER, type JournalRecord } from "./record.ts";

/** What the journal knows of a check. */
export interface Remembered {
  readonly history: History;
  readonly told?: Told;
}

export interface Replayed {
  readonly checks: Map<string, Remembered>;
  /** Whether the file can be gone on with as it is. */
  readonly isWhole: boolean;
  /** What people should hear of: lines that are damaged, or a file that another version wrote. */
  readonly problem?: string;
}

/**
 * Reads a journal back. A last line without a line feed was being written when the process was killed: nobody was told that it was there. A
 * damaged one is lost and the others still count, since an attempt finds its place by its number; but what is said of a check before it was
 * introduced is nothing to build on.
 */
export function replay(content: Buffer): Replayed {
  const checks = new Map<string, Remembered>();
  let damaged = 0;
  let hasHeader = false;
  for (const { record } of checkedLines(content)) {
    if (isHeader(record)) {
      if (record.format !== FORMAT) {
        return {
          checks: new Map(),
          isWhole: false,
          problem: `it has format ${JSON.stringify(record.format)}, which this version does not know`,
        };
      }
      hasHeader = true;
    } else if (isRecord(record)) apply(checks, record);
    else damaged += 1;
  }
  const isWhole = hasHeader && damaged === 0 && wholeBytes(content) === content.length;
  if (wholeBytes(content) === 0 && !HEADER.subarray(0, content.length).equals(content)) {
    return { checks, isWhole, problem: "it has no line that can be read" };
  }
  return damaged === 0 ? { checks, isWhole } : { checks, isWhole, problem: `${damaged} of its lines are damaged` };
}

/** The last record of a check may say that it is gone. */
function apply(checks: Map<string, Remembered>, record: JournalRecord): void {
  const { uid } = record;
  const held = checks.get(uid);
  if ("forgotten" in record) checks.delete(uid);
  else if ("history" in record) checks.set(uid, remembered(record.history, record.told ? toldOf(record.told) : held?.told));
  else if (!held) return;
  else if ("attempt" in record) checks.set(uid, remembered(reduce(held.history, record.attempt), held.told));
  else checks.set(uid, remembered(held.history, toldOf(record.told)));
}

/** Before everything there is -Infinity, which JSON makes null of. */
function toldOf({ opened, closed }: { readonly [K in keyof Told]: number | null }): Told {
  return { opened: opened ?? -Infinity, closed: closed ?? -Infinity };
}

export function remembered(history: History, told: Told | undefined): Remembered {
  return told ? { history, told } : { history };
}

function isHeader(record: unknown): record is { format: unknown } {
  return typeof record === "object" && record !== null && "format" in record;
}

function isRecord(record: unknown): record is JournalRecord {
  return typeof record === "object" && record !== null && "uid" in record;
}
