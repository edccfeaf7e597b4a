import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { importProblems } from "./import-directions.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "plumbline-imports-"));
});
afterEach(() => rm(root, { recursive: true }));

async function problemsAbout(file: string, text: string): Promise<string[]> {
  await mkdir(join(root, dirname(file)), { recursive: true });
  await writeFile(join(root, file), text);
  return importProblems(root, [file]);
}

test("a folder may import folders below it", async () => {
  expect(
    await problemsAbout("src/router/plan.ts", 'import { a } from "../kube/a.ts";\nimport type { B } from "../../src/api/b.ts";\n'),
  ).toEqual([]);
});

test("a folder must not import a folder above it", async () => {
  expect(await problemsAbout("src/kube/a.ts", 'import {\n  plan,\n} from "../router/plan.ts";\n')).toEqual([
    "src/kube/a.ts imports src/router/plan.ts: kube/ is below router/",
  ]);
});

test("domains must not import, re-export or dynamically load each other", async () => {
  const text = 'export { x } from "../failover/x.ts";\nconst y = await import("../loadbalancer/y.ts");\n';
  expect(await problemsAbout("src/router/act.ts", text)).toEqual([
    "src/router/act.ts imports src/failover/x.ts: router/ is on the same level as failover/",
    "src/router/act.ts imports src/loadbalancer/y.ts: router/ is on the same level as loadbalancer/",
  ]);
});

test("only the loader of the lab imports the lab", async () => {
  expect(await problemsAbout("src/cli/shared/lab-loader.ts", 'type Lab = typeof import("../../../lab/cli/lab.ts");\n')).toEqual([]);
  expect(await problemsAbout("src/cli/program.ts", 'import { up } from "../../lab/up.ts";\n')).toEqual([
    "src/cli/program.ts imports lab/up.ts: only src/cli/shared/lab-loader.ts may import lab/",
  ]);
});

test("product code does not use test helpers; tests and other helpers do", async () => {
  const text = 'import { node } from "./testing/fixtures.ts";\nimport { prefix } from "../ip/testing/generators.ts";\n';
  expect(await problemsAbout("src/router/plan.ts", text)).toEqual([
    "src/router/plan.ts imports src/router/testing/fixtures.ts: only tests use testing/",
    "src/router/plan.ts imports src/ip/testing/generators.ts: only tests use testing/",
  ]);
  expect(await problemsAbout("src/router/plan.test.ts", text)).toEqual([]);
  expect(await problemsAbout("src/router/testing/harness.ts", 'import { prefix } from "../../ip/testing/generators.ts";\n')).toEqual([]);
});

test("an unknown folder is reported", async () => {
  expect(await problemsAbout("src/attic/a.ts", 'import { b } from "../api/b.ts";\n')).toEqual([
    "src/attic/a.ts imports src/api/b.ts: folder attic is missing in tools/import-directions.ts",
  ]);
});
