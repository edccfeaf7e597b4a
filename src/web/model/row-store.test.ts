import { expect, test } from "vitest";
import type { Cause, ComponentHealth } from "../../explain/answer.ts";
import { causeRow } from "../rows/overview.ts";
import { type StoredRow, RowStore } from "./row-store.ts";

const all = (stored: StoredRow) => stored.text;
const row = (name: string, sentence: string) => ({ type: "blame" as const, key: name, sentences: [sentence] });

test("all changes of one transaction have one revision, and unchanged rows none", () => {
  const rows = new RowStore();
  rows.begin();
  rows.set("connectivity", "a", row("a", "one"), []);
  rows.set("connectivity", "b", row("b", "two"), []);
  expect(rows.revision).toBe(1);
  rows.begin();
  rows.set("connectivity", "a", row("a", "one"), []);
  expect(rows.revision).toBe(1);
  rows.set("connectivity", "b", row("b", "three"), []);
  expect(rows.revision).toBe(2);
  expect(rows.since(1, "connectivity", all)).toBe('{"upsert":[{"type":"blame","key":"b","sentences":["three"]}]}');
  expect(rows.since(2, "connectivity", all)).toBeUndefined();
});

test("a client that is older than the recorded removals gets all rows", () => {
  const rows = new RowStore();
  const names = Array.from({ length: 9_000 }, (_, number) => `row${number}`);
  rows.begin();
  for (const name of names) rows.set("connectivity", name, row(name, "here"), []);
  expect(rows.knows(1)).toBe(true);
  for (const name of names) {
    rows.begin();
    rows.set("connectivity", name, undefined, []);
  }
  expect(rows.knows(1)).toBe(false);
  expect(rows.knows(rows.revision - 4_000)).toBe(true);
  expect(rows.knows(rows.revision)).toBe(true);
  expect(rows.knows(rows.revision + 1)).toBe(false);
});

test("a cause changes with any of its symptoms, also with one that its row does not show", () => {
  const rows = new RowStore();
  const symptoms = Array.from({ length: 40 }, (_, nth): ComponentHealth => {
    const component = { kind: "Service", namespace: "shop", name: `web${nth}` };
    return { id: `Service/shop/web${nth}`, component, domain: "loadbalancer", health: "Down" };
  });
  const cause: Cause = {
    id: "Link/eth1@n1",
    component: { kind: "Link", name: "eth1", node: "n1" },
    domain: "router",
    health: "Down",
    symptoms,
  };
  const hold = (one: Cause) => {
    rows.begin();
    rows.set("overview", "cause/1", causeRow(one, "cause/1"), [], one);
    return rows.revision;
  };
  const last = (change: Partial<ComponentHealth>) => [...symptoms.slice(0, -1), { ...(symptoms.at(-1) as ComponentHealth), ...change }];
  expect(hold(cause)).toBe(1);
  expect(hold(structuredClone(cause))).toBe(1);
  expect(hold({ ...cause, symptoms: last({ health: "Degraded" }) })).toBe(2);
  expect(hold({ ...cause, symptoms: last({ id: "Service/bank/web" }) })).toBe(3);
});
