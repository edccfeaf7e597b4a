import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Deployment } from "../../src/api/core/deployment.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { keyOf, type Kind, type KubeObject } from "../../src/api/kind.ts";
import { CHECK_RESOURCE_FAULTS } from "../../lab/faults/check-resources.ts";
import type { FaultContext } from "../../lab/faults/fault.ts";
import { POLICY_FAULTS } from "../../lab/faults/policies.ts";
import { ROUTER_RESOURCE_FAULTS } from "../../lab/faults/router-resources.ts";
import { SERVICE_RESOURCE_FAULTS } from "../../lab/faults/service-resources.ts";
import { LAB_MANIFESTS } from "../../lab/cli/router-lab.ts";
import { EXPLAINED_KINDS } from "../../src/explain/explainers.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { NODES } from "../support/nodes.ts";
import { type CommandLineServer, SERVERS } from "../support/servers.ts";

const FAULTS = Object.entries({ ...ROUTER_RESOURCE_FAULTS, ...SERVICE_RESOURCE_FAULTS, ...CHECK_RESOURCE_FAULTS, ...POLICY_FAULTS });
const KINDS: readonly Kind[] = [...EXPLAINED_KINDS, Deployment, Pod, Secret, StatefulSet];

describe.each(SERVERS)("on %s", (_name, start) => {
  let server: CommandLineServer;

  beforeAll(async () => {
    server = await start("resource-faults");
    const { code, stderr } = await server.plumbline("apply", "-f", LAB_MANIFESTS);
    if (code !== 0) throw new Error(stderr);
    await createServiceAccount(server);
  });
  afterAll(() => server.stop());

  test.each(FAULTS)("%s passes admission, and mending restores every object", async (_name, fault) => {
    const { signal } = new AbortController();
    const context: FaultContext = { node: "node2", nodes: NODES, client: server.client, host: noHost, signal };
    const before = await objects(server);
    await fault.break(context);
    expect(await objects(server)).not.toEqual(before);
    await fault.fix?.(context);
    expect(await objects(server)).toEqual(before);
  });
});

/** Pods need it, and kube-controller-manager, which would create it, does not run here. The embedded API has no such kind. */
async function createServiceAccount({ client }: CommandLineServer): Promise<void> {
  const body = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  try {
    await client.request("POST", "/api/v1/namespaces/default/serviceaccounts", { body, signal: new AbortController().signal });
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
  }
}

function noHost(): never {
  throw new TypeError("a fault of configuration needs no host");
}

/** The fields that the test writes into every object. */
async function objects({ client }: CommandLineServer): Promise<Record<string, unknown>> {
  const { signal } = new AbortController();
  const lists = await Promise.all(
    KINDS.map(async (kind) => {
      const { items } = await client.resource(kind).list({ signal });
      return items.map((item: Written) => [`${kind.kind} ${keyOf(item)}`, writtenIn(item)] as const);
    }),
  );
  return Object.fromEntries(lists.flat());
}

type Written = KubeObject & { spec?: object; endpoints?: object; data?: object };

function writtenIn({ metadata: { labels, annotations }, spec, endpoints, data }: Written): object {
  return { labels, annotations, spec, endpoints, data };
}
