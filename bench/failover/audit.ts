import { open } from "node:fs/promises";

interface Audited {
  userAgent?: string;
  verb: string;
  requestReceivedTimestamp: string;
}

const READS = new Set(["get", "list", "watch"]);

/** What a client has asked for and changed since a moment, as the server saw it; an answer that goes on counts when it begins. */
export async function requestsSince(log: string, userAgent: string, since: number): Promise<{ reads: number; writes: number }> {
  await using file = await open(log);
  const counts = { reads: 0, writes: 0 };
  for await (const line of file.readLines({ autoClose: false })) {
    const entry = JSON.parse(line) as Audited;
    if (entry.userAgent !== userAgent || Date.parse(entry.requestReceivedTimestamp) < since) continue;
    counts[READS.has(entry.verb) ? "reads" : "writes"] += 1;
  }
  return counts;
}
