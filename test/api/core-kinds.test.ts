import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Kind } from "../../src/api/kind.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";

const DIRECTORY = join(import.meta.dirname, "../../src/api/core");
const signal = AbortSignal.timeout(10 * 60_000);

interface Resource {
  name: string;
  kind: string;
  namespaced: boolean;
  shortNames?: string[];
}

let api: SuiteApiServer;
let client: KubeClient;

beforeAll(async () => {
  api = await apiServer("core-kinds");
  client = new KubeClient(api.access);
});

afterAll(async () => {
  client.close();
  await api.stop();
});

async function coreKinds(): Promise<Kind[]> {
  const modules = await Promise.all(
    (await readdir(DIRECTORY))
      .filter((file) => !file.endsWith(".test.ts"))
      .map(async (file) => (await import(join(DIRECTORY, file))) as Record<string, Kind>),
  );
  return modules.flatMap((module) => Object.values(module)).filter((kind) => typeof kind.plural === "string");
}

test("every built-in kind exists on a real API server under our names", async () => {
  const kinds = await coreKinds();
  expect(kinds.length).toBeGreaterThanOrEqual(16);
  for (const { group, version, kind, plural, scope, shortNames } of kinds) {
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const { resources } = await client.request<{ resources: Resource[] }>("GET", root, { signal });
    const served = resources.find(({ name }) => name === plural);
    expect(served).toMatchObject({ kind, namespaced: scope === "Namespaced", ...(shortNames && { shortNames }) });
  }
});
