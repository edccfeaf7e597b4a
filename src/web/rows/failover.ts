import { FailoverPolicy, type FailoverStatus } from "../../api/failover/failover-policy.ts";
import { keyOf } from "../../api/kind.ts";
import { idOf } from "../../api/health.ts";
import { copyTime } from "../../failover/copy-time.ts";
import { type Painter, rowKey, type Scene } from "../model/row-builder.ts";
import type { FailoverStep, PastTransition, PolicyRow, PolicyThing, Transition } from "../api.ts";
import { conditionsOf, namespaceIn, present, wordsOf } from "./fields.ts";

export const policies: Painter<"failover"> = {
  view: "failover",
  type: "policy",
  kind: FailoverPolicy,
  rowOf: (policy: FailoverPolicy) => keyOf(policy),
  paint: policyRow,
  of: (key) => [{ kind: FailoverPolicy, ...namespaceIn(key) }],
};

const PHASES = ["Error", "InProgress", "Complete"] as const;

function policyRow(key: string, scene: Scene): PolicyRow | undefined {
  const policy = scene.get(FailoverPolicy, key);
  if (!policy) return undefined;
  const { metadata, spec, status = {} } = policy;
  const { namespace = "", name } = metadata;
  const { currentState = "unknown", mode, summary, token, peer, transition, history = [], conditions = [] } = status;
  const { workloadStatuses = [], volumeReplicationStatuses = [] } = status;
  const id = idOf({ kind: "FailoverPolicy", namespace, name });
  const { health, message, since } = wordsOf(scene.verdict(id));
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
    ...present({ mode, message: summary ?? message, since: since ?? flipped }),
    ...(token && { token: { epoch: token.epoch, state: token.state, ...present({ forced: token.forced }) } }),
    ...(peer && { peer: { reachable: peer.reachable, ...present({ message: peer.message, desired: peer.desiredState }) } }),
    ...present({ wave: spec.wave, ready: conditions.find(({ type }) => type === "Ready")?.status, copied: copyTime(policy) }),
    ...(transition && { transition: { ...transitionOf(transition), steps: transition.steps.map(stepOf) } }),
    history: history.map(pastOf),
    workloads: settled(workloadStatuses),
    volumes: settled(volumeReplicationStatuses),
  };
}

type Stored = NonNullable<FailoverStatus["transition"]>;

function transitionOf(stored: Omit<Stored, "steps">): Transition {
  const { to, mode, startTime: start, completionTime: end, forced, lastSyncTime: lastSync, writesStoppedTime: writesStopped } = stored;
  return { to, mode, start, ...present({ end, forced, lastSync, writesStopped }) };
}

function stepOf({ name, state, startTime: start, completionTime: end, waitingFor }: Stored["steps"][number]): FailoverStep {
  if (!waitingFor) return { name, state, ...present({ start, end }) };
  const { kind, namespace, name: waited, message, others, since } = waitingFor;
  return { name, state, ...present({ start, end }), waitingFor: { kind, name: waited, message, ...present({ namespace, others, since }) } };
}

function pastOf(past: NonNullable<FailoverStatus["history"]>[number]): PastTransition {
  const { outcome, seconds, lossSeconds, steps = [] } = past;
  return {
    ...transitionOf(past),
    outcome,
    ...present({ seconds, lossSeconds }),
    steps: steps.map((step) => present({ name: step.name, seconds: step.seconds })),
  };
}

function settled(resources: readonly { readonly error?: string }[]): { settled: number; total: number } {
  return { settled: resources.filter(({ error }) => error === undefined || error === "").length, total: resources.length };
}

export function policyThing(key: string, scene: Scene): PolicyThing | undefined {
  const row = policyRow(key, scene);
  if (!row) return undefined;
  const { conditions, volumeReplicationStatuses = [], workloadStatuses = [] } = scene.get(FailoverPolicy, key)?.status ?? {};
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

function resourceOf(kind: string, resource: Resource): PolicyThing["resources"][number] {
  const { namespace, name, state, error, message, lastUpdateTime: since, lastSyncTime: lastSync } = resource;
  return present({ kind, namespace, name, state, error, message, since, lastSync });
}
