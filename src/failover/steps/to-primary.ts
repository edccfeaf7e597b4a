import { awaitWorkloads } from "./availability.ts";
import { resumeCronJobs, resumeJobs } from "./cron-jobs.ts";
import { updateDns } from "./dns.ts";
import { resumeArgo } from "./argo.ts";
import { fencing } from "./fence.ts";
import { resumeFlux } from "./flux.ts";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { both, type Finding, waitOf } from "../observe/resources.ts";
import { atRest, wasPrimary } from "../managed.ts";
import type { Observed } from "../observe/observed.ts";
import { stepOf } from "./build-step.ts";
import type { PolicyFailure, Step, Wait } from "./step.ts";
import { hasToken, isForced, type TokenDecision } from "../token/token.ts";
import { awaitVolumes, promoteVolumes, receivingVolumes, troubledVolumes, unknownVolumes, unsharedVolumes } from "./volumes.ts";
import { restoreWorkloads } from "./workloads.ts";

/** Volumes first; what needs them comes back when every one of them is known to be writable. */
export function toPrimary(observed: Observed, mode: "safe" | "unsafe", token: TokenDecision | undefined): Step[] {
  const safe = mode === "safe";
  // At rest, workloads, CronJobs and Flux are their owners' business again, and of the volumes only the state is looked at.
  const resting = atRest(observed.policy, "primary");
  const unless = (find: () => Finding): Finding => (resting ? { writes: [], waits: [] } : find());

  const promotion = unless(() => promoteVolumes(observed, mode));
  const troubles = safe
    ? [...troubledVolumes(observed, "primary"), ...unsharedPromotions(observed).map(waitOf), ...receiving(observed)]
    : [];
  const promoting = stepOf(
    "PromoteVolumes",
    { ...promotion, waits: promotion.writes.length > 0 ? [...promotion.waits, ...troubles] : promotion.waits },
    { gated: safe },
  );
  // Nobody is led to a site of which a volume is not even there.
  const early = { pending: safe && !resting && (troubles.length > 0 || unknownVolumes(observed).length > 0) };
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
  const available: Step = before.every(({ state }) => state === "Done") ? awaiting : { ...awaiting, state: "Pending" };
  // Without waiting for anything, availability is only reported.
  const steps = safe ? [...before, available] : before;
  if (!hasToken(observed.policy)) return steps;
  const taking = takeToken(observed, token);
  const fenced = fencing(observed, token, promotion.writes.length > 0)?.step;
  const gates = fenced ? [taking, taking.state === "Done" ? fenced : held(fenced)] : [taking];
  return [...gates, ...(gates.every(({ state }) => state === "Done") ? steps : steps.map(held))];
}

/** It was available once as this primary, and nothing has been changed since: what its pods do now is their owners' business. */
function wasAvailable({ status }: FailoverPolicy): boolean {
  return status?.transition?.to === "primary" && status.transition.completionTime !== undefined;
}

/** Volumes that only one site names are not promoted, unless by a takeover that a person has forced. */
export function unsharedPromotions(observed: Observed): PolicyFailure[] {
  const { policy } = observed;
  const isTakeover = policy.status?.token?.forced !== undefined && !wasPrimary(policy);
  return isForced(policy) || isTakeover ? [] : unsharedVolumes(observed);
}

/** With a token the other site's release tells more than the volume does. */
function receiving(observed: Observed): Wait[] {
  return hasToken(observed.policy) || isForced(observed.policy) ? [] : receivingVolumes(observed);
}

function takeToken({ policy }: Observed, token: TokenDecision | undefined): Step {
  const step = { name: "TakeToken" as const, writes: [] };
  if (!token) {
    const { name = policy.metadata.name, namespace = policy.metadata.namespace ?? "" } = policy.spec.peer ?? {};
    return {
      ...step,
      state: "Wait",
      waits: [{ kind: "FailoverPolicy", namespace, name, message: "The policy at the other site was not read yet" }],
    };
  }
  // What is let go because the other site holds more is let go at once, also where nothing has to be put down first.
  const next = token.take ?? token.release;
  if (next) return { ...step, state: "Act", token: next, waits: token.waits };
  return { ...step, state: token.mayWrite ? "Done" : "Wait", waits: token.mayWrite ? [] : token.waits };
}

function held(step: Step): Step {
  return step.state === "Done" ? step : { ...step, state: "Pending" };
}
