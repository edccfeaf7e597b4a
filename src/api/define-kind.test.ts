import { expect, expectTypeOf, test } from "vitest";
import { defineKind, type Manifest, type Stored } from "./define-kind.ts";
import type { Condition, KubeObject, ObjectMeta } from "./kind.ts";
import { rule } from "./rule.ts";
import { s } from "./schema.ts";

const Lamp = defineKind({
  group: "lamps.example",
  version: "v1",
  kind: "Lamp",
  plural: "lamps",
  scope: "Namespaced",
  doc: "A lamp.",
  spec: s.object(
    {
      socket: s.string({ doc: "Where it hangs.", maxLength: 15 }),
      watts: s.default(s.int({ doc: "How bright it is.", minimum: 1, maximum: 100 }), 40),
      shade: s.optional(
        s.object(
          {
            color: s.default(s.enum(["red", "blue"], { doc: "The color." }), "red"),
            maker: s.optional(s.nullable(s.string({ doc: "Who made it.", maxLength: 20 }))),
          },
          {
            doc: "What is around it.",
            rules: [rule({ cel: "self.color != 'x'", message: "no x", check: (self) => self.color !== "blue" })],
          },
        ),
      ),
      cords: s.listMap(
        ["end"],
        s.object(
          { end: s.string({ doc: "Which end.", maxLength: 5 }), metres: s.default(s.int({ doc: "How long." }), 2) },
          { doc: "A cord." },
        ),
        { doc: "What it hangs on.", maxItems: 4 },
      ),
    },
    { doc: "What is wanted." },
  ),
  status: s.object({ conditions: s.optional(s.conditions({ doc: "How it is." })) }, { doc: "What is." }),
});

test("a field with a default is optional in a manifest and always present when stored", () => {
  expectTypeOf<Stored<typeof Lamp>>().toExtend<KubeObject>();
  expectTypeOf<Stored<typeof Lamp>["spec"]>().toEqualTypeOf<{
    socket: string;
    watts: number;
    shade?: { color: "red" | "blue"; maker?: string | null };
    cords: { end: string; metres: number }[];
  }>();
  expectTypeOf<Manifest<typeof Lamp>["metadata"]>().toEqualTypeOf<ObjectMeta>();
  expectTypeOf<Manifest<typeof Lamp>["spec"]>().toEqualTypeOf<{
    socket: string;
    watts?: number;
    shade?: { color?: "red" | "blue"; maker?: string | null };
    cords: { end: string; metres?: number }[];
  }>();
});

test("a status is optional, and its conditions are the ones that every kind has", () => {
  expectTypeOf<Stored<typeof Lamp>["status"]>().toEqualTypeOf<{ conditions?: Condition[] } | undefined>();
  expect(Lamp.schema.properties["status"]?.presence).toBe("optional");
});

test("a kind without a spec has no spec", () => {
  const Report = defineKind({
    group: "lamps.example",
    version: "v1",
    kind: "Report",
    plural: "reports",
    scope: "Cluster",
    doc: "A report.",
    status: s.object({ burning: s.counter({ doc: "How many." }) }, { doc: "What is." }),
  });
  expectTypeOf<keyof Stored<typeof Report>>().toEqualTypeOf<keyof KubeObject | "status">();
  expect(Object.keys(Report.schema.properties)).toEqual(["status"]);
});

test("a field without a doc, or a string without a bound, does not compile", () => {
  expectTypeOf<{ maxLength: 3 }>().not.toExtend<Parameters<typeof s.string>[0]>();
  expectTypeOf<{ doc: "A name." }>().not.toExtend<Parameters<typeof s.string>[0]>();
  // @ts-expect-error: no bound
  s.list(s.bool({ doc: "One." }), { doc: "Several." });
  // @ts-expect-error: `b` is no field of an item
  s.listMap(["b"], s.object({ a: s.bool({ doc: "One." }) }, { doc: "An item." }), { doc: "Several.", maxItems: 3 });
  // @ts-expect-error: the default is no number
  s.default(s.int({ doc: "A number." }), "3");
});

test("an integer is int32 only if its bounds fit", () => {
  expect(s.int({ doc: "A port.", minimum: 1, maximum: 65_535 }).format).toBe("int32");
  expect(s.int({ doc: "An AS number.", minimum: 1, maximum: 4_294_967_295 }).format).toBe("int64");
  expect(s.int({ doc: "Any number." }).format).toBe("int64");
});

test("times and traffic counters are insignificant, other numbers are not", () => {
  expect(s.time({ doc: "When." }).rides).toBe(true);
  expect(s.counter({ doc: "How many." }).rides).toBe(true);
  expect(s.optional(s.counter({ doc: "How many." })).rides).toBe(true);
  expect(s.int({ doc: "How many." }).rides).toBeUndefined();
});

test("a rule whose text and predicate differ in the use of the old value is rejected", () => {
  expect(() => rule({ cel: "self == oldSelf", message: "is immutable", check: () => true })).toThrow("needs a transition predicate");
  expect(() => rule({ cel: "self > 1", message: "is positive", transition: () => true })).toThrow("does not name oldSelf");
});
