import { isDeepStrictEqual } from "node:util";
import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import { ClaimIndex } from "../../failover/claims.ts";
import { readLive, type SharedReads } from "../../failover/observe/live-reader.ts";
import { watchedKindsOf } from "../../failover/observe/watched-kinds.ts";
import { Peers } from "../../failover/token/peers.ts";
import { planFrom } from "../../failover/plan.ts";
import { ServedKinds } from "../../failover/observe/served-kinds.ts";
import type { SwitchPlan } from "../../failover/steps/step.ts";
import type { Revert } from "../../failover/policy/switch-record.ts";
import { withoutPeer } from "../../failover/token/token.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { visiblePolicies } from "./read-policy.ts";
import { managedBy, type Managed } from "../../failover/policy/managed.ts";

export interface LivePlanOptions {
  dnsAnnotation?: string | undefined;
  /** Set if Git reverted a person's switch and the plan is for what the person requested. */
  revert?: Revert | undefined;
  among?: readonly FailoverPolicy[];
  /** Shared between the plans of many policies. */
  peers?: Peers;
  served?: ServedKinds;
  reads?: SharedReads;
  signal: AbortSignal;
}

export type Force = NonNullable<FailoverPolicy["spec"]["force"]>;

/** The policy with this desiredState: a new generation, unless it has it already. */
export function withRequestedState(policy: FailoverPolicy, desiredState: Role, force?: Force): FailoverPolicy {
  const spec = { ...policy.spec, desiredState };
  delete spec.force;
  if (force) spec.force = force;
  const isSame = isDeepStrictEqual(spec, policy.spec);
  const generation = (policy.metadata.generation ?? 0) + (isSame ? 0 : 1);
  return { ...policy, metadata: { ...policy.metadata, generation }, spec };
}

/** What the controller would do about this policy now. Nothing is written. */
export async function livePlan(client: KubeClient, policy: FailoverPolicy, options: LivePlanOptions): Promise<SwitchPlan> {
  const { dnsAnnotation, revert, signal } = options;
  const { managed } = managedBy(policy);
  const now = new Date();
  const served = options.served ?? new ServedKinds(client);
  const claims = new ClaimIndex();
  for (const other of options.among ?? (await visiblePolicies(client, policy.metadata.namespace, signal)))
    claims.enter(other, managedBy(other).managed, now);
  const reader = await readLive(client, served, watchedKindsOf(managed, policy), signal, options.reads);
  const peers = options.peers ?? new Peers(client);
  try {
    const peer = policy.spec.peer ? await peers.ask(policy, signal) : withoutPeer(policy);
    return planFrom(reader, served, {
      policy,
      managed,
      contested: claims.contested(policy, managed),
      now,
      actsEverywhere: isPermitted(policy, managed),
      ...(peer && { peer }),
      ...(revert && { revert }),
      ...(dnsAnnotation !== undefined && { dnsAnnotation }),
    });
  } finally {
    if (!options.peers) peers.close();
  }
}

/** Whether the controller found that the policy may act in all namespaces that it names: its --failover-namespaces are not known here. */
function isPermitted({ metadata, status }: FailoverPolicy, managed: readonly Managed[]): boolean {
  const permitted = new Set((status?.foreignNamespaces ?? []).filter((one) => one.permitted).map(({ name }) => name));
  return managed.every(({ namespace }) => namespace === metadata.namespace || permitted.has(namespace));
}
