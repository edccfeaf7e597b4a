import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { StateJournal } from "../../src/embedded/journal.ts";
import { CORE_KINDS } from "../../src/embedded/kinds/core-kinds.ts";
import { textAt } from "../../src/embedded/kinds/json.ts";
import { Store } from "../../src/embedded/store/store.ts";
import { createLog } from "../../src/kube/log.ts";
import { WRITE_STEPS, stateAfter } from "./kill-script.ts";

const WRITER = join(import.meta.dirname, "fixtures/killed-writer.ts");
const log = createLog({ level: "silent" });
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-killed-"));
});
afterAll(() => rm(directory, { recursive: true }));

interface Run {
  state: string;
  /** How many steps it said were done. */
  acknowledged: number;
  /** How often it wrote, when nothing killed it. */
  writes: number | undefined;
}

async function writer(fatalWrite: number, how: string): Promise<Run> {
  const state = await mkdtemp(join(directory, "state-"));
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [WRITER, state, String(fatalWrite), how], (error, stdout, stderr) => {
      if (error && error.signal !== "SIGKILL") return reject(new Error(stderr));
      const [, writes] = /^writes (\d+)$/m.exec(stdout) ?? [];
      resolve({ state, acknowledged: stdout.match(/^done$/gm)?.length ?? 0, writes: writes === undefined ? undefined : Number(writes) });
    });
  });
}

/** What is there after a restart. */
async function reopen(state: string): Promise<{ rounds: Record<string, number>; undeclared: string[]; damage: unknown; fresh: boolean }> {
  const { journal, restored, damage } = StateJournal.open(join(state, "state.log"), { log, serves: () => true });
  const store = new Store(CORE_KINDS, { ledger: journal, restored });
  const maps = store.kindOf("v1", "ConfigMap");
  if (!maps) throw new Error("not served");
  const objects = store
    .collection(maps)
    .list()
    .map(({ object }) => object);
  await journal.close();
  return {
    rounds: Object.fromEntries(objects.map((object) => [object.metadata.name, Number(textAt(object, "data", "round"))])),
    undeclared: objects.filter(({ metadata }) => !store.declarationOf(maps, metadata)).map(({ metadata }) => metadata.name),
    damage,
    fresh: store.revision % 1_000_000 === 0,
  };
}

test.each(["half way through", "right after"])("a process that is killed %s any write loses nothing that it acknowledged", async (when) => {
  const how = when === "right after" ? "after" : "half";
  const { writes = 0, acknowledged: all } = await writer(0, how);
  expect(all).toBe(WRITE_STEPS.length);
  // Every step, and the rewriting of the file.
  expect(writes).toBeGreaterThan(WRITE_STEPS.length + 3);

  async function check(fatal: number): Promise<void> {
    const { state, acknowledged, writes: end } = await writer(fatal, how);
    // When the file is rewritten is a matter of timing: a run may get to its end before its fatal write.
    expect({ fatal, complete: end === undefined || acknowledged === WRITE_STEPS.length }).toEqual({ fatal, complete: true });
    const { rounds, ...rest } = await reopen(state);
    // One step more may have reached the disk than was acknowledged.
    expect([stateAfter(acknowledged), stateAfter(acknowledged + 1)]).toContainEqual(rounds);
    expect({ fatal, ...rest }).toEqual({ fatal, undeclared: [], damage: undefined, fresh: true });
    expect((await readdir(state)).filter((name) => name.includes("damaged"))).toEqual([]);
  }

  const fatals = Array.from({ length: writes }, (_, at) => at + 1);
  // As many at a time as there are cores.
  await Promise.all(
    [0, 1].map(async () => {
      for (let fatal = fatals.shift(); fatal !== undefined; fatal = fatals.shift()) await check(fatal);
    }),
  );
});
