import type { FailoverPolicy, FailoverStatus } from "../../api/failover/failover-policy.ts";

type Transition = NonNullable<FailoverStatus["transition"]>;
type Past = NonNullable<FailoverStatus["history"]>[number];
export type TransitionStep = Transition["steps"][number];

/** One switch of a policy, over or not. */
export interface TransitionRecord extends Omit<Past, "outcome" | "steps"> {
  readonly outcome: Past["outcome"] | "Running";
  readonly steps: readonly { readonly name: string; readonly seconds?: number }[];
  /** Of the latest one, more about each step. */
  readonly course?: readonly TransitionStep[];
}

/** Every switch that the policy remembers, newest first. */
export function switchesOf({ status }: FailoverPolicy): TransitionRecord[] {
  const past = (status?.history ?? []).map((one): TransitionRecord => Object.assign({ steps: [] }, one));
  return status?.transition ? [latest(status.transition), ...past] : past;
}

/** The running or last one has its figures only once it is among the past ones. */
function latest(transition: Transition): TransitionRecord {
  const { steps: course, ...rest } = transition;
  const { startTime, completionTime, lastSyncTime, writesStoppedTime, volumesWritableTime } = rest;
  const took = secondsBetween(startTime, completionTime);
  const writable = secondsBetween(startTime, volumesWritableTime);
  const loss = secondsBetween(lastSyncTime, writesStoppedTime);
  return {
    ...rest,
    steps: course.flatMap(({ name, startTime: from, completionTime: to }) => {
      const seconds = secondsBetween(from, to);
      return from === undefined ? [] : [{ name, ...(seconds !== undefined && { seconds }) }];
    }),
    course,
    outcome: completionTime === undefined ? "Running" : "Completed",
    ...(took !== undefined && { seconds: took }),
    ...(writable !== undefined && { volumesSeconds: writable }),
    ...(loss !== undefined && { lossSeconds: loss }),
  };
}

/** Never less than none: the clock of a storage system may be ahead of ours. */
function secondsBetween(from: string | undefined, to: string | undefined): number | undefined {
  if (from === undefined || to === undefined) return undefined;
  return Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000));
}
