import * as fc from "fast-check";
import { expect, test } from "vitest";
import { battered, validValue } from "../../../test/api/generate.ts";
import { defineKind } from "../define-kind.ts";
import { CUSTOM_KINDS } from "../crds/kinds.ts";
import { s } from "../schema.ts";
import { prune, unknownFields } from "./pruning.ts";

const name = s.string({ doc: "A name.", maxLength: 9 });

const Lamp = defineKind({
  group: "lamps.example",
  version: "v1",
  kind: "Lamp",
  plural: "lamps",
  scope: "Cluster",
  doc: "A lamp.",
  spec: s.object(
    {
      name: s.optional(name),
      bulbs: s.optional(s.list(s.object({ name }, { doc: "A bulb." }), { doc: "Bulbs.", maxItems: 3 })),
      shades: s.optional(s.map(s.object({ name }, { doc: "A shade." }), { doc: "Shades.", maxProperties: 3 })),
      extra: s.optional(
        s.object(
          { name: s.optional(name), known: s.optional(s.object({ name }, { doc: "Known." })) },
          { doc: "Extra.", preserveUnknownFields: true },
        ),
      ),
      note: s.optional(s.nullable(name)),
      lit: s.default(s.bool({ doc: "Lit?" }), false),
    },
    { doc: "What is wanted." },
  ),
});

const lamp = (spec: unknown) => ({ apiVersion: "lamps.example/v1", kind: "Lamp", metadata: { name: "a", labels: { x: "y" } }, spec });

test.each<[string, unknown, unknown, string[]]>([
  ["an unknown field is removed", { name: "a", nmae: "b" }, { name: "a" }, ["spec.nmae"]],
  ["a name of a JavaScript property is an unknown field too", { constructor: 1, toString: 2 }, {}, ["spec.constructor", "spec.toString"]],
  ["metadata below the root is an ordinary field", { metadata: {}, kind: "x" }, {}, ["spec.kind", "spec.metadata"]],
  [
    "an unknown field of an item is removed",
    { bulbs: [{ name: "a" }, { name: "b", x: 1 }] },
    { bulbs: [{ name: "a" }, { name: "b" }] },
    ["spec.bulbs[1].x"],
  ],
  [
    "a map keeps its keys and prunes its values",
    { shades: { any: { name: "a", x: 1 } } },
    { shades: { any: { name: "a" } } },
    ["spec.shades.any.x"],
  ],
  [
    "x-kubernetes-preserve-unknown-fields keeps fields, and known ones are pruned below",
    { extra: { name: "a", x: { y: null }, known: { name: "b", z: 1 } } },
    { extra: { name: "a", x: { y: null }, known: { name: "b" } } },
    ["spec.extra.known.z"],
  ],
  [
    "an object instead of a string is emptied",
    { name: { a: 1 }, bulbs: { b: 1 } },
    { name: {}, bulbs: {} },
    ["spec.bulbs.b", "spec.name.a"],
  ],
  ["the items of a list instead of an object are emptied", { shades: [{ a: 1 }, "b"] }, { shades: [{}, "b"] }, ["spec.shades[0].a"]],
  ["a null of a non-nullable field is removed", { name: null, bulbs: null }, {}, []],
  ["a null of a nullable field, or one with a default, stays", { note: null, lit: null }, { note: null, lit: null }, []],
  ["a null in a list is left to validation", { bulbs: [null] }, { bulbs: [null] }, []],
])("%s", (_, spec, kept, unknown) => {
  expect(prune(Lamp, lamp(spec))).toEqual(lamp(kept));
  expect(unknownFields(Lamp, lamp(spec))).toEqual(unknown);
});

test("an unknown field beside the spec is removed too", () => {
  expect(prune(Lamp, { ...lamp({}), data: 1, status: {} })).toEqual(lamp({}));
  expect(unknownFields(Lamp, { ...lamp({}), data: 1, status: {} })).toEqual(["data", "status"]);
});

test("a field called __proto__ is dropped without harm", () => {
  const given = JSON.parse('{"spec":{"name":"a","__proto__":{"lit":true}}}') as object;
  expect(prune(Lamp, given)).toEqual({ spec: { name: "a" } });
  expect(unknownFields(Lamp, given)).toEqual(["spec.__proto__"]);
});

test.each(CUSTOM_KINDS.map((kind) => [kind.kind, kind] as const))("a pruned %s has nothing left to prune", (_, kind) => {
  fc.assert(
    fc.property(battered(kind.schema, validValue(kind.schema)), (parts) => {
      const once = prune(kind, { ...(parts as object) });
      expect(unknownFields(kind, once)).toEqual([]);
      expect(prune(kind, once)).toEqual(once);
    }),
    { seed: 3, numRuns: 100 },
  );
});

test.each(CUSTOM_KINDS.map((kind) => [kind.kind, kind] as const))("pruning removes nothing from a valid %s", (_, kind) => {
  fc.assert(
    fc.property(validValue(kind.schema), (parts) => {
      expect(prune(kind, parts as object)).toEqual(parts);
    }),
    { seed: 3, numRuns: 100 },
  );
});
