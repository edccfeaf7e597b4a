import { FailoverPolicy, type Role } from "../../api/failover/failover-policy.ts";
import { differsFromSwitch } from "../../failover/policy/switch-record.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import type { Force } from "./live-plan.ts";
import { titleOf } from "./read-policy.ts";

interface Answer {
  readonly policy: FailoverPolicy;
  readonly changed: boolean;
}

/** Only if the policy has not changed since it was read. Removes an earlier force, unless this command forces. */
export async function requestSwitch(
  client: KubeClient,
  policy: FailoverPolicy,
  { to, force, annotations }: { to: Role; force: Force | undefined; annotations: Record<string, string | null> },
  signal: AbortSignal,
): Promise<Answer> {
  if (policy.spec.desiredState === to && !force && !policy.spec.force && !differsFromSwitch(policy)) return { policy, changed: false };
  const patch = { metadata: { annotations }, spec: { desiredState: to, force: force ?? null } };
  for (let read = policy; ;) {
    const { name, namespace = "", resourceVersion = "" } = read.metadata;
    try {
      return {
        policy: await client.resource(FailoverPolicy).patch({ name, namespace }, patch, { resourceVersion, signal }),
        changed: true,
      };
    } catch (error) {
      if (!isKubeError(error, "Conflict")) throw error;
      read = await client.resource(FailoverPolicy).get(name, { namespace, signal });
      // A status change alone is retried. A new spec, or a new epoch that force would apply to, is not.
      if (read.metadata.generation === policy.metadata.generation && read.status?.token?.epoch === policy.status?.token?.epoch) continue;
      throw new CliError(`FailoverPolicy ${titleOf(policy)} changed meanwhile; nothing was written, run the command again`, EXIT.no, {
        cause: error,
      });
    }
  }
}

/** `FailoverPolicy shop/web: desiredState set to primary, forced: it burnt down` */
export function requestText({ policy, changed }: Answer, to: Role, force: Force | undefined): string {
  const title = `FailoverPolicy ${titleOf(policy)}`;
  if (!changed) return `${title}: desiredState is already ${to}`;
  return `${title}: desiredState set to ${to}${force ? `, forced: ${force.reason}` : ""}`;
}
