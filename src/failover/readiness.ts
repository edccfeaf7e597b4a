import { seconds } from "../util/duration.ts";
import { keyOf, type Condition } from "../api/kind.ts";
import type { VolumeReplication } from "./observe/external-kinds.ts";
import type { ObservedPolicy } from "./observe/observed.ts";

import type { SwitchPlan, Readiness, ReadyFinding } from "./steps/step.ts";
import { described } from "./steps/volume-state.ts";
import { foundVolumes } from "./steps/volume-groups.ts";
import { isComplete, type Managed } from "./policy/managed.ts";
import type { PolicyFailure } from "./policy/failure.ts";
import type { ReadyReason } from "./policy/reasons.ts";

/** The other site publishes the age of the copy in steps of this part of maxCopyAge. */
export const AGE_STEPS = 4;

interface Volumes {
  readonly findings: ReadyFinding[];
  /** When copies become too old. */
  readonly expiries: readonly number[];
}

/** Evaluated at rest. `obstacles`: what would reject a switch to the other role, or lose prior states. */
export function readiness(
  observed: ObservedPolicy,
  { to, steps, rejections, failures }: Pick<SwitchPlan, "to" | "steps" | "rejections" | "failures">,
  obstacles: readonly PolicyFailure[],
): Readiness {
  const isDone = steps.every(({ state }) => state === "Done");
  const isWrong = rejections.length > 0 || (failures.length > 0 && (isDone || isComplete(observed.policy, to)));
  if (!isDone && !isWrong) return { status: "Unknown", reason: "InProgress", findings: [] };
  const volumes = rejections.length > 0 ? { findings: [], expiries: [] } : volumeFindings(observed, to);
  const findings = [...[...rejections, ...failures, ...obstacles].map(asFinding), ...peerFindings(observed), ...volumes.findings];
  const sorted = once([...findings.filter(({ status }) => status === "False"), ...findings.filter(({ status }) => status === "Unknown")]);
  const next = Math.min(...volumes.expiries);
  return {
    status: sorted[0]?.status ?? "True",
    reason: sorted[0]?.reason ?? "Ready",
    findings: sorted,
    // One more, since it is too old only when it is older.
    ...(Number.isFinite(next) && { recheckAfterMs: Math.max(0, next - observed.now.getTime()) + 1 }),
  };
}

function asFinding({ kind, namespace, name, reason, field, message }: PolicyFailure): ReadyFinding {
  const object = { kind, ...(namespace !== undefined && { namespace }), name, ...(field !== undefined && { field }) };
  return { ...object, status: "False", reason, message };
}

function peerFindings({ policy, peer }: ObservedPolicy): ReadyFinding[] {
  if (!policy.spec.peer) return [];
  const { name, namespace } = policy.metadata;
  const own = { kind: "FailoverPolicy", ...(namespace !== undefined && { namespace }), name, field: "spec.peer" };
  if (!peer) return [{ ...own, status: "Unknown", reason: "PeerNotAsked", message: "The other site has not been read yet" }];
  if (!peer.reachable && peer.field !== undefined) {
    return [{ ...own, field: peer.field, status: "False", reason: "PeerInvalid", message: peer.message }];
  }
  if (!peer.reachable) {
    const message = `The other site's policy cannot be used: ${peer.message}; check the site, the network and Secret ${policy.spec.peer.kubeconfigSecret.name}`;
    return [{ ...own, status: "False", reason: "PeerUnreachable", message }];
  }
  if (!peer.exists) {
    return [
      { ...own, status: "False", reason: "PeerMissing", message: "The other site has no such policy; create it there with spec.peer" },
    ];
  }
  return peer.stranger === undefined ? [] : [{ ...own, status: "False", reason: "PeerNamesOther", message: peer.stranger }];
}

function volumeFindings(observed: ObservedPolicy, to: SwitchPlan["to"]): Volumes {
  const volumes = foundVolumes(observed);
  if (volumes.length === 0) return { findings: [], expiries: [] };
  return to === "primary" ? copiedFromHere(observed, volumes) : copiedToHere(observed, volumes);
}

type FoundVolume = { readonly resource: Managed; readonly object: VolumeReplication };

