import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { StateJournal } from "../../src/embedded/journal.ts";
import { createLog } from "../../src/kube/log.ts";

test("on a full disk writes are rejected with an error, reads work, and writes work again when there is space", async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-full-"));
  const path = join(directory, "state.log");
  // A limit on the size of files ends a write half way, as a full disk does.
  const { stdout } = await promisify(execFile)("prlimit", [
    "--fsize=5000:unlimited",
    process.execPath,
    join(import.meta.dirname, "fixtures/full-disk-writer.ts"),
    path,
  ]);
  const { failures, whileFull, afterwards } = JSON.parse(stdout) as { failures: string[]; whileFull: string[]; afterwards: string[] };
  expect(new Set(failures)).toEqual(new Set(["500 InternalError: Internal error occurred: cannot write state: file too large"]));
  expect(whileFull.length).toBeGreaterThan(3);
  expect(new Set(afterwards)).toEqual(new Set([...whileFull, "later"]));

  const { journal, restored, damage } = StateJournal.open(path, { log: createLog({ level: "silent" }), serves: () => true });
  await journal.close();
  expect(damage).toBeUndefined();
  expect(new Set([...restored.objects].map(({ object }) => object.metadata.name))).toEqual(new Set(afterwards));
  await rm(directory, { recursive: true });
});
