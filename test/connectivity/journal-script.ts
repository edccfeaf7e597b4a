import type { Attempt } from "../../src/connectivity/history/attempt.ts";
import { emptyHistory } from "../../src/connectivity/history/history.ts";
import { failed, namedOk, ok } from "../../src/connectivity/testing/attempts.ts";
import type { JournalRecord } from "../../src/connectivity/journal/record.ts";

const tried = (uid: string, attempt: Attempt): JournalRecord => ({ uid, attempt });
const begun = (uid: string): JournalRecord => ({ uid, history: emptyHistory(0) });

const round = (second: number): JournalRecord[] => [
  tried("a", second % 4 === 0 ? failed(second) : ok(second)),
  tried("b", namedOk(second)),
  ...(second < 4 ? [tried("c", ok(second))] : []),
];

/** The calls of killed-journal.ts to its journal. The steps of a group are made at the same time. */
export const JOURNAL_STEPS: readonly (readonly JournalRecord[])[] = [
  [begun("a")],
  [begun("b"), begun("c")],
  ...[0, 1, 2, 3].map(round),
  [
    { uid: "a", recorded: { opened: 0, closed: 1_000 } },
    { uid: "c", forgotten: true },
  ],
  ...[4, 5, 6, 7, 8].map(round),
  [{ uid: "a", recorded: { opened: 8_000, closed: 5_000 } }],
];

/** What a journal held before, up to a line that was cut short. */
export const BEFORE: readonly JournalRecord[] = [begun("old"), tried("old", failed(0)), tried("old", ok(1))];
