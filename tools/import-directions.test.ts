import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { importComplaints } from "./import-directions.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "plumbline-imports-"));
});
afterEach(() => rm(root, { recursive: true }));

async function complaintsAbout(file: string, text: string): Promise<string[]> {
  await mkdir(join(root, dirname(file)), { recursive: true });
  await writeFile(join(root, file), text);
  return importComplaints(root, [file]);
}

test("a room may use the rooms below it", async () => {
  expect(
    await complaintsAbout("src/router/plan.ts", 'import { a } from "../kube/a.ts";\nimport type { B } from "../../src/api/b.ts";\n'),
  ).toEqual([]);
});

test("a room may not use a room above it", async () => {
  expect(await complaintsAbout("src/kube/a.ts", 'import {\n  plan,\n} from "../router/plan.ts";\n')).toEqual([
    "src/kube/a.ts imports src/router/plan.ts: kube/ stands below router/",
  ]);
});

test("domains do not know each other, whether imported, exported on or loaded late", async () => {
  const text = 'export { x } from "../failover/x.ts";\nconst y = await import("../loadbalancer/y.ts");\n';
  expect(await complaintsAbout("src/router/act.ts", text)).toEqual([
    "src/router/act.ts imports src/failover/x.ts: router/ stands beside failover/",
    "src/router/act.ts imports src/loadbalancer/y.ts: router/ stands beside loadbalancer/",
  ]);
});

test("only the command line reaches the lab", async () => {
  expect(await complaintsAbout("src/cli/lab.ts", 'import { up } from "../../lab/up.ts";\n')).toEqual([]);
  expect(await complaintsAbout("src/kube/b.ts", 'import { up } from "../../lab/up.ts";\n')).toEqual([
    "src/kube/b.ts imports lab/up.ts: src/ stands alone; only cli/ uses lab/",
  ]);
});

test("a room that is not on the plan is noticed", async () => {
  expect(await complaintsAbout("src/attic/a.ts", 'import { b } from "../api/b.ts";\n')).toEqual([
    "src/attic/a.ts imports src/api/b.ts: room attic is not on the plan in tools/import-directions.ts",
  ]);
});
