import { open } from "node:fs/promises";
import { lineOf } from "../../src/connectivity/journal/record.ts";
import { Load, uidOf } from "./load.ts";

// The same lines, one sync for each.

const [directory = "", ...counts] = process.argv.slice(2);
const [checks = 0, entries = 0] = counts.map(Number);
const file = await open(`${directory}/journal`, "a");
let last = Promise.resolve();

const load = new Load(checks, (check, attempt) => {
  last = last.then(async () => {
    await file.write(lineOf({ uid: uidOf(check), attempt }));
    await file.datasync();
  });
  return last;
});
await load.run(checks);
process.send?.(await load.run(entries));
