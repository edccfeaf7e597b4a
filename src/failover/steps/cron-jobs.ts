import { Job } from "../../api/core/job.ts";
import type { Role } from "../../api/failover/failover-policy.ts";
import {
  called,
  change,
  found,
  listed,
  mark,
  namespacesOf,
  sightings,
  suspendState,
  unfoundState,
  unseen,
  type Finding,
} from "../observe/resources.ts";
import { PRIOR, recall, remember, stamp } from "./prior-annotation.ts";
import type { Observed } from "../observe/observed.ts";
import { allWriters, podWait } from "./writers.ts";
import type { ResourceState, Wait } from "./step.ts";

const KIND = ["CronJob"] as const;

/** No run begins any more, and those that have begun stop: a suspended Job ends its pods and goes on later. */
export function suspendCronJobs(observed: Observed, fence: string | undefined): Finding {
  const { policy } = observed;
  const cronJobs = found(observed, KIND).flatMap(({ object }) => {
    const name = called("CronJob", object);
    if (object.spec.suspend === true) return mark(observed.kindOf("CronJob"), object, fence, name);
    const annotations = { ...remember(policy, object, "suspend", object.spec.suspend ?? null), ...stamp(fence) };
    return [change(observed.kindOf("CronJob"), object, annotations, { suspend: true }, `suspend ${name}`)];
  });
  const { items, waits } = jobsOf(observed);
  const jobs = items.filter(isUnfinished).flatMap((job) => {
    if (job.spec.suspend === true) return mark(Job, job, fence, called("Job", job));
    const annotations = { ...remember(policy, job, "suspend", job.spec.suspend ?? null), ...stamp(fence) };
    return [change(Job, job, annotations, { suspend: true }, `suspend ${called("Job", job)}, a run of CronJob ${cronJobOf(job)}`)];
  });
  return { writes: [...cronJobs, ...jobs], waits: [...unseen(observed, KIND), ...waits] };
}

export function resumeCronJobs(observed: Observed): Finding {
  const writes = found(observed, KIND).flatMap(({ object }) => {
    const memory = recall(object, "suspend");
    if (memory.is !== "there") return [];
    const spec = object.spec.suspend === true ? { suspend: memory.prior } : {};
    return [change(observed.kindOf("CronJob"), object, { [PRIOR]: null }, spec, `resume ${called("CronJob", object)}`)];
  });
  return { writes, waits: unseen(observed, KIND) };
}

export function resumeJobs(observed: Observed): Finding {
  const { items, waits } = jobsOf(observed);
  const writes = items.flatMap((job) => {
    const memory = recall(job, "suspend");
    if (memory.is !== "there") return [];
    const spec = job.spec.suspend === true ? { suspend: memory.prior } : {};
    return [change(Job, job, { [PRIOR]: null }, spec, `resume ${called("Job", job)}`)];
  });
  return { writes, waits };
}

/** The pods of runs that have not ended yet. */
export function runningJobs(observed: Observed): Wait[] {
  const { items, waits } = jobsOf(observed);
  const names = new Set(items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  const pods = namespacesOf(cronJobs(observed)).flatMap((namespace) => {
    const { items: all, waits: unknown } = allWriters(observed, namespace);
    const running = all.flatMap((pod) => {
      const job = pod.metadata.ownerReferences?.find(({ kind }) => kind === "Job")?.name;
      return job !== undefined && names.has(`${namespace}/${job}`) ? [podWait(pod, `belongs to Job ${job}`, observed.now)] : [];
    });
    return unknown.concat(running);
  });
  return [...waits, ...pods];
}

export function cronJobStates(observed: Observed, to: Role): ResourceState[] {
  return sightings(observed, KIND).map((sighting) => unfoundState(sighting) ?? suspendState(sighting, to));
}

function cronJobs({ managed }: Observed) {
  return managed.filter(({ kind }) => kind === "CronJob");
}

/** The runs of the policy's CronJobs. */
export function jobsOf(observed: Observed): { items: Job[]; waits: Wait[] } {
  const names = new Set(cronJobs(observed).map(({ namespace, name }) => `${namespace}/${name}`));
  const lists = namespacesOf(cronJobs(observed)).map((namespace) => listed(observed.jobs(namespace), "Job", namespace));
  return {
    items: lists.flatMap(({ items }) => items.filter((job) => names.has(`${job.metadata.namespace}/${cronJobOf(job)}`))),
    waits: lists.flatMap(({ waits }) => waits),
  };
}

function cronJobOf({ metadata }: Job): string | undefined {
  return metadata.ownerReferences?.find(({ kind }) => kind === "CronJob")?.name;
}

function isUnfinished({ status, metadata }: Job): boolean {
  const ended = (status?.conditions ?? []).some(
    ({ type, status: value }) => value === "True" && (type === "Complete" || type === "Failed"),
  );
  return !ended && metadata.deletionTimestamp === undefined;
}
