import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CacheStore } from "./store.ts";

interface Component {
  colors: string[];
}

const indexes = {
  color: (component: Component) => component.colors,
  count: (component: Component) => [String(component.colors.length)],
};

test("an index finds the objects that yield a value, and only those", () => {
  const store = new CacheStore<Component>(indexes);
  store.put("a", { colors: ["red"] });
  store.put("b", { colors: ["red", "blue"] });
  store.put("c", { colors: ["red", "red"] });
  expect(store.by("color", "red")).toHaveLength(3);
  expect(store.by("color", "blue")).toEqual([store.get("b")]);
  store.put("b", { colors: ["green"] });
  expect(store.by("color", "blue")).toEqual([]);
  store.remove("a");
  store.remove("a");
  expect(store.by("color", "red")).toEqual([store.get("c")]);
  expect(() => store.by("size", "1")).toThrow("no index size; known: color, count");
});

test("after any series of changes the indexes equal freshly computed ones", () => {
  const key = fc.constantFrom("a", "b", "c", "d");
  const colors = fc.array(fc.constantFrom("red", "green", "blue", ""), { maxLength: 4 });
  const step = fc.oneof(fc.record({ key, colors: colors }), fc.record({ key, colors: fc.constant(undefined) }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const store = new CacheStore<Component>(indexes);
      const model = new Map<string, Component>();
      for (const { key, colors } of steps) {
        if (colors) {
          const component = { colors };
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
