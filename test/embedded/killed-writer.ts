/**
 * Changes a store, and is killed at the write to the state file that it is told, `half` way through it or `after` it. After every
 * acknowledged change a line says so on standard output. Run by killed.test.ts.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";
import { COURSE } from "./killed-course.ts";

const [directory = "", fatal = "", how = ""] = process.argv.slice(2);
let writes = 0;

const { writeSync, renameSync } = fs;
const die = (): never => process.kill(process.pid, "SIGKILL") as never;

function fatefully(file: number, bytes: Uint8Array, offset: number | undefined, carryOut: () => number): number {
  if (++writes !== Number(fatal)) return carryOut();
  if (how === "half") writeSync(file, bytes, offset, Math.ceil((bytes.length - (offset ?? 0)) / 2));
  if (how === "after") carryOut();
  return die();
}

fs.writeSync = ((file: number, bytes: Uint8Array, offset: number, length?: number) =>
  fatefully(file, bytes, offset, () => writeSync(file, bytes, offset, length))) as typeof fs.writeSync;
// Only a rewrite of the file uses this one, as a promise.
fs.write = Object.assign(() => undefined, {
  [promisify.custom]: (file: number, bytes: Uint8Array, offset: number, length: number) =>
    Promise.resolve({ bytesWritten: fatefully(file, bytes, offset, () => writeSync(file, bytes, offset, length)) }),
}) as unknown as typeof fs.write;
fs.renameSync = (from, to) => {
  if (++writes === Number(fatal) && how !== "after") die();
  renameSync(from, to);
  if (writes === Number(fatal)) die();
};
syncBuiltinESMExports();

const { Journal } = await import("../../src/embedded/journal.ts");
const { Store } = await import("../../src/embedded/store.ts");
const { CORE_KINDS } = await import("../../src/embedded/kinds/core-kinds.ts");
const { createLog } = await import("../../src/kube/log.ts");
const { setImmediate } = await import("node:timers/promises");

const log = createLog({ level: "silent" });
const { journal, restored } = Journal.open(`${directory}/state.log`, { log, serves: () => true, compactAboveBytes: 3_000 });
const store = new Store(CORE_KINDS, { ledger: journal, restored });
journal.compactFrom(() => store.snapshot());

const maps = store.kindOf("v1", "ConfigMap");
const namespaces = store.kindOf("v1", "Namespace");
if (!maps || !namespaces) throw new Error("not served");
store.create(namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } });

for (const step of COURSE) {
  if ("put" in step) put(step.put, step.round);
  else store.delete(maps, { name: step.remove, namespace: "default" }, { undeclared: true });
  writeSync(1, "done\n");
  // A rewrite of the file goes on between the steps.
  await setImmediate();
  await setImmediate();
}
await journal.close();
writeSync(1, `writes ${writes}\n`);

function put(name: string, round: number): void {
  if (!maps) return;
  const ref = { name, namespace: "default" };
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { round: String(round), padding: "x".repeat(300) } };
  if (store.find(maps, ref)) store.update(maps, ref, () => body);
  else store.create(maps, "default", body, { declaration: { manifest: body, source: { path: "a.yaml", line: 1 } } });
}
