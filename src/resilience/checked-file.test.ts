import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CheckedFile } from "./checked-file.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "plumbline-checked-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = () => new CheckedFile<{ lamps: string[] }>(directory, "beacons");

test("what was saved is found again, by its owner alone; nothing was saved on a new node", async () => {
  expect(await open().load()).toEqual({});
  await open().save({ lamps: ["red"] });
  expect(await open().load()).toEqual({ content: { lamps: ["red"] } });
  expect(statSync(join(directory, "beacons.json")).mode & 0o777).toBe(0o600);
});

test("the same again is not written", async () => {
  const file = open();
  await file.save({ lamps: ["red"] });
  const { ino } = statSync(file.path);
  await file.save({ lamps: ["red"] });
  expect(statSync(file.path).ino).toBe(ino);
});

test("a file of another name, or one that was changed, is set aside and not believed", async () => {
  const file = open();
  await file.save({ lamps: ["red"] });
  writeFileSync(file.path, readFileSync(file.path, "utf8").replace("red", "bed"));
  const { content, setAside } = await open().load();
  expect(content).toBeUndefined();
  expect(setAside).toMatch(/beacons\.json is damaged \(its checksum does not fit\) and was set aside as .*beacons\.json\.damaged$/);
});
