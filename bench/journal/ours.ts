import { begin } from "../../src/connectivity/history/history.ts";
import { Journal } from "../../src/connectivity/journal/journal.ts";
import { createLog } from "../../src/kube/log.ts";
import { CHECKS, Load, uidOf } from "./load.ts";

const [directory = "", entries = ""] = process.argv.slice(2);
const { journal } = await Journal.open(directory, { log: createLog() });
await Promise.all(Array.from({ length: CHECKS }, (_, check) => journal.snapshot(uidOf(check), begin(0))));

const load = new Load(async (check, attempt) => {
  if (!(await journal.append(uidOf(check), attempt))) throw new Error("The disk cannot be used");
});
await load.run(CHECKS);
process.send?.(await load.run(Number(entries)));
await load.run(CHECKS * 20);
process.send?.({ seqs: load.seqs });
// It is killed while it goes on.
for (;;) await load.run(CHECKS);
