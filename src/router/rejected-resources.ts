import type { RouterApplyResult } from "./pass-record.ts";
import type { RejectedResource, RejectedResources } from "./model/observed.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import type { RouterPlan } from "./plan.ts";

/** If the kernel rejects a link of its own, a retry affects no other resource. */
const HARMLESS_MS = 60_000;
const DISTURBING = { minMs: 600_000, maxMs: 21_600_000 };

/** Whether a rejected version may be retried although that may affect others. */
export function isDue({ at, times }: RejectedResource, now: Date): boolean {
  const waitMs = times === 0 ? HARMLESS_MS : Math.min(DISTURBING.minMs * 2 ** (times - 1), DISTURBING.maxMs);
  return now.getTime() >= Date.parse(at) + waitMs;
}

/** Resources whose current version is rejected. One that was not tried this time stays rejected. */
function rejectionsAfter(
  before: RejectedResources,
  { steps, selected }: RouterPlan,
  { failures, rejected }: RouterApplyResult,
  live: ReadonlyMap<string, LastGoodResource>,
  now: Date,
): RejectedResources {
  const tried = new Set(steps.filter(({ state }) => state === "current").map(({ owner }) => owner));
  const there = new Set(selected.map(({ kind, name }) => `${kind}/${name}`));
  const found = new Map([...before].filter(([owner]) => there.has(owner) && !tried.has(owner)));
  for (const { owner, kind, name, uid, generation, state } of steps) {
    const how = rejected.get(owner);
    const failure = failures.find((one) => one.reason === "ApplicationFailed" && one.kind === kind && one.name === name);
    if (state !== "current" || !how || !failure || (live.has(owner) && !how.together)) continue;
    const known = before.get(owner);
    const same = known?.uid === uid && known.generation === generation ? known : undefined;
    // Alone it is tried in every pass, and that need not be written down each time.
    if (same && !how.together && same.failure.message === failure.message) found.set(owner, same);
    else found.set(owner, { uid, generation, failure, at: now.toISOString(), times: (same?.times ?? 0) + Number(!how.harmless) });
  }
  return found;
}

interface PlanAndActDeps {
  readonly plan: (rejections: RejectedResources) => RouterPlan;
  readonly act: (planned: RouterPlan) => Promise<RouterApplyResult>;
  readonly live: ReadonlyMap<string, LastGoodResource>;
  readonly now: Date;
}

/**
 * Plans and acts. Where some that were to change together had to be put back, it is planned again with that knowledge, so that others need not wait for the
 * next pass, and are not said to have lost what they have.
 */
export async function planAndAct(
  rejections: RejectedResources,
  { plan, act, live, now }: PlanAndActDeps,
): Promise<{ planned: RouterPlan; done: RouterApplyResult; rejections: RejectedResources }> {
  const planned = plan(rejections);
  const done = await act(planned);
  if (done.stopped) return { planned, done, rejections };
  const known = rejectionsAfter(rejections, planned, done, live, now);
  if (![...done.rejected.values()].some(({ together }) => together)) return { planned, done, rejections: known };

  const again = plan(known);
  const second = await act(again);
  const after = second.stopped ? known : rejectionsAfter(known, again, second, live, now);
  const foreign = [...done.foreign, ...second.foreign];
  return { planned: again, done: { ...second, foreign }, rejections: after };
}
