import { expect, test } from "vitest";
import { StoreEntry } from "./entry.ts";
import { ChangeHistory, type StoreChange } from "./history.ts";

const change = (revision: number, padding = ""): StoreChange => ({
  type: "MODIFIED",
  entry: new StoreEntry({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { padding } }, revision),
});
const revisions = (changes: StoreChange[] | undefined) => changes?.map(({ entry }) => entry.revision);

test("returns the changes after a revision, as far back as they are kept", () => {
  const history = new ChangeHistory(10, { changes: 3, bytes: 1e6 });
  expect([revisions(history.since(10)), history.since(9)]).toEqual([[], undefined]);
  for (const revision of [12, 15, 16]) history.record(change(revision));
  expect([10, 11, 12, 15, 16, 99].map((from) => revisions(history.since(from)))).toEqual([
    [12, 15, 16],
    [12, 15, 16],
    [15, 16],
    [16],
    [],
    [],
  ]);
  history.record(change(20));
  expect([history.horizon, revisions(history.since(12)), history.since(11)]).toEqual([12, [15, 16, 20], undefined]);
});

test("a few large changes evict as many as many small ones", () => {
  const history = new ChangeHistory(0, { changes: 1000, bytes: 10_000 });
  for (let revision = 1; revision <= 20; revision++) history.record(change(revision, "x".repeat(1000)));
  expect(history.since(0)).toBeUndefined();
  expect(history.since(19)).toHaveLength(1);
  expect(history.since(history.horizon)?.length).toBeLessThan(10);
});

test("memory is bounded by the last changes", () => {
  const history = new ChangeHistory(0, { changes: 10, bytes: 1e6 });
  for (let revision = 1; revision <= 10_000; revision++) history.record(change(revision));
  expect(revisions(history.since(9_995))).toEqual([9_996, 9_997, 9_998, 9_999, 10_000]);
  expect(history.since(9_989)).toBeUndefined();
});
