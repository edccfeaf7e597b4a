import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import type { SharedReads } from "../../failover/observe/live-reader.ts";
import { ServedKinds } from "../../failover/observe/served-kinds.ts";
import type { SwitchPlan } from "../../failover/steps/step.ts";
import type { Peers } from "../../failover/token/peers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { decideForce } from "./force.ts";
import { withRequestedState, type Force, livePlan } from "./live-plan.ts";
import { checkOwners, type OwnerCheck, type OwnerOptions } from "./owner-gate.ts";
import type { PolicyFailure } from "../../failover/policy/failure.ts";

export interface PreflightOptions extends OwnerOptions {
  readonly to: Role;
  /** The reason given with --force. */
  readonly reason?: string | undefined;
  readonly evenThoughItAnswers?: boolean | undefined;
  readonly among?: readonly FailoverPolicy[];
  readonly peers: Peers;
  readonly served?: ServedKinds;
  readonly reads?: SharedReads;
  readonly signal: AbortSignal;
}

export interface Preflight {
  readonly policy: FailoverPolicy;
  readonly force?: Force | undefined;
  /** Any of these prevents the switch. */
  readonly rejections: readonly PolicyFailure[];
  readonly failures: readonly PolicyFailure[];
  readonly notes: readonly string[];
  readonly findings: SwitchPlan["notes"];
  /** What applies the policy from Git. */
  readonly owners: OwnerCheck;
  readonly mode: SwitchPlan["mode"];
}

export async function preflight(client: KubeClient, policy: FailoverPolicy, options: PreflightOptions): Promise<Preflight> {
  const { to, reason, evenThoughItAnswers, among, peers, served = new ServedKinds(client), reads, signal } = options;
  const forced =
    reason === undefined ? undefined : await decideForce(policy, { reason, evenThoughItAnswers, peers, now: new Date(), signal });
  const plan = await livePlan(client, withRequestedState(policy, to, forced?.force), {
    peers,
    served,
    signal,
    ...(among && { among }),
    ...(reads && { reads }),
  });
  const owners = await checkOwners(client, policy, options, served, signal);
  return {
    policy,
    force: forced?.force,
    rejections: [...(forced?.rejections ?? []), ...plan.rejections, ...owners.rejections],
    failures: plan.failures,
    notes: forced?.notes ?? [],
    findings: plan.notes,
    owners,
    mode: plan.mode,
  };
}
