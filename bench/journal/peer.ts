import { open } from "node:fs/promises";
import { lineOf } from "../../src/connectivity/journal/record.ts";
import { CHECKS, Load, uidOf } from "./load.ts";

// The same lines, one sync for each.

const [directory = "", entries = ""] = process.argv.slice(2);
const file = await open(`${directory}/journal`, "a");
let last = Promise.resolve();

const load = new Load((check, attempt) => {
  last = last.then(async () => {
    await file.write(lineOf({ uid: uidOf(check), attempt }));
    await file.datasync();
  });
  return last;
});
await load.run(CHECKS);
process.send?.(await load.run(Number(entries)));
