import { expect, test } from "vitest";
import { s } from "../../api/schema.ts";
import { sameStatus } from "./same-status.ts";

const doc = "For the test.";
const name = s.string({ doc, maxLength: 10 });
const schema = s.object(
  {
    result: s.optional(name),
    updated: s.optional(s.time({ doc })),
    macs: s.optional(s.counter({ doc })),
    free: s.optional(s.int({ doc })),
    ordered: s.optional(s.list(name, { doc, maxItems: 10 })),
    nodes: s.optional(s.set(name, { doc, maxItems: 10 })),
    sessions: s.optional(
      s.listMap(
        ["peer", "vrf"],
        s.object({ peer: name, vrf: s.optional(name), since: s.optional(s.time({ doc })), state: s.optional(name) }, { doc }),
        {
          doc,
          maxItems: 10,
        },
      ),
    ),
    byNode: s.optional(s.map(s.object({ prefixes: s.counter({ doc }), state: name }, { doc }), { doc, maxProperties: 10 })),
    conditions: s.optional(s.conditions({ doc })),
    any_fields: s.optional(s.object({}, { doc, preserveUnknownFields: true })),
  },
  { doc },
);

const early = "2026-01-01T00:00:00Z";
const late = "2026-11-15T10:00:00.123Z";
const condition = (type: string, lastTransitionTime: string) => ({ type, status: "True", reason: "R", message: "", lastTransitionTime });

test.each<[string, unknown, unknown]>([
  ["nothing and an empty status", undefined, undefined],
  ["null and absent", { result: null }, {}],
  ["other times", { updated: early }, { updated: late }],
  ["other traffic counters", { macs: 1 }, { macs: 20_000 }],
  ["a new traffic counter", {}, { macs: 5 }],
  ["sets in another order", { nodes: ["a", "b", "c"] }, { nodes: ["c", "a", "b"] }],
  [
    "list-maps in another order with other times",
    {
      sessions: [
        { peer: "a", since: early },
        { peer: "a", vrf: "red", state: "Up" },
      ],
    },
    {
      sessions: [
        { peer: "a", vrf: "red", state: "Up" },
        { peer: "a", since: late },
      ],
    },
  ],
  ["counters inside a map", { byNode: { n1: { prefixes: 1, state: "Up" } } }, { byNode: { n1: { prefixes: 9, state: "Up" } } }],
  [
    "conditions in another order",
    { conditions: [condition("A", early), condition("B", early)] },
    { conditions: [condition("B", late), condition("A", late)] },
  ],
  ["any fields, equal", { any_fields: { x: [1, { y: 2 }] } }, { any_fields: { x: [1, { y: 2 }] } }],
])("the same: %s", (_title, stored, next) => {
  expect(sameStatus(stored, next, schema)).toBe(true);
  expect(sameStatus(next, stored, schema)).toBe(true);
});

test.each<[string, unknown, unknown]>([
  ["another value", { result: "Valid" }, { result: "Invalid" }],
  ["a new value", {}, { result: "Valid" }],
  ["a time where none was", {}, { updated: late }],
  ["numbers that are not traffic counters", { free: 1 }, { free: 2 }],
  ["lists in another order", { ordered: ["a", "b"] }, { ordered: ["b", "a"] }],
  ["sets with another member", { nodes: ["a", "b"] }, { nodes: ["a", "c"] }],
  ["a set against one with a member twice", { nodes: ["a", "b", "b"] }, { nodes: ["a", "a", "b"] }],
  ["a longer set", { nodes: ["a"] }, { nodes: ["a", "b"] }],
  ["an empty list and none", { nodes: [] }, {}],
  ["a session in another state", { sessions: [{ peer: "a", state: "Up" }] }, { sessions: [{ peer: "a", state: "Down" }] }],
  ["a session of another peer", { sessions: [{ peer: "a", state: "Up" }] }, { sessions: [{ peer: "b", state: "Up" }] }],
  [
    "two sessions with swapped states",
    {
      sessions: [
        { peer: "a", state: "Up" },
        { peer: "b", state: "Down" },
      ],
    },
    {
      sessions: [
        { peer: "a", state: "Down" },
        { peer: "b", state: "Up" },
      ],
    },
  ],
  ["another node in a map", { byNode: {} }, { byNode: { n1: { prefixes: 1, state: "Up" } } }],
  [
    "a condition with another message",
    { conditions: [condition("A", early)] },
    { conditions: [{ ...condition("A", early), message: "new" }] },
  ],
  ["a list where an object was", { byNode: {} }, { byNode: [] }],
  ["any fields, different", { any_fields: { x: 1 } }, { any_fields: { x: 2 } }],
])("not the same: %s", (_title, stored, next) => {
  expect(sameStatus(stored, next, schema)).toBe(false);
  expect(sameStatus(next, stored, schema)).toBe(false);
});

test("without a schema only named fields that contain times are ignored", () => {
  const condition = { type: "A", status: "True", lastTransitionTime: early };
  expect(sameStatus({ conditions: [condition] }, { conditions: [{ ...condition, lastTransitionTime: late }] })).toBe(true);
  expect(sameStatus({ bedTime: "late" }, { bedTime: "early" })).toBe(false);
  expect(sameStatus({ endTime: late }, {})).toBe(false);
  expect(sameStatus({ when: early }, { when: late })).toBe(false);
  expect(sameStatus({ ingress: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }] }, { ingress: [{ ip: "10.0.0.2" }, { ip: "10.0.0.1" }] })).toBe(
    false,
  );
  expect(sameStatus({ a: { b: [1, "x", null] } }, { a: { b: [1, "x", null] } })).toBe(true);
});

test("a long list in another order is compared by its keys, not pairwise", () => {
  const sessions = Array.from({ length: 20_000 }, (_, index) => ({ peer: String(index), state: "Up" }));
  expect(sameStatus({ sessions }, { sessions: sessions.toReversed() }, schema)).toBe(true);
});
