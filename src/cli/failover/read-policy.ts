import type { Command } from "commander";
import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { type ConnectionOptions, withConnection } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { notFoundHint } from "../resources/hints.ts";
import { namespaceOf, withNamespace } from "../resources/selection.ts";

export interface PolicyOptions extends ConnectionOptions {
  namespace?: string;
}

export function withPolicy(command: Command): Command {
  return withConnection(withNamespace(command));
}

/** Throws with a hint at similar names if it does not exist. */
export async function readPolicy(client: KubeClient, name: string, options: PolicyOptions, signal: AbortSignal): Promise<FailoverPolicy> {
  const namespace = namespaceOf(client, options);
  try {
    return await client.resource(FailoverPolicy).get(name, { namespace, signal });
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    await listPolicies(client, namespace, signal);
    throw new CliError(await notFoundHint(client, { resource: FailoverPolicy, namespace }, name, signal), EXIT.no, { cause: error });
  }
}

/** Sorted by namespace and name. */
export async function listPolicies(client: KubeClient, namespace: string | undefined, signal: AbortSignal): Promise<FailoverPolicy[]> {
  try {
    const { items } = await client.resource(FailoverPolicy).list({ ...(namespace !== undefined && { namespace }), signal });
    return items.toSorted((one, other) => (titleOf(one) < titleOf(other) ? -1 : 1));
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    const hint = "install it with: plumbline crds | kubectl apply -f -";
    throw new CliError(`The server has no kind FailoverPolicy; ${hint}`, EXIT.unknown, { cause: error });
  }
}

/** All namespaces, or this one if the user may not list the others. */
export async function visiblePolicies(client: KubeClient, namespace: string | undefined, signal: AbortSignal): Promise<FailoverPolicy[]> {
  try {
    return await listPolicies(client, undefined, signal);
  } catch (error) {
    if (namespace === undefined || !isKubeError(error, "Forbidden")) throw error;
    return listPolicies(client, namespace, signal);
  }
}

/** `shop/web` */
export function titleOf({ metadata: { namespace = "", name } }: FailoverPolicy): string {
  return `${namespace}/${name}`;
}
