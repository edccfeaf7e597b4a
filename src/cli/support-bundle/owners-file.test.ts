import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeOwnersFile } from "./owners-file.ts";

test("nobody but its owner reads the file, also where others could read what was there before", async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-owners-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, "edge.tar.gz");
  await writeFile(file, "what was there before", { mode: 0o644 });
  await writeOwnersFile(file, Buffer.from("new"));
  expect(await readFile(file, "utf8")).toBe("new");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});
