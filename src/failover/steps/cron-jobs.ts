import { priorStateAnnotation } from "../../api/annotations.ts";
import { Job } from "../../api/core/job.ts";
import type { Role } from "../../api/failover/failover-policy.ts";
import {
  kindAndName,
  change,
  foundResources,
  itemsOf,
  stampOnly,
  namespacesOf,
  readResources,
  suspendState,
  missingState,
  unreadable,
} from "./resources.ts";
import { readPrior, priorAnnotation, stamp } from "./prior-annotation.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import { allWriters, podWait } from "./writers.ts";
import type { Wait } from "../policy/failure.ts";
import type { ResourceState, StepInput } from "./step.ts";

const KIND = ["CronJob"] as const;

/** No run begins any more, and running ones stop: a suspended Job ends its pods and continues later. */
export function suspendCronJobs(observed: ObservedPolicy, fence: string | undefined): StepInput {
  const { policy } = observed;
  const cronJobs = foundResources(observed, KIND).flatMap(({ object }) => {
    const name = kindAndName("CronJob", object);
    if (object.spec.suspend === true) return stampOnly(observed.kindOf("CronJob"), object, fence, name);
    const annotations = { ...priorAnnotation(policy, object, "suspend", object.spec.suspend ?? null), ...stamp(fence) };
    return [change(observed.kindOf("CronJob"), object, annotations, { suspend: true }, `suspend ${name}`)];
  });
  const { items, waits } = jobsOf(observed);
  const jobs = items.filter(isUnfinished).flatMap((job) => {
    if (job.spec.suspend === true) return stampOnly(Job, job, fence, kindAndName("Job", job));
    const annotations = { ...priorAnnotation(policy, job, "suspend", job.spec.suspend ?? null), ...stamp(fence) };
    return [change(Job, job, annotations, { suspend: true }, `suspend ${kindAndName("Job", job)}, a run of CronJob ${cronJobOf(job)}`)];
  });
  return { writes: [...cronJobs, ...jobs], waits: [...unreadable(observed, KIND), ...waits] };
}

export function resumeCronJobs(observed: ObservedPolicy): StepInput {
  const writes = foundResources(observed, KIND).flatMap(({ object }) => {
    const memory = readPrior(object, "suspend");
    if (memory.is !== "there") return [];
    const spec = object.spec.suspend === true ? { suspend: memory.prior } : {};
    return [change(observed.kindOf("CronJob"), object, { [priorStateAnnotation]: null }, spec, `resume ${kindAndName("CronJob", object)}`)];
  });
  return { writes, waits: unreadable(observed, KIND) };
}

export function resumeJobs(observed: ObservedPolicy): StepInput {
  const { items, waits } = jobsOf(observed);
  const writes = items.flatMap((job) => {
    const memory = readPrior(job, "suspend");
    if (memory.is !== "there") return [];
    const spec = job.spec.suspend === true ? { suspend: memory.prior } : {};
    return [change(Job, job, { [priorStateAnnotation]: null }, spec, `resume ${kindAndName("Job", job)}`)];
  });
  return { writes, waits };
}

export function runningJobs(observed: ObservedPolicy): Wait[] {
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

export function cronJobStates(observed: ObservedPolicy, to: Role): ResourceState[] {
  return readResources(observed, KIND).map((read) => missingState(read) ?? suspendState(read, to));
}

function cronJobs({ managed }: ObservedPolicy) {
  return managed.filter(({ kind }) => kind === "CronJob");
}

export function jobsOf(observed: ObservedPolicy): { items: Job[]; waits: Wait[] } {
  const names = new Set(cronJobs(observed).map(({ namespace, name }) => `${namespace}/${name}`));
  const lists = namespacesOf(cronJobs(observed)).map((namespace) => itemsOf(observed.jobs(namespace), "Job", namespace));
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
