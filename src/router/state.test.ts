import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { DesiredLink } from "../hostnet/desired-link.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import { StateFile, StateError } from "../resilience/state-file.ts";
import { type RouterState, RouterStateFile } from "./state.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "plumbline-state-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const veth: DesiredLink = { type: "veth", netns: "host", name: "host-100", owner: "L2VNI/red", peer: { netns: "router", name: "pe-100" } };

const lastGood = (owner: string, generation = 1): LastGoodResource => ({
  uid: `uid-of-${owner}`,
  generation,
  spec: { vni: 100 },
  rendered: { fragment: { owner, lines: [{ line: "vrf red", inside: [{ line: "vni 100" }] }] }, links: [veth] },
});

const red: RouterState = {
  lastGood: new Map([["L3VNI/red", lastGood("L3VNI/red")]]),
  selections: new Map([["uid-1", { selects: true, since: "2026-11-16T01:00:00Z" }]]),
  rejections: new Map([
    [
      "L2VNI/blue",
      {
        uid: "uid-2",
        generation: 2,
        failure: { kind: "L2VNI", name: "blue", namespace: "", reason: "ApplicationFailed", field: "", message: "no", class: "Transient" },
        at: "2026-11-16T01:00:00.000Z",
        times: 1,
      },
    ],
  ]),
  index: 3,
};

test("a node without a state file has an empty state", async () => {
  expect(await new RouterStateFile(join(directory, "none")).load()).toEqual({ state: { lastGood: new Map(), selections: new Map() } });
});

test("the next agent loads the saved state", async () => {
  await new RouterStateFile(directory).save(red);
  expect(await new RouterStateFile(directory).load()).toEqual({ state: red });
});

test("only its owner can read the file, and no other file is left in the directory", async () => {
  await new RouterStateFile(directory).save(red);
  expect(statSync(join(directory, "router.json")).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory)).toEqual(["router.json"]);
});

test("unchanged state is not written again", async () => {
  const file = new RouterStateFile(directory);
  await file.save(red);
  const { ino } = statSync(file.path);
  await file.save({ ...red, lastGood: new Map(red.lastGood), selections: new Map(red.selections) });
  expect(statSync(file.path).ino).toBe(ino);
});

test("a deleted file is written again, with its directory", async () => {
  const file = new RouterStateFile(directory);
  await file.save(red);
  rmSync(directory, { recursive: true });
  await file.save(red);
  expect(await new RouterStateFile(directory).load()).toEqual({ state: red });
});

test("a file that is damaged anywhere is moved aside with a message, and never used", async () => {
  const file = new RouterStateFile(directory);
  await file.save(red);
  const good = readFileSync(file.path);

  await fc.assert(
    fc.asyncProperty(fc.nat(good.length - 2), fc.integer({ min: 1, max: 255 }), async (at, change) => {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ change;
      writeFileSync(file.path, bad);
      const { state, damage } = await new RouterStateFile(directory).load();
      expect(state.lastGood.size).toBe(0);
      expect(damage?.message).toContain("was moved to");
      expect(readFileSync(`${file.path}.damaged`)).toEqual(bad);
    }),
    { seed: 3, numRuns: 200 },
  );
});

test("a truncated file is moved aside too", async () => {
  const file = new RouterStateFile(directory);
  await file.save(red);
  truncateSync(file.path, 40);
  const { damage } = await new RouterStateFile(directory).load();
  expect(damage?.message).toMatch(/router\.json is damaged \(.*\) and was moved to .*router\.json\.damaged$/);
});

test("last good versions survive a damaged file: the previous file is used", async () => {
  const file = new RouterStateFile(directory);
  await file.save(red);
  await file.save(red);
  truncateSync(file.path, 40);
  const { state, damage } = await new RouterStateFile(directory).load();
  expect(state).toEqual(red);
  expect(damage?.recovered).toBe(true);
});

/** As the first version wrote it. */
const STORED = [
  [
    "L3VNI/red",
    {
      uid: "uid-of-L3VNI/red",
      generation: 1,
      spec: { vni: 100 },
      form: {
        fragment: { owner: "L3VNI/red", lines: [{ line: "vrf red", inside: [{ line: "vni 100" }] }] },
        links: [{ type: "veth", place: "host", name: "host-100", owner: "L2VNI/red", peer: { place: "router", name: "pe-100" } }],
      },
    },
  ],
];

const same = (content: unknown) => content as object;

test("last good versions survive a downgrade and the upgrade after it", async () => {
  const newer = new StateFile<object>(directory, "router", { versions: [same, same], keepsPrevious: true });
  await newer.save({ lastGood: STORED, fabrics: ["one"] });
  const written = readFileSync(newer.path, "utf8");

  const older = new RouterStateFile(directory);
  const { state, damage } = await older.load();
  expect(state).toEqual({ lastGood: red.lastGood, selections: new Map() });
  expect(damage?.recovered).toBe(true);
  await older.save(state);
  expect(readFileSync(`${older.path}.version-2`, "utf8")).toBe(written);
  expect((await newer.load()).content).toEqual({ lastGood: STORED, seen: [] });
});

test("reads and writes the field names of the first version", async () => {
  const first = new StateFile<object>(directory, "router", { versions: [same], keepsPrevious: true });
  const content = { lastGood: STORED, seen: [...red.selections], refusals: [...(red.rejections ?? [])], index: 3 };
  await first.save(content);
  const file = new RouterStateFile(directory);
  expect(await file.load()).toEqual({ state: red });
  await file.save(red);
  expect((await first.load()).content).toEqual(content);
});

test("the error about an unwritable directory has its path and reason, and the old file stays", async () => {
  const file = new RouterStateFile(directory);
  await file.save(red);
  // For root too: the name of the new file is taken by a directory.
  mkdirSync(join(directory, "router.json.new", "in-the-way"), { recursive: true });
  const error = await file.save({ lastGood: new Map(), selections: new Map() }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StateError);
  expect((error as StateError).code).toBe("Unwritable");
  expect((error as StateError).message).toContain(`${file.path} cannot be written: EISDIR`);
  expect(await new RouterStateFile(directory).load()).toEqual({ state: red });
});

test("a file that cannot be read is an error with the reason, not an empty state", async () => {
  const file = new RouterStateFile(join(directory, "not-a-directory"));
  writeFileSync(join(directory, "not-a-directory"), "");
  await expect(file.load()).rejects.toMatchObject({ code: "Unreadable" });
});
