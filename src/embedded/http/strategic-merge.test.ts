import { expect, test } from "vitest";
import { strategicallyMerged } from "./strategic-merge.ts";

const MANY = 100_000;
const names = (prefix: string) => Array.from({ length: MANY }, (_, at) => `${prefix}${at}`);

test("lists of values as long as a request can hold are merged", () => {
  const [existing, added] = [names("a"), names("b")];
  const target = { metadata: { name: "x", finalizers: existing } };
  const merged = strategicallyMerged("Service", target, { metadata: { finalizers: added } });
  expect(JSON.stringify(merged) === JSON.stringify({ metadata: { name: "x", finalizers: [...added, ...existing] } })).toBe(true);
  const emptied = strategicallyMerged("Service", target, { metadata: { "$deleteFromPrimitiveList/finalizers": existing } });
  expect(emptied).toEqual({ metadata: { name: "x", finalizers: [] } });
});

test("lists of named items as long as a request can hold are merged, deleted and ordered", () => {
  const existing = names("u").map((uid) => ({ uid, name: "held" }));
  const patch = [
    ...existing.slice(0, MANY / 2).map(({ uid }) => ({ uid, name: "changed" })),
    ...existing.slice(MANY / 2).map(({ uid }) => ({ uid, $patch: "delete" })),
  ];
  const order = existing.slice(0, MANY / 2).map(({ uid }) => ({ uid }));
  const metadata = { ownerReferences: patch, "$setElementOrder/ownerReferences": order.toReversed() };
  const merged = strategicallyMerged("Service", { metadata: { ownerReferences: existing } }, { metadata });
  const changed = order.map(({ uid }) => ({ uid, name: "changed" }));
  expect(JSON.stringify(merged) === JSON.stringify({ metadata: { ownerReferences: changed.toReversed() } })).toBe(true);
});
