import { setTimeout as sleep } from "node:timers/promises";
import { CustomResourceDefinition, crdOf } from "../../src/api/crds/crd.ts";
import type { CustomKind } from "../../src/api/define-kind.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";

/** Applies the definitions of these kinds of ours and returns when the server serves them. */
export function installCrds(client: KubeClient, kinds: readonly CustomKind[], signal: AbortSignal): Promise<void> {
  return applyCrds(client, kinds.map(crdOf), signal);
}

/** Applies definitions and returns when the server serves them. */
export async function applyCrds(client: KubeClient, definitions: readonly CustomResourceDefinition[], signal: AbortSignal): Promise<void> {
  const crds = client.resource(CustomResourceDefinition);
  const names = await Promise.all(
    definitions.map(async (crd) => (await crds.apply(crd, { fieldManager: "plumbline-lab", force: true, signal })).metadata.name),
  );
  for (const name of names) {
    while (!(await isServed(client, name, signal))) await sleep(50, undefined, { signal });
  }
}

async function isServed(client: KubeClient, name: string, signal: AbortSignal): Promise<boolean> {
  const { status } = await client.resource(CustomResourceDefinition).get(name, { signal });
  return status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") ?? false;
}
