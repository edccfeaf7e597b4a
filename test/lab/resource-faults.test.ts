import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Deployment } from "../../src/api/core/deployment.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { keyOf, type Kind, type KubeObject } from "../../src/api/kind.ts";
import { CHECK_RESOURCE_FAULTS } from "../../src/cli/lab/faults/check-resources.ts";
import type { FaultGround } from "../../src/cli/lab/faults/fault.ts";
import { POLICY_FAULTS } from "../../src/cli/lab/faults/policies.ts";
import { ROUTER_RESOURCE_FAULTS } from "../../src/cli/lab/faults/router-resources.ts";
import { SERVICE_RESOURCE_FAULTS } from "../../src/cli/lab/faults/service-resources.ts";
import { LAB_MANIFESTS } from "../../src/cli/lab/router-lab.ts";
import { EXPLAINED_KINDS } from "../../src/explain/explainers.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { type CommandLineServer, SERVERS } from "../support/servers.ts";

const FAULTS = Object.entries({ ...ROUTER_RESOURCE_FAULTS, ...SERVICE_RESOURCE_FAULTS, ...CHECK_RESOURCE_FAULTS, ...POLICY_FAULTS });
const KINDS: readonly Kind[] = [...EXPLAINED_KINDS, Deployment, Pod, Secret, StatefulSet];

describe.each(SERVERS)("on %s", (_name, start) => {
  let server: CommandLineServer;

  beforeAll(async () => {
    server = await start("resource-faults");
    const { code, stderr } = await server.plumbline("apply", "-f", LAB_MANIFESTS);
    expect([code, stderr]).toEqual([0, ""]);
    await createServiceAccount(server);
  });
  afterAll(() => server.stop());

  test.each(FAULTS)("%s passes admission, and mending restores every object", async (_fault, { break: breakIt, mend }) => {
    const { signal } = new AbortController();
    const host = () => {
      throw new TypeError("a resource is no matter of a host");
    };
    const ground: FaultGround = { node: "node2", client: server.client, host, signal };
    const before = await objects(server);
    await breakIt(ground);
    expect(await objects(server)).not.toEqual(before);
    await mend?.(ground);
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

/** Every object without what the API server says of it. */
async function objects({ client }: CommandLineServer): Promise<Record<string, unknown>> {
  const { signal } = new AbortController();
  const lists = await Promise.all(
    KINDS.map(async (kind) =>
      (await client.resource(kind).list({ signal })).items.map((item) => [`${kind.kind} ${keyOf(item)}`, item] as const),
    ),
  );
  return Object.fromEntries(
    lists.flat().map(([key, { metadata, ...content }]: readonly [string, KubeObject & { status?: object }]) => {
      const { status: _status, ...written } = content;
      return [key, { ...written, labels: metadata.labels, annotations: metadata.annotations }];
    }),
  );
}
