import { emptyHistory } from "../../src/connectivity/history/history.ts";
import { CheckJournal } from "../../src/connectivity/journal/journal.ts";
import { createLog } from "../../src/kube/log.ts";
import { Load, uidOf } from "./load.ts";

const [directory = "", ...counts] = process.argv.slice(2);
const [checks = 0, entries = 0] = counts.map(Number);
const { journal } = await CheckJournal.open(directory, { log: createLog() });
await Promise.all(Array.from({ length: checks }, (_, check) => journal.snapshot(uidOf(check), emptyHistory(0))));

const load = new Load(checks, async (check, attempt) => {
  if (!(await journal.append(uidOf(check), attempt))) throw new Error("The disk cannot be used");
});
await load.run(checks);
process.send?.(await load.run(entries));
await load.run(checks * 20);
process.send?.({ seqs: load.seqs });
// It is killed while it goes on.
for (;;) await load.run(checks);
