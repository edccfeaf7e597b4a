import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { accessAs, installIdentities } from "../../lab/kube/identities.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Node } from "../../src/api/core/node.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { addControllerComponents } from "../../src/cli/shared/controller-components.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { createLog } from "../../src/kube/log.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";

const { signal } = new AbortController();
const annotation = "openpe.io/nodeindex";
let api: SuiteApiServer;
let client: KubeClient;
let stopController: (() => Promise<void>) | undefined;

beforeAll(async () => {
  api = await apiServer("node-index");
  client = new KubeClient(api.access);
  await installCrds(client, CUSTOM_KINDS, signal);
  await installIdentities(client, signal);
});
afterAll(async () => {
  await stopController?.();
  client.close();
  await api.stop();
});

function startController(): () => Promise<void> {
  const stopping = new AbortController();
  const log = createLog({ level: "error" });
  const client = new KubeClient(accessAs("controller", api.access));
  const manager = new Manager({ client, log });
  const namespaces = { namespace: "plumbline-system", routerNamespace: "openperouter-system" };
  addControllerComponents({ manager, client, log, ...namespaces, waitForOldWrites: () => Promise.resolve() });
  const ended = manager.run(stopping.signal);
  return () => {
    stopping.abort();
    return ended;
  };
}

const create = (name: string, index?: string) =>
  client
    .resource(Node)
    .create({ metadata: { name, ...(index === undefined ? {} : { annotations: { [annotation]: index } }) } }, { signal });
const indexes = async () => {
  const { items } = await client.resource(Node).list({ signal });
  return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.annotations?.[annotation]]));
};
const eventually = (expectation: () => Promise<void>) => vi.waitFor(expectation, { timeout: 60_000, interval: 50 });

test("every Node has a unique index: its own, a corrected, or a new one", async () => {
  await create("brought", "4");
  await create("clash", "4");
  await create("garbage", "four");
  await create("plain");
  stopController = startController();
  await eventually(async () => expect(await indexes()).toEqual({ brought: "4", clash: "0", garbage: "1", plain: "2" }));

  await client.resource(Node).patch({ name: "plain" }, { metadata: { annotations: { [annotation]: "4" } } }, { signal });
  await eventually(async () => expect(await indexes()).toEqual({ brought: "4", clash: "0", garbage: "1", plain: "2" }));
  await create("late");
  await eventually(async () => expect(await indexes()).toEqual({ brought: "4", clash: "0", garbage: "1", plain: "2", late: "3" }));
});

test("Nodes keep their indexes when the members object is lost", async () => {
  const before = (await indexes()) as Record<string, string>;
  await stopController?.();
  await client.resource(ConfigMap).delete({ name: "plumbline-members", namespace: "plumbline-system" }, { signal });
  await create("after");
  stopController = startController();
  await eventually(async () => expect(await indexes()).toEqual({ ...before, after: "5" }));
});
