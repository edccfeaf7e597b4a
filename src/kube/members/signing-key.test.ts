import { sign, verify } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../log.ts";
import { isSigningKey } from "./agent-lease.ts";
import { loadSigningKey, publicKeyOf } from "./signing-key.ts";

let directory: string;
let lines: string[];
const log = createLog({ pretty: false, write: (line) => lines.push(line) });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-key-"));
  lines = [];
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const path = () => join(directory, "state", "signing-key.pem");
const load = () => loadSigningKey(join(directory, "state"), log);

test("the key is created once, readable by its owner only, and its public part verifies its signatures", async () => {
  const { privateKey, publicKey } = load();
  expect(isSigningKey(publicKey)).toBe(true);
  expect((await stat(path())).mode & 0o777).toBe(0o600);
  const text = Buffer.from("text");
  expect(verify(null, text, publicKeyOf(publicKey), sign(null, text, privateKey))).toBe(true);
  expect(load().publicKey).toBe(publicKey);
  expect(lines).toEqual([]);
});

test.each<[string, () => Promise<void>]>([
  ["is damaged", () => writeFile(path(), "-----BEGIN PRIVATE KEY-----\n")],
  ["is empty", () => writeFile(path(), "")],
  ["could be read by others", () => chmod(path(), 0o640)],
])("a key that %s is replaced, and that is logged", async (_what, spoil) => {
  const { publicKey } = load();
  await spoil();
  const next = load().publicKey;
  expect(next).not.toBe(publicKey);
  expect(lines.join()).toContain("signing key unusable; creating another one");
  expect((await stat(path())).mode & 0o777).toBe(0o600);
  expect(load().publicKey).toBe(next);
});

test("a key in memory is used if the directory cannot be written", async () => {
  await writeFile(join(directory, "state"), "");
  expect(isSigningKey(load().publicKey)).toBe(true);
  expect(lines.join()).toContain("cannot write the signing key");
  expect(await readFile(join(directory, "state"), "utf8")).toBe("");
});
