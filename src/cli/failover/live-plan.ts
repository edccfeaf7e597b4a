import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { ClaimBook } from "../../failover/claims.ts";
import { lookLive } from "../../failover/sight/live-sight.ts";
import { managedBy, modeOf } from "../../failover/managed.ts";
import { needsOf } from "../../failover/sight/needs.ts";
import { Peers } from "../../failover/token/peers.ts";
import { plan, tokenFacts } from "../../failover/plan.ts";
import { ServedKinds } from "../../failover/sight/served.ts";
import { observedThrough } from "../../failover/sight/sight.ts";
import type { Plan } from "../../failover/step.ts";
import type { Revert } from "../../failover/switch-record.ts";
import { decideToken, withoutPeer } from "../../failover/token/token.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";

export interface LivePlanOptions {
  /** The controller's, where it was given another. */
  dnsAnnotation?: string | undefined;
  /** What was applied from Git against a person's switch, where the plan is for what the person asked for. */
  revert?: Revert | undefined;
  signal: AbortSignal;
}

/** What the controller would do about this policy now. Nothing is written. */
export async function livePlan(
  client: KubeClient,
  policy: FailoverPolicy,
  { dnsAnnotation, revert, signal }: LivePlanOptions,
): Promise<Plan> {
  const { managed } = managedBy(policy);
  const now = new Date();
  const served = new ServedKinds(client);
  const book = new ClaimBook();
  for (const other of await policiesInSight(client, policy, signal)) book.enter(other, managedBy(other).managed, now);
  const sight = await lookLive(client, served, needsOf(managed, policy.spec.fence !== undefined), signal);
  const peers = new Peers(client);
  try {
    const peer = policy.spec.peer ? await peers.ask(policy, signal) : withoutPeer(policy);
    const observed = observedThrough(sight, served, {
      policy,
      managed,
      contested: book.contested(policy, managed),
      now,
      ...(peer && { peer }),
      ...(revert && { revert }),
      ...(dnsAnnotation !== undefined && { dnsAnnotation }),
    });
    return plan(observed, peer && decideToken({ policy, mode: modeOf(policy.spec) ?? "safe", ...tokenFacts(observed), peer }));
  } finally {
    peers.close();
  }
}

/** Those of all namespaces, or of the policy's own where we may see no others. */
async function policiesInSight(
  client: KubeClient,
  { metadata: { namespace = "" } }: FailoverPolicy,
  signal: AbortSignal,
): Promise<FailoverPolicy[]> {
  try {
    return (await client.resource(FailoverPolicy).list({ signal })).items;
  } catch (error) {
    if (!isKubeError(error, "Forbidden")) throw error;
    return (await client.resource(FailoverPolicy).list({ namespace, signal })).items;
  }
}
