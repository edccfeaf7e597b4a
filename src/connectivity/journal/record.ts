import { checked } from "../../resilience/checksummed-lines.ts";
import type { Attempt } from "../history/attempt.ts";
import type { CheckHistory } from "../history/history.ts";
import type { RecordedOutages } from "../history/outage-events.ts";

export type JournalRecord = { readonly uid: string } & (
  | { readonly history: CheckHistory; readonly recorded?: RecordedOutages | undefined }
  | { readonly attempt: Attempt }
  | { readonly recorded: RecordedOutages }
  | { readonly forgotten: true }
);

export const FORMAT = 1;

/** The first line has the format of the others. */
export const HEADER = checked(JSON.stringify({ format: FORMAT }));

export function lineOf(record: JournalRecord): Buffer {
  return checked(JSON.stringify(record));
}
