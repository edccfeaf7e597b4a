import { checked } from "../../resilience/checksummed-lines.ts";
import type { Attempt } from "../history/attempt.ts";
import type { CheckHistory } from "../history/history.ts";
import type { RecordedOutages } from "../history/outage-events.ts";

/** What a line says of the check with this uid. */
export type JournalRecord = { readonly uid: string } & (
  | { readonly history: CheckHistory; readonly recorded?: RecordedOutages | undefined }
  | { readonly attempt: Attempt }
  | { readonly recorded: RecordedOutages }
  | { readonly forgotten: true }
);

export const FORMAT = 1;

/** The first line: what the others look like. */
export const HEADER = checked(JSON.stringify({ format: FORMAT }));

export function lineOf(record: JournalRecord): Buffer {
  return checked(JSON.stringify(record));
}
