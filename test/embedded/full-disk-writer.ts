/** Writes objects until the state file can grow no further, goes on reading, gets room, and goes on writing. Run by full-disk.test.ts. */
import { execFileSync } from "node:child_process";
import { ApiFault } from "../../src/embedded/fault.ts";
import { Journal } from "../../src/embedded/journal.ts";
import { CORE_KINDS } from "../../src/embedded/kinds/core-kinds.ts";
import { Store } from "../../src/embedded/store.ts";
import { createLog } from "../../src/kube/log.ts";

const [path = ""] = process.argv.slice(2);
const { journal, restored } = Journal.open(path, { log: createLog({ level: "silent" }), serves: () => true });
const store = new Store(CORE_KINDS, { ledger: journal, restored });
const namespaces = store.kindOf("v1", "Namespace");
if (!namespaces) throw new Error("not served");

const refusals: string[] = [];
const create = (name: string): void => {
  try {
    store.create(namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  } catch (error) {
    if (!(error instanceof ApiFault)) throw error;
    refusals.push(`${error.code} ${error.reason}: ${error.message}`);
  }
};
const there = () =>
  store
    .collection(namespaces)
    .list()
    .map(({ object }) => object.metadata.name);

for (let at = 0; refusals.length < 3; at++) create(`n${at}`);
const whileFull = there();
execFileSync("prlimit", ["--pid", String(process.pid), "--fsize=unlimited"]);
create("later");
await journal.close();
process.stdout.write(JSON.stringify({ refusals, whileFull, afterwards: there() }));
