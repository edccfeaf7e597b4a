import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FrrExec } from "../../src/frr/exec.ts";

test("in a file, errors keep their position in the output", async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-jail-"));
  const script = "for i in $(seq 500); do echo words $i; echo line $i >&2; done; exit 3";
  const ended = await new FrrExec({ directories: [] }).runIntoFile(
    "sh",
    ["-c", script],
    join(directory, "output"),
    AbortSignal.timeout(60_000),
  );
  await rm(directory, { recursive: true });
  expect(ended.code).toBe(3);
  expect(ended.output).toBe(Array.from({ length: 500 }, (_, index) => `words ${index + 1}\nline ${index + 1}\n`).join(""));
});
