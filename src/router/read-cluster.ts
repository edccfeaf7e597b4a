import { Node } from "../api/core/node.ts";
import { Secret } from "../api/core/secret.ts";
import { L2VNI } from "../api/openpe/l2vni.ts";
import { L3Passthrough } from "../api/openpe/l3passthrough.ts";
import { L3VNI } from "../api/openpe/l3vni.ts";
import { RawFRRConfig } from "../api/openpe/raw-frr-config.ts";
import { Underlay } from "../api/openpe/underlay.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/error.ts";
import type { RouterInputs } from "./node-router.ts";
import { readObjects } from "./dialects/read-objects.ts";
import { ownIndex } from "./node-index.ts";
import { secretsOf } from "./observe.ts";

/** What an agent would know of its node, read once. */
export async function readCluster(client: KubeClient, name: string, namespace: string, signal: AbortSignal): Promise<RouterInputs> {
  const options = { namespace, signal };
  const [node, underlays, l2vnis, l3vnis, passthroughs, rawConfigs] = await Promise.all([
    client.resource(Node).get(name, { signal }),
    client.resource(Underlay).list(options),
    client.resource(L2VNI).list(options),
    client.resource(L3VNI).list(options),
    client.resource(L3Passthrough).list(options),
    client.resource(RawFRRConfig).list(options),
  ]);
  const names = [...secretsOf({ underlays: underlays.items })];
  const secrets = new Map(await Promise.all(names.map(async (secret) => [secret, await readSecret(client, secret, options)] as const)));
  return {
    node,
    index: (running) => ownIndex(node, running, client, signal),
    objects: readObjects({
      underlays: underlays.items,
      l2vnis: l2vnis.items,
      l3vnis: l3vnis.items,
      passthroughs: passthroughs.items,
      rawConfigs: rawConfigs.items,
    }),
    secret: (secret) => secrets.get(secret),
  };
}

async function readSecret(
  client: KubeClient,
  name: string,
  options: { namespace: string; signal: AbortSignal },
): Promise<Secret | "unreadable" | undefined> {
  try {
    return await client.resource(Secret).get(name, options);
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    if (isKubeError(error, "Forbidden")) return "unreadable";
    throw error;
  }
}
