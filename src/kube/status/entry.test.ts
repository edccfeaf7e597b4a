import { expect, test } from "vitest";
import type { KubeObject } from "../../api/kind.ts";
import { StatusEntry } from "./entry.ts";

const at = (resourceVersion: string): KubeObject => ({ metadata: { name: "n1", resourceVersion } });
const deletedAt = (resourceVersion: string) => ({ type: "deleted", object: at(resourceVersion) }) as const;

function entry(): StatusEntry<KubeObject> {
  const entry = new StatusEntry<KubeObject>("n1", () => false);
  entry.picture = { status: {} as never };
  return entry;
}

test("the newer of the cached object and the last response counts, compared as numbers", () => {
  const known = entry();
  expect(known.newest(at("9"))).toEqual(at("9"));
  known.learn(at("10"));
  expect(known.newest(at("9"))).toEqual(at("10"));
  expect(known.newest(undefined)).toEqual(at("10"));
  expect(known.newest(at("11"))).toEqual(at("11"));
  expect(known.newest(undefined), "the cache has caught up and is believed from now on").toBeUndefined();
});

test("an object that is known to be missing stays missing until the cache has a newer one", () => {
  const missing = entry();
  missing.learnMissing(at("10"));
  expect(missing.newest(at("9"))).toBeUndefined();
  expect(missing.newest(at("10"))).toBeUndefined();
  expect(missing.newest(at("11"))).toEqual(at("11"));
});

test("a deletion newer than the last response counts, and an older one belongs to a predecessor", () => {
  const gone = entry();
  gone.learn(at("10"));
  gone.hear(deletedAt("11"), undefined);
  expect(gone.newest(undefined)).toBeUndefined();

  const recreated = entry();
  recreated.learn(at("10"));
  recreated.hear(deletedAt("8"), undefined);
  expect(recreated.newest(undefined)).toEqual(at("10"));
});

test("a response that is older than a deletion is in doubt, another one is not", () => {
  const overtaken = entry();
  overtaken.ask();
  overtaken.hear(deletedAt("12"), undefined);
  overtaken.learn(at("11"));
  expect(overtaken.doubt).toBe(true);

  const plain = entry();
  plain.hear(deletedAt("9"), undefined);
  plain.ask();
  plain.hear({ type: "updated", object: at("10"), old: at("9") }, at("10"));
  plain.learn(at("11"));
  expect(plain.doubt).toBe(false);
});

test("after a relist an object that the cache lacks is in doubt", () => {
  const visible = entry();
  visible.learn(at("10"));
  visible.hearAll(at("10"));
  expect(visible.doubt).toBe(false);

  const unshown = entry();
  unshown.learn(at("10"));
  unshown.hearAll(at("9"));
  expect(unshown.doubt).toBe(true);
});

test("an entry is dropped when nothing is left to write and the cache is up to date", () => {
  const forgotten = entry();
  forgotten.learn(at("10"));
  expect(forgotten.spent).toBe(false);
  forgotten.picture = undefined;
  expect(forgotten.spent).toBe(false);
  forgotten.newest(at("10"));
  expect(forgotten.spent).toBe(true);
});
