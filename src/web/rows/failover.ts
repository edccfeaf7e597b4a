import { FailoverPolicy, type FailoverStatus } from "../../api/failover/failover-policy.ts";
import { keyOf } from "../../api/kind.ts";
import { componentId } from "../../api/health.ts";
import { copyTime } from "../../failover/token/peer-copy.ts";
import { type RowBuilder, rowKey, type BuildContext } from "./row-builder.ts";
import type { FailoverStep, PastTransition, PolicyRow, PolicyDetailData, Transition } from "../api.ts";
import { conditionsOf, namespaceIn, definedFields, reasonFields } from "./fields.ts";

export const policies: RowBuilder<"failover"> = {
  view: "failover",
  type: "policy",
  kind: FailoverPolicy,
  rowOf: (policy: FailoverPolicy) => keyOf(policy),
  build: policyRow,
  of: (key) => [{ kind: FailoverPolicy, ...namespaceIn(key) }],
};

const PHASES = ["Error", "InProgress", "Complete"] as const;

function policyRow(key: string, context: BuildContext): PolicyRow | undefined {
  const policy = context.get(FailoverPolicy, key);
  if (!policy) return undefined;
  const { metadata, spec, status = {} } = policy;
  const { namespace = "", name } = metadata;
  const { currentState = "unknown", mode, summary, token, peer, transition, history = [], conditions = [] } = status;
  const { workloadStatuses = [], volumeReplicationStatuses = [] } = status;
  const id = componentId({ kind: "FailoverPolicy", namespace, name });
  const { health, message, since } = reasonFields(context.verdict(id));
  const phase = PHASES.find((type) => conditions.some((condition) => condition.type === type && condition.status === "True"));
  const flipped = conditions.find(({ type }) => type === phase)?.lastTransitionTime;
  return {
    type: "policy",
    key: rowKey("policy", key),
    id,
    namespace,
    name,
    desired: spec.desiredState,
    current: currentState,
    health,
    phase: phase ?? "Unknown",
    ...definedFields({ mode, message: summary ?? message, since: since ?? flipped }),
    ...(token && { token: { epoch: token.epoch, state: token.state, ...definedFields({ forced: token.forced }) } }),
    ...(peer && { peer: { reachable: peer.reachable, ...definedFields({ message: peer.message, desired: peer.desiredState }) } }),
    ...definedFields({ wave: spec.wave, ready: conditions.find(({ type }) => type === "Ready")?.status, copied: copyTime(policy) }),
    ...(transition && { transition: { ...transitionOf(transition), steps: transition.steps.map(stepOf) } }),
    history: history.map(pastOf),
    workloads: ok(workloadStatuses),
    volumes: ok(volumeReplicationStatuses),
  };
}

type Stored = NonNullable<FailoverStatus["transition"]>;

function transitionOf(stored: Omit<Stored, "steps">): Transition {
  const { to, mode, startTime: start, completionTime: end, forced, lastSyncTime: lastSync, writesStoppedTime: writesStopped } = stored;
  return { to, mode, start, ...definedFields({ end, forced, lastSync, writesStopped }) };
}

function stepOf({ name, state, startTime: start, completionTime: end, waitingFor }: Stored["steps"][number]): FailoverStep {
  if (!waitingFor) return { name, state, ...definedFields({ start, end }) };
  const { kind, namespace, name: waited, message, others, since } = waitingFor;
  return {
    name,
    state,
    ...definedFields({ start, end }),
    waitingFor: { kind, name: waited, message, ...definedFields({ namespace, others, since }) },
  };
}

function pastOf(past: NonNullable<FailoverStatus["history"]>[number]): PastTransition {
  const { outcome, seconds, lossSeconds, steps = [] } = past;
  return {
    ...transitionOf(past),
    outcome,
    ...definedFields({ seconds, lossSeconds }),
    steps: steps.map((step) => definedFields({ name: step.name, seconds: step.seconds })),
  };
}

function ok(resources: readonly { readonly error?: string }[]): { ok: number; total: number } {
  return { ok: resources.filter(({ error }) => error === undefined || error === "").length, total: resources.length };
}

export function policyDetail(key: string, context: BuildContext): PolicyDetailData | undefined {
  const row = policyRow(key, context);
  if (!row) return undefined;
  const { conditions, volumeReplicationStatuses = [], workloadStatuses = [] } = context.get(FailoverPolicy, key)?.status ?? {};
  return {
    type: "policy",
    key: row.key,
    row,
    conditions: conditionsOf(conditions),
    resources: [
      ...volumeReplicationStatuses.map((volume) => resourceOf(volume.kind ?? "VolumeReplication", volume)),
      ...workloadStatuses.map((workload) => resourceOf(workload.kind, workload)),
    ],
  };
}

type Resource = Omit<NonNullable<FailoverStatus["volumeReplicationStatuses"]>[number], "kind">;

function resourceOf(kind: string, resource: Resource): PolicyDetailData["resources"][number] {
  const { namespace, name, state, error, message, lastUpdateTime: since, lastSyncTime: lastSync } = resource;
  return definedFields({ kind, namespace, name, state, error, message, since, lastSync });
}
