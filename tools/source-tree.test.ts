import { expect, test } from "vitest";
import { sourceTree } from "./source-tree.ts";

test("the product is all files in src/ that the programs import in any form", () => {
  const { product } = sourceTree(
    new Map([
      ["src/main.ts", 'import { a } from "./a.ts";\nimport "./b.ts";\nexport * from "./c.ts";\nconst d = () => import("./d.ts");\n'],
      ["src/a.ts", 'import type { E } from "./x/e.ts";\nimport { up } from "../lab/up.ts";\n'],
      ["src/b.ts", 'import { join } from "node:path";\n'],
      ["src/c.ts", ""],
      ["src/d.ts", ""],
      ["src/x/e.ts", "// from \"./f.ts\"\nconst text = './f.ts';\n"],
      ["src/x/f.ts", ""],
      ["lab/up.ts", ""],
    ]),
  );
  expect([...product].sort()).toEqual(["src/a.ts", "src/b.ts", "src/c.ts", "src/d.ts", "src/main.ts", "src/x/e.ts"]);
});

test("definitions are those of the top level, with their kind", () => {
  const text = `import { type A } from "./a.ts";
export type B = { type: string };
export interface C {}
export default class D {}
export async function e() { function inner() {} }
const f = (x: number): number => x;
const g = 1, h = [() => 1];
export const i = async (x) => x;
`;
  const definitions = sourceTree(new Map([["src/x.ts", text]])).modules.get("src/x.ts")?.definitions ?? [];
  expect(definitions.map(({ name, as, isExported, isFunction }) => [name, as, isExported, isFunction])).toEqual([
    ["B", "type", true, false],
    ["C", "interface", true, false],
    ["D", "class", true, false],
    ["e", "function", true, true],
    ["f", "const", false, true],
    ["g", "const", false, false],
    ["i", "const", true, true],
  ]);
});
