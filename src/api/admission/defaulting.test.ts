import * as fc from "fast-check";
import { expect, test } from "vitest";
import { validValue } from "../../../test/api/generate.ts";
import { defineKind } from "../define-kind.ts";
import { CUSTOM_KINDS } from "../crds/kinds.ts";
import { s } from "../schema.ts";
import { applyDefaults } from "./defaulting.ts";

const bulb = s.object(
  { watts: s.default(s.int({ doc: "How bright." }), 40), color: s.optional(s.string({ doc: "Which color.", maxLength: 9 })) },
  { doc: "A bulb." },
);

const Lamp = defineKind({
  group: "lamps.example",
  version: "v1",
  kind: "Lamp",
  plural: "lamps",
  scope: "Cluster",
  doc: "A lamp.",
  spec: s.object(
    {
      lit: s.default(s.bool({ doc: "Lit?" }), false),
      main: s.default(bulb, { color: "white" }),
      spare: s.optional(bulb),
      row: s.optional(s.list(bulb, { doc: "A row.", maxItems: 3 })),
      named: s.optional(s.map(bulb, { doc: "By name.", maxProperties: 3 })),
      dim: s.default(s.nullable(s.bool({ doc: "Dim?" })), true),
    },
    { doc: "What is wanted." },
  ),
});

const lamp = (spec: object) => ({ apiVersion: "lamps.example/v1", kind: "Lamp", metadata: { name: "a" }, spec });
const defaulted = (spec: object) => applyDefaults(Lamp, lamp(spec)).spec;

const filled = { lit: false, main: { color: "white", watts: 40 }, dim: true };

test.each<[string, object, object]>([
  ["missing fields get their defaults, inside a default too", {}, filled],
  ["existing values stay", { lit: true, main: { watts: 3 }, dim: false }, { lit: true, main: { watts: 3 }, dim: false }],
  ["a missing optional object stays missing", { spare: {} }, { ...filled, spare: { watts: 40 } }],
  ["every item of a list gets defaults", { row: [{}, { watts: 1 }] }, { ...filled, row: [{ watts: 40 }, { watts: 1 }] }],
  [
    "every value of a map gets defaults",
    { named: { a: {}, constructor: {} } },
    { ...filled, named: { a: { watts: 40 }, constructor: { watts: 40 } } },
  ],
  ["a null of a non-nullable field counts as missing", { lit: null, main: { watts: null } }, { ...filled, main: { watts: 40 } }],
  ["a null of a nullable field stays", { dim: null }, { ...filled, dim: null }],
  ["a null without a default is left to pruning", { spare: null, row: [null] }, { ...filled, spare: null, row: [null] }],
  ["a value of another type is not changed", { main: "none", row: {}, named: [] }, { ...filled, main: "none", row: {}, named: [] }],
])("%s", (_, spec, expected) => {
  expect(defaulted(spec)).toEqual(expected);
});

test("a default is copied: changing one object does not change the next", () => {
  const first = defaulted({}) as { main: { color: string } };
  first.main.color = "black";
  expect(defaulted({})).toEqual(filled);
});

test("the input object is not changed", () => {
  const given = lamp({ row: [{}] });
  applyDefaults(Lamp, given);
  expect(given).toEqual(lamp({ row: [{}] }));
});

test.each(CUSTOM_KINDS.map((kind) => [kind.kind, kind] as const))("a defaulted %s is not defaulted further", (_, kind) => {
  fc.assert(
    fc.property(validValue(kind.schema), (parts) => {
      const once = applyDefaults(kind, parts as object);
      expect(applyDefaults(kind, once)).toEqual(once);
    }),
    { seed: 3, numRuns: 100 },
  );
});
