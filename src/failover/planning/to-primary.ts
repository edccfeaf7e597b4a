import { resumeCronJobs, resumeJobs } from "./cron-jobs.ts";
import { updateDns } from "../dns.ts";
import { resumeFlux } from "../flux.ts";
import { type Finding, waitOf } from "./looking.ts";
import { atRest } from "../managed.ts";
import type { Observed } from "../observed.ts";
import { stepOf } from "./stepping.ts";
import type { PolicyFailure, Step, Wait } from "../step.ts";
import { hasToken, isForced, type TokenDecision } from "../token/token.ts";
import { awaitVolumes, promoteVolumes, receivingVolumes, troubledVolumes, unknownVolumes, unsharedVolumes } from "../volumes.ts";
import { restoreWorkloads } from "../workloads.ts";

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
    unless(() => resumeFlux(observed)),
    late,
  );
  const workloads = stepOf(
    "RestoreWorkloads",
    unless(() => restoreWorkloads(observed, mode)),
    late,
  );

  const steps = [promoting, dns, cronJobs, arriving, jobs, flux, workloads];
  if (!hasToken(observed.policy)) return steps;
  const taking = takeToken(observed, token);
  return [taking, ...(taking.state === "Done" ? steps : steps.map(held))];
}

/** Volumes that only one site names are not promoted, unless a person has forced it. */
export function unsharedPromotions(observed: Observed): PolicyFailure[] {
  const { policy } = observed;
  return isForced(policy) || policy.status?.token?.forced !== undefined ? [] : unsharedVolumes(observed);
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
