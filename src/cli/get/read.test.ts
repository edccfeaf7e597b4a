import { afterEach, expect, test } from "vitest";
import { fixedAccess } from "../../kube/testing/fixed-access.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { answer, statusError, ScriptedServer, type ScriptedStep } from "../../kube/testing/scripted-server.ts";
import type { ResourceSelection } from "../resources/selection.ts";
import { configMaps } from "../testing/fixtures.ts";
import { read } from "./read.ts";
import { nameView } from "./view.ts";

const { signal } = new AbortController();
let server: ScriptedServer;
let client: KubeClient;
afterEach(async () => {
  client.close();
  await server[Symbol.asyncDispose]();
});

const page = (names: readonly string[], next?: string) =>
  answer(200, {
    kind: "ConfigMapList",
    apiVersion: "v1",
    metadata: { resourceVersion: "9", continue: next },
    items: names.map((name) => ({ metadata: { name, namespace: "shop" } })),
  });

async function readFrom(steps: ScriptedStep[], selection: ResourceSelection = configMaps) {
  server = await ScriptedServer.start(steps);
  client = new KubeClient(fixedAccess(server.url));
  const { items, ...rest } = await read(client, selection, nameView(), signal);
  return { names: items.map(({ metadata }) => metadata.name), ...rest };
}

const queries = () => server.received.map(({ query }) => `limit=${query.get("limit")} continue=${query.get("continue")}`);

test("all pages are read", async () => {
  expect(await readFrom([page(["a", "b"], "next"), page(["c"])])).toEqual({ names: ["a", "b", "c"], resourceVersion: "9", missing: [] });
  expect(queries()).toEqual(["limit=500 continue=null", "limit=500 continue=next"]);
});

test("pages whose continue token expires are read again in one request", async () => {
  const { names } = await readFrom([page(["a"], "next"), statusError(410, "Expired"), page(["a", "b"])]);
  expect({ names, queries: queries().at(-1) }).toEqual({ names: ["a", "b"], queries: "limit=null continue=null" });
});

test("a server without list permission still reports a missing name", async () => {
  const { missing } = await readFrom([statusError(404, "NotFound"), statusError(403, "Forbidden")], { ...configMaps, names: ["gone"] });
  expect(missing).toEqual(["ConfigMap gone not found in namespace shop"]);
});
