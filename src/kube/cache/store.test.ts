import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Store } from "./store.ts";

interface Thing {
  colours: string[];
}

const indexes = { colour: (thing: Thing) => thing.colours, count: (thing: Thing) => [String(thing.colours.length)] };

test("an index finds the objects that yield a value, and only those", () => {
  const store = new Store<Thing>(indexes);
  store.put("a", { colours: ["red"] });
  store.put("b", { colours: ["red", "blue"] });
  store.put("c", { colours: ["red", "red"] });
  expect(store.by("colour", "red")).toHaveLength(3);
  expect(store.by("colour", "blue")).toEqual([store.get("b")]);
  store.put("b", { colours: ["green"] });
  expect(store.by("colour", "blue")).toEqual([]);
  store.remove("a");
  store.remove("a");
  expect(store.by("colour", "red")).toEqual([store.get("c")]);
  expect(() => store.by("size", "1")).toThrow("there is no index size; there are: colour, count");
});

test("after any course of changes the indexes are those that would be computed anew", () => {
  const key = fc.constantFrom("a", "b", "c", "d");
  const colours = fc.array(fc.constantFrom("red", "green", "blue", ""), { maxLength: 4 });
  const step = fc.oneof(fc.record({ key, colours }), fc.record({ key, colours: fc.constant(undefined) }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const store = new Store<Thing>(indexes);
      const model = new Map<string, Thing>();
      for (const { key, colours } of steps) {
        if (colours) {
          const thing = { colours };
          store.put(key, thing);
          model.set(key, thing);
        } else {
          store.remove(key);
          model.delete(key);
        }
        expect(store.size).toBe(model.size);
        for (const [name, valuesOf] of Object.entries(indexes)) {
          for (const value of ["red", "green", "blue", "", "0", "1", "2", "3", "4"]) {
            const expected = [...model.values()].filter((thing) => valuesOf(thing).includes(value));
            expect(new Set(store.by(name, value))).toEqual(new Set(expected));
            expect(store.by(name, value)).toHaveLength(expected.length);
          }
        }
      }
    }),
    { seed: 3, numRuns: 200 },
  );
});
