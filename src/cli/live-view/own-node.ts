import { hostname } from "node:os";
import { Node } from "../../api/core/node.ts";
import { routeTo } from "../../hostnet/route-to.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";

/** Addresses far away, of documentation: the way there is the way out. */
const FAR = ["192.0.2.1", "2001:db8::1"];

/** The Node of this machine, which no kubelet makes here. Returns its name. */
export async function ensureOwnNode(client: KubeClient, signal: AbortSignal): Promise<string> {
  const name = hostname();
  const nodes = client.resource(Node);
  try {
    await nodes.get(name, { signal });
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    await nodes.create({ metadata: { name, labels: { "kubernetes.io/hostname": name } }, spec: {} }, { signal });
  }
  // One that stands in a file has what the file says; the addresses are the machine's all the same.
  const routes = await Promise.all(FAR.map((address) => routeTo(address, undefined, signal)));
  const addresses = routes.flatMap((route) =>
    route?.source === undefined ? [] : [{ type: "InternalIP" as const, address: route.source }],
  );
  await nodes.patchStatus({ name }, { status: { addresses: [{ type: "Hostname", address: name }, ...addresses] } }, { signal });
  return name;
}