/** On a primary csi-addons reports whether a volume is replicated, and when it was last copied. */
function copiedFromHere({ policy, now }: ObservedPolicy, volumes: readonly FoundVolume[]): Volumes {
  const { maxCopyAge } = policy.spec;
  const limitMs = (seconds(maxCopyAge) ?? Infinity) * 1000;
  const expiries: number[] = [];
  const findings = volumes.flatMap(({ resource: { kind, namespace, name }, object }): ReadyFinding[] => {
    const all: ReadyFinding[] = [];
    const find = (status: "False" | "Unknown", reason: ReadyReason, message: string) =>
      all.push({ kind, namespace, name, status, reason, message });
    const replicating = conditionOf(object, "Replicating");
    const expiry = Date.parse(object.status?.lastSyncTime ?? "") + limitMs;
    if (Number.isFinite(expiry) && expiry >= now.getTime()) expiries.push(expiry);
    if (replicating?.status === "False") {
      find("False", "NotReplicating", `It is not replicated: ${described(replicating)}; check the storage's replication`);
    }
    if (expiry < now.getTime()) {
      find("False", "CopyTooOld", `It was last copied more than ${maxCopyAge} ago (spec.maxCopyAge); check the storage's replication`);
    }
    if (maxCopyAge !== undefined && Number.isNaN(expiry)) {
      find("Unknown", "CopyAgeUnknown", "csi-addons does not report when it was last copied");
    }
    if (replicating?.status === "Unknown") find("Unknown", "NotObserved", `Replication is not observed: ${described(replicating)}`);
    if (!replicating && maxCopyAge === undefined) {
      const fix = "use csi-addons 0.13 or newer, or set spec.maxCopyAge";
      find("Unknown", "NotObserved", `csi-addons does not report condition Replicating; ${fix}`);
    }
    return all;
  });
  return { findings, expiries };
}

/** On a secondary the other site knows more; without it, only that something is being copied is visible. */
function copiedToHere({ policy, peer, now }: ObservedPolicy, volumes: readonly FoundVolume[]): Volumes {
  const { maxCopyAge } = policy.spec;
  const { name, namespace } = policy.metadata;
  const findings: ReadyFinding[] = [];
  const find = (status: "False" | "Unknown", reason: ReadyReason, message: string) =>
    findings.push({ kind: "FailoverPolicy", ...(namespace !== undefined && { namespace }), name, status, reason, message });
  if (policy.spec.peer) {
    // An unreachable peer is a finding of its own.
    if (!peer?.reachable || !peer.exists) return { findings, expiries: [] };
    if (peer.desiredState !== "primary") {
      find("Unknown", "NotObserved", "Neither site is primary, so nothing is copied");
      return { findings, expiries: [] };
    }
  }
  const { lastSyncTime, replicating } = (peer?.reachable && peer.exists && peer.copy) || {};
  const limitMs = (seconds(maxCopyAge) ?? Infinity) * 1000 * (1 + 1 / AGE_STEPS);
  const expiry = Date.parse(lastSyncTime ?? "") + limitMs;
  if (replicating === "False") {
    find("False", "NotReplicating", "The other site reports that a volume is not replicated; check its policy and the storage");
  }
  if (expiry < now.getTime()) {
    find("False", "CopyTooOld", `The copy here is older than ${maxCopyAge} (spec.maxCopyAge); check the policy at the other site`);
  }
  if (maxCopyAge !== undefined && lastSyncTime === undefined) {
    const fix = policy.spec.peer ? "set spec.maxCopyAge there too" : "set spec.peer, so that the other site can be read";
    find("Unknown", "CopyAgeUnknown", `Nothing reports how old the copy here is; ${fix}`);
  }
  const isObserved = replicating !== undefined || maxCopyAge !== undefined || volumes.every(({ object }) => isReceiving(object));
  if (!isObserved || replicating === "Unknown") find("Unknown", "NotObserved", "Nothing reports that the volumes are copied to this site");
  return { findings, expiries: Number.isFinite(expiry) && expiry >= now.getTime() ? [expiry] : [] };
}

/** csi-addons' terms for a volume that the other side replicates to. */
function isReceiving(volume: VolumeReplication): boolean {
  return conditionOf(volume, "Resyncing")?.status === "True";
}

function conditionOf({ metadata, status }: VolumeReplication, type: string): Condition | undefined {
  const condition = status?.conditions?.find((one) => one.type === type);
  return condition?.observedGeneration === undefined || condition.observedGeneration === metadata.generation ? condition : undefined;
}

/** An obstacle may apply to both roles. */
function once(findings: readonly ReadyFinding[]): ReadyFinding[] {
  const byText = new Map(findings.map((finding) => [`${finding.kind} ${keyOf({ metadata: finding })} ${finding.message}`, finding]));
  return [...byText.values()];
}
