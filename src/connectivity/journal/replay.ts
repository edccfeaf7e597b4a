import { checkedLines, completeBytes, isHeader } from "../../resilience/checksummed-lines.ts";
import type { CheckHistory, HistoryState } from "../history/history.ts";
import { reduce } from "../history/reduce.ts";
import type { RecordedOutages } from "../history/outage-events.ts";
import { FORMAT, HEADER, type JournalRecord } from "./record.ts";

export interface JournalEntry {
  readonly history: CheckHistory;
  readonly recorded?: RecordedOutages;
}

export interface Replayed {
  readonly checks: Map<string, JournalEntry>;
  /** Whether the file can be appended to. */
  readonly isWhole: boolean;
  /** Damaged lines, or a file of another version. */
  readonly problem?: string;
}

/**
 * Reads a journal. A last line without a line feed was being written when the process was killed. A damaged line is lost and the others
 * count, since attempts are ordered by number; but records of a check before its first snapshot are ignored.
 */
export function replay(content: Buffer): Replayed {
  const checks = new Map<string, JournalEntry>();
  let damaged = 0;
  let hasHeader = false;
  for (const { record } of checkedLines(content)) {
    if (isHeader(record)) {
      if (record.format !== FORMAT) {
        return {
          checks: new Map(),
          isWhole: false,
          problem: `unknown format ${JSON.stringify(record.format)}`,
        };
      }
      hasHeader = true;
    } else if (isRecord(record)) apply(checks, withCurrentKeys(record));
    else damaged += 1;
  }
  const isWhole = hasHeader && damaged === 0 && completeBytes(content) === content.length;
  if (completeBytes(content) === 0 && !HEADER.subarray(0, content.length).equals(content)) {
    return { checks, isWhole, problem: "no readable line" };
  }
  return damaged === 0 ? { checks, isWhole } : { checks, isWhole, problem: `${damaged} damaged lines` };
}

/** The last record of a check may be its removal. */
function apply(checks: Map<string, JournalEntry>, record: JournalRecord): void {
  const { uid } = record;
  const existing = checks.get(uid);
  if ("forgotten" in record) checks.delete(uid);
  else if ("history" in record)
    checks.set(uid, journalEntries(record.history, record.recorded ? recordedOf(record.recorded) : existing?.recorded));
  else if (!existing) return;
  else if ("attempt" in record) checks.set(uid, journalEntries(reduce(existing.history, record.attempt), existing.recorded));
  else checks.set(uid, journalEntries(existing.history, recordedOf(record.recorded)));
}

function recordedOf({ opened, closed }: { readonly [K in keyof RecordedOutages]: number | null }): RecordedOutages {
  return { opened: opened ?? -Infinity, closed: closed ?? -Infinity };
}

/** Earlier versions wrote `told` for `recorded` and `shown` for `newestTime`. */
function withCurrentKeys({ told, ...record }: JournalRecord & { readonly told?: RecordedOutages }): JournalRecord {
  const current = (told ? { recorded: told, ...record } : record) as JournalRecord;
  if (!("history" in current)) return current;
  const { shown, ...past }: HistoryState & { readonly shown?: number } = current.history.past;
  return shown === undefined ? current : { ...current, history: { ...current.history, past: { newestTime: shown, ...past } } };
}

export function journalEntries(history: CheckHistory, recorded: RecordedOutages | undefined): JournalEntry {
  return recorded ? { history, recorded } : { history };
}

function isRecord(record: unknown): record is JournalRecord {
  return typeof record === "object" && record !== null && "uid" in record;
}
