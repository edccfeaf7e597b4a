import { awaitWorkloads } from "./availability.ts";
import { resumeCronJobs, resumeJobs } from "./cron-jobs.ts";
import { updateDns } from "./dns.ts";
import { resumeArgo } from "./argo.ts";
import { resumeFlux } from "./flux.ts";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { both, waitOf } from "./resources.ts";
import { isComplete, wasPrimary } from "../policy/managed.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import { hasToken, isForced, type TokenDecision } from "../token/token.ts";
import { awaitVolumes, promoteVolumes, receivingVolumes, failedVolumeWaits, unknownVolumes, unsharedVolumes } from "./volumes.ts";
import { restoreWorkloads } from "./workloads.ts";
import type { PolicyFailure, Wait } from "../policy/failure.ts";
import { type SwitchStep, type StepInput, stepOf } from "./step.ts";

/** Volumes first; workloads return when every volume is known to be writable. `fence`: that of a forced takeover. */
export function toPrimary(
  observed: ObservedPolicy,
  mode: "safe" | "unsafe",
  token: TokenDecision | undefined,
  fence: SwitchStep | undefined,
): SwitchStep[] {
  const safe = mode === "safe";
  // At rest, workloads, CronJobs and Flux belong to their owners again, and only the state of volumes is observed.
  const resting = isComplete(observed.policy, "primary");
  const unless = (find: () => StepInput): StepInput => (resting ? { writes: [], waits: [] } : find());

  const promotion = unless(() => promoteVolumes(observed, mode));
  const problems = safe
    ? [...failedVolumeWaits(observed, "primary"), ...unsharedPromotions(observed).map(waitOf), ...receiving(observed)]
    : [];
  const promoting = stepOf(
    "PromoteVolumes",
    { ...promotion, waits: promotion.writes.length > 0 ? [...promotion.waits, ...problems] : promotion.waits },
    { gated: safe },
  );
  // No traffic is sent to a site with a missing volume.
  const early = { pending: safe && !resting && (problems.length > 0 || unknownVolumes(observed).length > 0) };
  const dns = stepOf("UpdateDNS", updateDns(observed, "primary"), early);
  const cronJobs = stepOf(
    "ResumeCronJobs",
    unless(() => resumeCronJobs(observed)),
    early,
  );

  const arriving = stepOf(
    "AwaitVolumes",
    { writes: [], waits: awaitVolumes(observed, "primary", resting) },
    { pending: safe && promoting.state !== "Done" },
  );
  const late = { pending: safe && arriving.state !== "Done" };
  const jobs = stepOf(
    "ResumeJobs",
    unless(() => resumeJobs(observed)),
    late,
  );
  const flux = stepOf(
    "ResumeFlux",
    unless(() => both(resumeFlux(observed), resumeArgo(observed))),
    late,
  );
  const workloads = stepOf(
    "RestoreWorkloads",
    unless(() => restoreWorkloads(observed, mode)),
    late,
  );

  const before = [promoting, dns, cronJobs, arriving, jobs, flux, workloads];
  const awaiting = stepOf("AwaitWorkloads", { writes: [], waits: wasAvailable(observed.policy) ? [] : awaitWorkloads(observed) });
  const available: SwitchStep = before.every(({ state }) => state === "Done") ? awaiting : { ...awaiting, state: "Pending" };
  // In unsafe mode availability is only reported.
  const steps = safe ? [...before, available] : before;
  if (!hasToken(observed.policy)) return steps;
  const taking = takeToken(observed, token);
  const gates = fence ? [taking, taking.state === "Done" ? fence : asPending(fence)] : [taking];
  return [...gates, ...(gates.every(({ state }) => state === "Done") ? steps : steps.map(asPending))];
}

/** It was available once as this primary, and nothing has changed since: its pods are their owners' business. */
function wasAvailable({ status }: FailoverPolicy): boolean {
  return status?.transition?.to === "primary" && status.transition.completionTime !== undefined;
}

/** Volumes that only one site names are promoted only by a forced takeover. */
export function unsharedPromotions(observed: ObservedPolicy): PolicyFailure[] {
  const { policy } = observed;
  const isTakeover = policy.status?.token?.forced !== undefined && !wasPrimary(policy);
  return isForced(policy) || isTakeover ? [] : unsharedVolumes(observed);
}

/** With a token the other site's release says more than the volume does. */
function receiving(observed: ObservedPolicy): Wait[] {
  return hasToken(observed.policy) || isForced(observed.policy) ? [] : receivingVolumes(observed);
}

function takeToken({ policy }: ObservedPolicy, token: TokenDecision | undefined): SwitchStep {
  const step = { name: "TakeToken" as const, writes: [] };
  if (!token) {
    const { name = policy.metadata.name, namespace = policy.metadata.namespace ?? "" } = policy.spec.peer ?? {};
    return {
      ...step,
      state: "Wait",
      waits: [{ kind: "FailoverPolicy", namespace, name, message: "The policy at the other site has not been read yet" }],
    };
  }
  // An outranked site releases at once, even if it has nothing to stop.
  const next = token.take ?? token.release;
  if (next) return { ...step, state: "Act", token: next, waits: token.waits };
  return { ...step, state: token.mayWrite ? "Done" : "Wait", waits: token.mayWrite ? [] : token.waits };
}

function asPending(step: SwitchStep): SwitchStep {
  return step.state === "Done" ? step : { ...step, state: "Pending" };
}
