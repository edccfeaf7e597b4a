import { FailoverPolicy, type FailoverStatus } from "../api/failover/failover-policy.ts";
import { explainer, type Explainer, type Dependency, type HealthStatement, type Component } from "../api/health.ts";
import type { Condition } from "../api/kind.ts";
import { agentComponent } from "../kube/members/agent-health.ts";
import { failureText } from "./policy/failure.ts";
import type { ReadyReason } from "./policy/reasons.ts";

type StatusFailure = NonNullable<FailoverStatus["failures"]>[number];

interface PolicyProblem {
  readonly own: Pick<HealthStatement, "reason" | "message" | "ownFault" | "fix">;
  readonly causes: readonly HealthStatement[];
}

export function edges(): readonly Explainer[] {
  return [policies];
}

const policies = explainer(FailoverPolicy, function* (policy): Iterable<HealthStatement> {
  const { status = {} } = policy;
  const controller: Dependency = { component: { kind: "Controller", name: "plumbline" } };
  const conditions = new Map((status.conditions ?? []).map((condition) => [condition.type, condition]));
  const error = conditions.get("Error");
  const wrong = error?.status === "True" ? failureProblems(policy, error) : readinessProblems(policy, conditions.get("Ready"));
  const found = [...wrong, ...waiting(policy), ...peerProblem(policy)];
  for (const { causes } of found) yield* causes;

  const worst = found.find(({ own }) => own.ownFault) ?? found[0];
  const isUnready = error?.status !== "True" && wrong.length > 0;
  const since = conditions.get(error?.status === "True" ? "Error" : isUnready ? "Ready" : "Complete")?.lastTransitionTime;
  const isThere = conditions.get("Complete")?.status === "True" || status.currentState === policy.spec.desiredState;
  const healthy = status.summary === undefined ? {} : { message: status.summary };
  yield {
    component: componentOf(policy),
    domain: "failover",
    health: !worst ? "Healthy" : isThere || error?.status !== "True" ? "Degraded" : "Down",
    ...(worst ? { ...worst.own, ...(since !== undefined && { since }) } : healthy),
    dependencies: [controller, ...found.flatMap(({ causes: [nearest] }) => (nearest ? [{ component: nearest.component }] : []))],
  };
});

function componentOf({ metadata: { namespace = "", name } }: FailoverPolicy): Component {
  return { kind: "FailoverPolicy", namespace, name };
}

function planCommand({ metadata: { namespace, name } }: FailoverPolicy): string {
  return `plumbline failover plan ${name} -n ${namespace}`;
}

/** Resources with their failures, or fields of the policy. */
function failureProblems(policy: FailoverPolicy, { reason, message, lastTransitionTime: since }: Condition): PolicyProblem[] {
  // A status of an earlier version has only the condition.
  const { failures = [{ ...componentOf(policy), reason, message }] } = policy.status ?? {};
  return failures.map((failure): PolicyProblem => {
    const own = { reason: failure.reason, message: failureText(failure) };
    const fix = fixFor(policy, failure);
    // A status may have been edited: a failure without an object is one of the policy.
    if (failure.kind === "FailoverPolicy" || failure.name === "") return { own: { ...own, ownFault: true, fix }, causes: [] };
    const details = failure.field === undefined ? failure.message : `${failure.field}: ${failure.message}`;
    const { component } = fix.change;
    return { own, causes: [{ component, domain: "failover", health: "Down", ...own, message: details, since, ownFault: true, fix }] };
  });
}

/** Reasons of Ready that the other site's own problem already explains. */
const ABOUT_PEER: ReadonlySet<string> = new Set<ReadyReason>(["PeerUnreachable", "PeerMissing"]);

/** Why a working site could not be switched. What was not observed is no problem. */
function readinessProblems(policy: FailoverPolicy, ready: Condition | undefined): PolicyProblem[] {
  if (ready?.status !== "False") return [];
  return failureProblems(policy, ready)
    .filter(({ own }) => !ABOUT_PEER.has(own.reason ?? ""))
    .map(({ own, causes }) => ({ own, causes: causes.map((one) => ({ ...one, health: "Degraded" })) }));
}

const FIXES: Partial<Record<string, string>> & Partial<Record<ReadyReason, string>> = {
  NotFound: "create it, or remove it from the policy",
  KindNotInstalled: "install the CRD of the kind, or remove it from the policy",
  Forbidden: "grant the controller access; the roles of the chart include it",
  ReadFailed: "fix the read error in the message",
  Conflict: "remove it from one of the two policies",
  Refused: "change what the message names",
  VolumeError: "check the storage driver's status for the volume",
  Drifted: "make it primary again, or change the policy",
  NotAvailable: "check its pods, Events and conditions",
  PriorStateLost: "restore the value that the message names, or set the annotation again",
  FenceFailed: "fix what the storage driver reports; csi-addons retries",
  NotReplicating: "check the storage's replication to the other site",
  CopyTooOld: "check the storage's replication to the other site",
  OwnedByGitOps: "exempt the volume from what applies it, as the message says",
  OwnerNotNamed: "name its owner in spec.managedResources, so that it is suspended and resumed with the site",
  VolumeMismatch: "name the same volumes in the policies of both sites",
  NotPermitted: "set the annotation that the message names on the namespace",
  WriteFailed: "fix the write error in the message",
};

