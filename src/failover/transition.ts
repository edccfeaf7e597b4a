import { secondsBetween } from "../util/duration.ts";
import type { FailoverPolicy, FailoverStatus } from "../api/failover/failover-policy.ts";
import { metaTime } from "../api/time.ts";
import type { SwitchPlan, SwitchStep } from "./steps/step.ts";

type Transition = NonNullable<FailoverStatus["transition"]>;
type PastTransition = NonNullable<FailoverStatus["history"]>[number];
type StepStatus = Transition["steps"][number];

const HISTORY = 10;
const STATE = { Done: "Done", Act: "Running", Wait: "Waiting", Pending: "Pending" } as const satisfies Record<
  SwitchStep["state"],
  StepStatus["state"]
>;

/** Usual durations. csi-addons checks a demoted volume after 15 s and then every 30 s, and the storage needs some time. */
const USUAL_SECONDS: Partial<Record<SwitchStep["name"], number>> = { AwaitCopy: 60 };

/** The running or last switch, and the earlier ones. */
export function transitions(
  previous: Pick<FailoverStatus, "transition" | "history">,
  policy: FailoverPolicy,
  plan: SwitchPlan,
  completed: boolean,
  now: Date,
): Pick<FailoverStatus, "transition" | "history"> {
  const { transition, history = [] } = previous;
  // A rejected switch has not begun.
  if (plan.rejections.length > 0) return { ...(transition && { transition }), ...(previous.history && { history }) };
  const generation = policy.metadata.generation ?? 0;
  const before = transition && isContinued(transition, plan, completed, generation) ? transition : undefined;
  const past = transition && !before ? [pastTransition(transition), ...history].slice(0, HISTORY) : history;
  return {
    transition: continued(before, plan, { completed, generation, forced: forcedBy(policy, plan) }, now),
    ...(past.length > 0 && { history: past }),
  };
}

/** An edit of the policy begins another switch, unless everything is complete already. */
function isContinued(transition: Transition, plan: SwitchPlan, completed: boolean, generation: number): boolean {
  if (transition.to !== plan.to) return false;
  return transition.generation === generation || (transition.completionTime !== undefined && completed);
}

/** Also from the token: the process that forced it may have died before it reported the reason. */
function forcedBy({ status }: FailoverPolicy, plan: SwitchPlan): string | undefined {
  return plan.forced ?? (plan.to === "primary" && status?.token?.state === "Held" ? status.token.forced : undefined);
}

function continued(
  before: Transition | undefined,
  plan: SwitchPlan,
  { completed, generation, ...policy }: { completed: boolean; generation: number; forced: string | undefined },
  now: Date,
): Transition {
  const time = metaTime(now);
  const forced = policy.forced ?? before?.forced;
  const completionTime = before?.completionTime ?? (completed ? time : undefined);
  const lastSyncTime = plan.to === "secondary" ? (furthestBehind(plan) ?? before?.lastSyncTime) : undefined;
  const isStopped = plan.to === "secondary" && (plan.writesStopped || before?.completionTime !== undefined);
  const writesStoppedTime = isStopped ? (before?.writesStoppedTime ?? (plan.writesStopped ? time : undefined)) : undefined;
  const isWritable = plan.to === "primary" && plan.steps.some(({ name, state }) => name === "AwaitVolumes" && state === "Done");
  const volumesWritableTime = before?.volumesWritableTime ?? (isWritable && before?.completionTime === undefined ? time : undefined);
  return {
    to: plan.to,
    mode: before?.completionTime === undefined ? plan.mode : before.mode,
    generation,
    startTime: before?.startTime ?? time,
    ...(completionTime !== undefined && { completionTime }),
    ...(lastSyncTime !== undefined && { lastSyncTime }),
    ...(writesStoppedTime !== undefined && { writesStoppedTime }),
    ...(volumesWritableTime !== undefined && { volumesWritableTime }),
    ...(forced !== undefined && { forced }),
    steps: plan.steps.map((step) =>
      stepStatus(
        before?.steps.find(({ name }) => name === step.name),
        step,
        time,
      ),
    ),
  };
}

function stepStatus(before: StepStatus | undefined, step: SwitchStep, time: string): StepStatus {
  const { name } = step;
  const state = STATE[step.state];
  if (state === "Pending") return { name, state };
  const startTime = (state === "Done" || before?.state !== "Done" ? before?.startTime : undefined) ?? time;
  if (state === "Done") return { name, state, startTime, completionTime: before?.completionTime ?? time };
  const waitingFor = waitingStatus(before?.waitingFor, step, time);
  const onTime = secondsBetween(startTime, time) < (USUAL_SECONDS[name] ?? 0);
  return { name, state, startTime, ...(waitingFor && { waitingFor: { ...waitingFor, ...(onTime && { onTime }) } }) };
}

function waitingStatus(before: StepStatus["waitingFor"], { waits }: SwitchStep, time: string): StepStatus["waitingFor"] | undefined {
  const [wait, ...others] = waits;
  if (!wait) return undefined;
  const { kind, namespace, name, message, node, onTime, unread } = wait;
  const isSame = before?.kind === kind && before.namespace === namespace && before.name === name;
  return {
    kind,
    ...(namespace !== undefined && { namespace }),
    name,
    message: message.slice(0, 4096),
    ...(others.length > 0 && { others: others.length }),
    since: (isSame ? before.since : undefined) ?? time,
    ...(onTime && { onTime }),
    ...(node !== undefined && { node }),
    ...(unread && { unread }),
  };
}

/** A transition as the history keeps it, with its figures. */
export function pastTransition({ steps, ...transition }: Transition): PastTransition & Required<Pick<PastTransition, "steps">> {
  const { startTime, completionTime, writesStoppedTime, lastSyncTime, volumesWritableTime } = transition;
  return {
    ...transition,
    outcome: completionTime === undefined ? "Superseded" : "Completed",
    steps: steps.flatMap(pastStep),
    ...(completionTime !== undefined && { seconds: secondsBetween(startTime, completionTime) }),
    ...(volumesWritableTime !== undefined && { volumesSeconds: secondsBetween(startTime, volumesWritableTime) }),
    ...(lastSyncTime !== undefined && writesStoppedTime !== undefined && { lossSeconds: secondsBetween(lastSyncTime, writesStoppedTime) }),
  };
}

function pastStep({ name, startTime, completionTime }: StepStatus): NonNullable<PastTransition["steps"]> {
  if (startTime === undefined) return [];
  return [{ name, ...(completionTime !== undefined && { seconds: secondsBetween(startTime, completionTime) }) }];
}

function furthestBehind({ resources }: SwitchPlan): string | undefined {
  const times = resources.flatMap(({ lastSyncTime }) => lastSyncTime ?? []);
  return times.toSorted((one, other) => Date.parse(one) - Date.parse(other))[0];
}
