import { Secret } from "../../src/api/core/secret.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";

export const PEER_SECRET = "failover-other-site";

/** Makes the cluster of a kubeconfig the peer of the policies in this namespace. */
export async function setPeer(client: KubeClient, namespace: string, kubeconfig: string, signal: AbortSignal): Promise<void> {
  const data = { kubeconfig: Buffer.from(kubeconfig).toString("base64") };
  await client.resource(Secret).apply({ metadata: { name: PEER_SECRET, namespace }, data }, { fieldManager: "lab", force: true, signal });
}
