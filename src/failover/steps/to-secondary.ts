import { MANAGED_KINDS } from "../../api/failover/policy-fields.ts";
import { runningJobs, suspendCronJobs } from "./cron-jobs.ts";
import { updateDns } from "./dns.ts";
import { busyArgo, suspendArgo } from "./argo.ts";
import { busyFlux, suspendFlux } from "./flux.ts";
import { both, unreadable } from "./resources.ts";
import { modeOf } from "../policy/managed.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import { fenceAnnotationOf, hasToken, type TokenDecision } from "../token/token.ts";
import { awaitVolumes, demoteVolumes, volumesToWaitFor, failedVolumeWaits, uncopiedVolumes, volumesInUse } from "./volumes.ts";
import { unreadableVolumes } from "./volume-groups.ts";
import { scaleDown, runningWorkloads } from "./workloads.ts";
import type { Wait } from "../policy/failure.ts";
import { type SwitchStep, stepOf } from "./step.ts";

/** All writers are stopped first; the volumes are demoted only when the writers are known to have stopped. */
export function toSecondary(observed: ObservedPolicy, mode: "safe" | "unsafe", token: TokenDecision | undefined): SwitchStep[] {
  const fence = fenceAnnotationOf(observed.policy);
  const safe = mode === "safe";

  const flux = stepOf("SuspendFlux", both(suspendFlux(observed, fence), suspendArgo(observed, fence)));
  const dns = stepOf("UpdateDNS", updateDns(observed, "secondary"));
  const cronJobs = stepOf("SuspendCronJobs", suspendCronJobs(observed, fence));
  // Flux would restore what it still manages.
  const scaling = stepOf("ScaleDown", scaleDown(observed, mode, fence), { pending: safe && flux.waits.length > 0 });

  const isRequested = [flux, cronJobs, scaling].every(({ state }) => state === "Done");
  const termination = stepOf("AwaitTermination", { writes: [], waits: [...writersLeft(observed), ...unreadable(observed, MANAGED_KINDS)] });
  const awaiting: SwitchStep = safe && !isRequested ? { ...termination, state: "Pending" } : termination;

  const demotion = demoteVolumes(observed, fence);
  const inUse =
    safe && demotion.writes.length > 0
      ? [...volumesInUse(observed), ...volumesToWaitFor(observed), ...failedVolumeWaits(observed, "secondary")]
      : [];
  const demoting = stepOf(
    "DemoteVolumes",
    { ...demotion, waits: [...demotion.waits, ...inUse] },
    { pending: safe && awaiting.state !== "Done", gated: safe },
  );
  const arriving = stepOf(
    "AwaitVolumes",
    { writes: [], waits: awaitVolumes(observed, "secondary") },
    { pending: safe && demoting.state !== "Done" },
  );

  const steps = [flux, dns, cronJobs, scaling, awaiting, demoting, arriving];
  if (!hasToken(observed.policy)) return steps;
  if (safe) steps.push(awaitCopy(observed, arriving.state !== "Done"));
  const release = releaseToken(observed, token);
  const isEarly = safe && release.state === "Wait" && steps.some(({ state }) => state !== "Done");
  return [...steps, isEarly ? { ...release, state: "Pending" } : release];
}

/** No writer is left or can start. */
export function writesStopped(observed: ObservedPolicy): boolean {
  const fence = fenceAnnotationOf(observed.policy);
  const findings = [
    suspendFlux(observed, fence),
    suspendArgo(observed, fence),
    suspendCronJobs(observed, fence),
    scaleDown(observed, "safe", fence),
  ];
  const left = [...findings.flatMap(({ waits }) => waits), ...writersLeft(observed), ...volumesInUse(observed)];
  return findings.every(({ writes }) => writes.length === 0) && left.length === 0 && unreadableVolumes(observed).length === 0;
}

function writersLeft(observed: ObservedPolicy): Wait[] {
  return [...busyFlux(observed), ...busyArgo(observed), ...runningWorkloads(observed), ...runningJobs(observed)];
}

/** While the token is held: afterwards the other site is primary, and its writes are replicated here. */
function awaitCopy(observed: ObservedPolicy, pending: boolean): SwitchStep {
  const ownsToken = observed.policy.status?.token?.state === "Held";
  return stepOf("AwaitCopy", { writes: [], waits: ownsToken ? uncopiedVolumes(observed) : [] }, { pending });
}

/** The token logic decides when to release; here it is only the last step. */
function releaseToken({ policy }: ObservedPolicy, token: TokenDecision | undefined): SwitchStep {
  if (token?.release) return { name: "ReleaseToken", state: "Act", writes: [], token: token.release, waits: [] };
  if (policy.status?.token?.state !== "Held") return { name: "ReleaseToken", state: "Done", writes: [], waits: [] };
  const { name, namespace = "" } = policy.metadata;
  const message = `Epoch ${policy.status.token.epoch} is released when all writers here have stopped${modeOf(policy.spec) === "unsafe" ? "" : " and the volumes are copied"}`;
  return { name: "ReleaseToken", state: "Wait", writes: [], waits: [{ kind: "FailoverPolicy", namespace, name, message }] };
}
