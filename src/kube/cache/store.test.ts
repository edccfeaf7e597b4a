import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CacheStore } from "./store.ts";

interface Component {
  colours: string[];
}

const indexes = {
  colour: (component: Component) => component.colours,
  count: (component: Component) => [String(component.colours.length)],
};

test("an index finds the objects that yield a value, and only those", () => {
  const store = new CacheStore<Component>(indexes);
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
  expect(() => store.by("size", "1")).toThrow("no index size; known: colour, count");
});

test("after any course of changes the indexes are those that would be computed anew", () => {
  const key = fc.constantFrom("a", "b", "c", "d");
  const colors = fc.array(fc.constantFrom("red", "green", "blue", ""), { maxLength: 4 });
  const step = fc.oneof(fc.record({ key, colours: colors }), fc.record({ key, colours: fc.constant(undefined) }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const store = new CacheStore<Component>(indexes);
      const model = new Map<string, Component>();
      for (const { key, colours } of steps) {
        if (colours) {
          const component = { colours };
          store.put(key, component);
          model.set(key, component);
        } else {
          store.remove(key);
          model.delete(key);
        }
        expect(store.size).toBe(model.size);
        for (const [name, valuesOf] of Object.entries(indexes)) {
          for (const value of ["red", "green", "blue", "", "0", "1", "2", "3", "4"]) {
            const expected = [...model.values()].filter((component) => valuesOf(component).includes(value));
            expect(new Set(store.by(name, value))).toEqual(new Set(expected));
            expect(store.by(name, value)).toHaveLength(expected.length);
          }
        }
      }
    }),
    { seed: 3, numRuns: 200 },
  );
});