/** By the field of the policy. */
const POLICY_FIXES: Readonly<Record<string, { readonly field?: string; readonly text: string }>> = {
  PeerRemoved: { field: "spec.peer", text: "set spec.peer again, or delete the token with `plumbline failover forget-peer`" },
  PeerNamesOther: { field: "spec.peer", text: "set spec.peer of the policy at the other site to this policy" },
  VolumeMismatch: { field: "spec.managedResources", text: "name the same volumes in the policies of both sites" },
  RevertedByOwner: {
    field: "spec.desiredState",
    text: "set the role in Git, or confirm the role that Git has with the command in the message",
  },
  Restored: { field: "status.token", text: "set desiredState secondary here, or force it if the newest data is here" },
  SplitBrain: { text: "set desiredState secondary at the site that must not write" },
  NotReplicating: { text: "check the storage's replication, and the policy at the other site" },
  CopyTooOld: { text: "check the storage's replication, and the policy at the other site" },
};

function fixFor(policy: FailoverPolicy, { kind, namespace, name, field, reason }: StatusFailure) {
  const command = planCommand(policy);
  if (kind !== "FailoverPolicy") {
    const component: Component = { kind, ...(namespace !== undefined && { namespace }), name };
    return { text: FIXES[reason] ?? `see what is wrong with the ${kind}, in the message`, change: { component }, command };
  }
  const known = POLICY_FIXES[reason]?.field === field ? POLICY_FIXES[reason]?.text : undefined;
  const text = known ?? (field === undefined ? "run the command to see what blocks it" : `change ${field}`);
  return { text, change: { component: componentOf(policy), ...(field !== undefined && { field }) }, command };
}

const STEP_FIXES: Readonly<Record<string, string>> = {
  AwaitCopy:
    "check the replication link between the storages, and that the csi-addons controller runs; while the link is down, only a forced switch at the other site works, and it loses what was not copied",
};

/** By the kind of what a step waits for. Waiting for one of these is a problem unless the controller says that it is on time. */
const WAIT_FIXES: Readonly<Record<string, string>> = {
  Pod: "check on its node why it does not end; if the node is off, taint it node.kubernetes.io/out-of-service",
  VolumeReplication:
    "check that the csi-addons controller runs, and what the storage driver reports in the status and Events of the VolumeReplication",
  VolumeGroupReplication: "check what the storage driver reports in the status and Events of the group's VolumeReplication",
  VolumeAttachment: "check why the volume is not detached, and whether its node is up",
};

/** A switch that waits for something that does not happen by itself: a volume that does not arrive, a pod that should have ended. */
function waiting(policy: FailoverPolicy): PolicyProblem[] {
  const { transition, summary } = policy.status ?? {};
  if (transition?.completionTime !== undefined) return [];
  const step = transition?.steps.find(({ state, waitingFor }) => state !== "Done" && waitingFor);
  const wait = step?.waitingFor;
  if (!step || !wait || wait.onTime || !(wait.kind in WAIT_FIXES || wait.unread)) return [];
  const { kind, namespace, name, node, message, since } = wait;
  const component: Component = { kind, ...(namespace !== undefined && { namespace }), name };
  const text = STEP_FIXES[step.name] ?? WAIT_FIXES[kind] ?? "check why the step does not finish";
  const cause: HealthStatement = {
    component,
    domain: "failover",
    health: "Degraded",
    reason: "Waiting",
    message,
    ...(since !== undefined && { since }),
    dependencies: node === undefined ? [] : [{ component: agentComponent(node) }, { component: { kind: "Node", name: node } }],
    fix: { text, change: { component }, command: planCommand(policy) },
  };
  return [{ own: { reason: step.name, message: summary ?? message }, causes: [cause] }];
}

/** Problems of the other site: it cannot be read, has no such policy, or does not release. */
function peerProblem(policy: FailoverPolicy): PolicyProblem[] {
  const { metadata, spec, status = {} } = policy;
  const { peer, transition } = status;
  // What is wrong with this policy itself is its Error.
  if (!spec.peer || !peer || peer.field !== undefined) return [];
  const secret = spec.peer.kubeconfigSecret.name;
  const wait = transition?.steps.find(({ name, state }) => name === "TakeToken" && state !== "Done")?.waitingFor;
  const problem = (reason: string, message: string, text: string): PolicyProblem[] => {
    const cause: HealthStatement = {
      component: { kind: "Site", namespace: metadata.namespace ?? "", name: secret },
      domain: "failover",
      // Until a takeover is wanted, the state of the other site is only unknown.
      health: wait ? "Down" : "Unknown",
      reason,
      message,
      ...(wait?.since !== undefined && { since: wait.since }),
      fix: { text, change: { component: componentOf(policy), field: "spec.peer" }, command: planCommand(policy) },
    };
    return [{ own: { reason, message: wait?.message ?? message }, causes: [cause] }];
  };
  if (!peer.reachable) {
    const text = `check that the other site runs and that Secret ${secret} points to it; if the other site has stopped writing, set spec.force`;
    return problem("PeerUnreachable", `Cannot read the other site: ${peer.message ?? ""}`, text);
  }
  if (peer.desiredState === undefined) return problem("PeerMissing", peer.message ?? "", "create the policy at the other site");
  if (!wait || peer.desiredState !== "primary") return [];
  return problem("PeerWantsPrimary", wait.message, "set desiredState secondary in the policy at the other site");
}
