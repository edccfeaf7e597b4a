import { execFile } from "node:child_process";
import { mkdtemp, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryDirectory } from "../../lab/kube/etcd.ts";
import { CheckJournal } from "../../src/connectivity/journal/journal.ts";
import { HEADER, lineOf, type JournalRecord } from "../../src/connectivity/journal/record.ts";
import { replay } from "../../src/connectivity/journal/replay.ts";
import { createLog } from "../../src/kube/log.ts";
import { BEFORE, JOURNAL_STEPS } from "./journal-script.ts";

const WRITER = join(import.meta.dirname, "fixtures/killed-journal.ts");
const UIDS = ["old", "a", "b", "c"];
const log = createLog({ level: "silent" });
let memory: Awaited<ReturnType<typeof memoryDirectory>>;

beforeAll(async () => {
  memory = await memoryDirectory("killed");
});
afterAll(() => memory.remove());

interface Run {
  state: string;
  /** How many steps of a check were said to be done. */
  acknowledged: (uid: string) => number;
  /** How many operations there were, when nothing killed it. */
  operations: number | undefined;
}

async function run(fatal: number, how: string): Promise<Run> {
  const state = await mkdtemp(join(memory.path, "state-"));
  const tornTail = lineOf({ uid: "old", forgotten: true }).subarray(0, 20);
  await writeFile(join(state, "journal"), Buffer.concat([HEADER, ...BEFORE.map(lineOf), tornTail]));
  // The first one, which lives, leaves what the others need to start quickly.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(memory.path, "compiled") };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [WRITER, state, String(fatal), how], { env }, (error, stdout, stderr) => {
      if (error && error.signal !== "SIGKILL") return reject(new Error(stderr));
      const [, operations] = /^operations (\d+)$/m.exec(stdout) ?? [];
      const acknowledged = (uid: string) => stdout.split("\n").filter((line) => line === `done ${uid}`).length;
      resolve({ state, acknowledged, operations: operations === undefined ? undefined : Number(operations) });
    });
  });
}

async function recoveredFrom(state: string): Promise<Record<string, unknown>> {
  const { journal, recovered } = await CheckJournal.open(state, { log });
  await journal.close();
  return Object.fromEntries(recovered);
}

/** The states in which a check may be of which so many steps were acknowledged: these, and any that were on their way. */
function possible(uid: string, acknowledged: number): unknown[] {
  const steps = (uid === "old" ? BEFORE : JOURNAL_STEPS.flat()).filter((record) => record.uid === uid);
  const after = (records: readonly JournalRecord[]) => replay(Buffer.concat([HEADER, ...records.map(lineOf)])).checks.get(uid);
  return steps.map((_, index) => after(steps.slice(0, index + 1))).slice(Math.max(0, acknowledged - 1), acknowledged + 1);
}

test.each(["half way through", "right after", "by a power cut after"])(
  "a journal that is killed %s any file operation loses nothing that it acknowledged",
  async (when) => {
    const how = { "half way through": "half", "right after": "after" }[when] ?? "power cut";
    const { operations = 0, acknowledged: all } = await run(0, how);
    expect(UIDS.map(all)).toEqual([0, 12, 10, 6]);
    // The recovery, every group, and the rewriting of the file.
    expect(operations).toBeGreaterThan(4 + 2 * JOURNAL_STEPS.length);

    async function check(fatal: number): Promise<void> {
      const { state, acknowledged, operations: end } = await run(fatal, how);
      expect({ fatal, end }).toEqual({ fatal, end: undefined });
      const recovered = await recoveredFrom(state);
      for (const uid of UIDS) {
        const states = possible(uid, uid === "old" ? BEFORE.length : acknowledged(uid));
        // Before the first acknowledgement a check need not be there.
        if (uid !== "old" && acknowledged(uid) === 0) states.push(undefined);
        expect(states, `${uid} after operation ${fatal}`).toContainEqual(recovered[uid]);
      }
      expect(await recoveredFrom(state)).toEqual(recovered);
      expect(await readdir(state)).not.toContain("journal.set-aside");
    }

    const fatals = Array.from({ length: operations }, (_, at) => at + 1);
    // As many at a time as there are cores.
    await Promise.all(
      [0, 1].map(async () => {
        for (let fatal = fatals.shift(); fatal !== undefined; fatal = fatals.shift()) await check(fatal);
      }),
    );
  },
);
