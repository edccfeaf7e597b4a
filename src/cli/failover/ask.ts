import { FailoverPolicy, type Role } from "../../api/failover/failover-policy.ts";
import { differsFromSwitch } from "../../failover/switch-record.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import type { Force } from "./live-plan.ts";
import { titleOf } from "./read-policy.ts";

interface Answer {
  readonly policy: FailoverPolicy;
  /** False where the policy asked for the same already. */
  readonly changed: boolean;
}

/** Changes what is wanted, if nobody else has since it was read. A force of an earlier day goes: only who asks for it now has it. */
export async function ask(
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
      // Its status moves by itself; only what somebody wants, or a token that force would be about, is worth another look.
      if (read.metadata.generation === policy.metadata.generation && read.status?.token?.epoch === policy.status?.token?.epoch) continue;
      throw new CliError(`FailoverPolicy ${titleOf(policy)} was changed at this moment; look at it again, nothing is done`, EXIT.no, {
        cause: error,
      });
    }
  }
}

/** `FailoverPolicy shop/web is asked to be primary, without the other site: it burnt down` */
export function askedText({ policy, changed }: Answer, to: Role, force: Force | undefined): string {
  const title = `FailoverPolicy ${titleOf(policy)}`;
  if (!changed) return `${title} is asked to be ${to} already`;
  return `${title} is asked to be ${to}${force ? `, without the other site: ${force.reason}` : ""}`;
}
