import { checked } from "../../resilience/checksummed-lines.ts";
import type { Attempt } from "../attempt.ts";
import type { History } from "../history/history.ts";
import type { Told } from "../outage-events.ts";

/** What a line says of the check with this uid. */
export type JournalRecord = { readonly uid: string } & (
  | { readonly history: History; readonly told?: Told | undefined }
  | { readonly attempt: Attempt }
  | { readonly told: Told }
  | { readonly forgotten: true }
);

export const FORMAT = 1;

/** The first line: what the others look like. */
export const HEADER = checked(JSON.stringify({ format: FORMAT }));

export function lineOf(record: JournalRecord): Buffer {
  return checked(JSON.stringify(record));
}
