import * as fc from "fast-check";
import { expect, test } from "vitest";
import { joinedName, labelValue, pairsNamed, prefixedName } from "./names.ts";

const noneElse = () => false;

test("names are readable, as in the documented examples", () => {
  expect(joinedName("worker0", "peer1", noneElse)).toBe("worker0-peer1");
  expect(joinedName("kind-worker", "tor-1", noneElse)).toBe("kind-worker-tor-1");
  expect(prefixedName("speaker-", "kind-worker")).toBe("speaker-kind-worker");
  expect(labelValue("kind-worker")).toBe("kind-worker");
});

test("two pairs with the same joined name both get a hash, and different ones", () => {
  const pairs = new Set(["a-b/c", "a/b-c"]);
  const exists = (first: string, second: string) => pairs.has(`${first}/${second}`);
  const names = [joinedName("a-b", "c", exists), joinedName("a", "b-c", exists)];
  expect(names[0]).toMatch(/^a-b-c-[0-9a-f]{10}$/);
  expect(names[1]).toMatch(/^a-b-c-[0-9a-f]{10}$/);
  expect(names[0]).not.toBe(names[1]);
});

test("a pair does not conflict with itself", () => {
  expect(joinedName("a-b", "c", (first, second) => first === "a-b" && second === "c")).toBe("a-b-c");
});

test("a name that is too long is cut and hashed, and stays valid", () => {
  const node = `${"n".repeat(240)}.example`;
  expect(joinedName(node, "peer", noneElse)).toHaveLength(253);
  expect(joinedName(node, "peer", noneElse)).not.toBe(joinedName(node, "other", noneElse));
  expect(prefixedName("speaker-", node)).toMatch(/^speaker-n+-[0-9a-f]{10}$/);
  expect(labelValue("n".repeat(64))).toMatch(/^n{52}-[0-9a-f]{10}$/);
  expect(labelValue(`${"n".repeat(51)}.${"m".repeat(30)}`)).toMatch(/^n{51}-[0-9a-f]{10}$/);
});

const part = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?(\.[a-z0-9]{1,4})?$/);

test("among any pairs, no two have the same name", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(part, part), { selector: ([a, b]) => `${a}/${b}`, maxLength: 12 }), (pairs) => {
      const known = new Set(pairs.map(([first, second]) => `${first}/${second}`));
      const exists = (first: string, second: string) => known.has(`${first}/${second}`);
      const names = pairs.map(([first, second]) => joinedName(first, second, exists));
      expect(new Set(names).size).toBe(pairs.length);
    }),
    { seed: 3, numRuns: 500 },
  );
});

test("a name identifies its pair among all that exist, also if it is hashed or cut", () => {
  const long = "n".repeat(200);
  const first = fc.oneof(part, fc.constantFrom("worker", "worker-1", "1", long));
  const pairs = fc.uniqueArray(fc.tuple(first, first), { selector: ([a, b]) => `${a}/${b}`, minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(pairs, (all) => {
      const pairs = new Set(all.map(([a, b]) => `${a}/${b}`));
      const exists = (a: string, b: string) => pairs.has(`${a}/${b}`);
      const known = { exists, firsts: () => all.map(([a]) => a), seconds: () => all.map(([, b]) => b) };
      for (const [a, b] of all) expect(new Set(pairsNamed(joinedName(a, b, exists), known).map(String))).toEqual(new Set([`${a},${b}`]));
      expect(pairsNamed("nobody-has-it", known)).toEqual([]);
    }),
  );
});
