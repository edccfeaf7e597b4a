import type { Failure } from "../resilience/failure.ts";
import type { Done } from "./act.ts";
import type { LastGood } from "./render/rendered.ts";
import type { RouterPlan } from "./plan.ts";

/** A form that the kernel or FRR has refused. */
interface Refused {
  readonly uid: string;
  readonly generation: number;
  readonly failure: Failure;
  /** When it was refused. */
  readonly at: string;
  /** How often trying it has changed what others have, or would have. */
  readonly times: number;
}

/** By owner. Of resources of which nothing is live, and of those that were to be changed together with others. */
export type Refusals = ReadonlyMap<string, Refused>;

/** Where the kernel refuses what nobody else has, trying it again costs nobody anything. */
const HARMLESS_MS = 60_000;
const DISTURBING = { minMs: 600_000, maxMs: 21_600_000 };

/** Whether a refused form may be tried again at the risk of others. */
export function isDue({ at, times }: Refused, now: Date): boolean {
  const waitMs = times === 0 ? HARMLESS_MS : Math.min(DISTURBING.minMs * 2 ** (times - 1), DISTURBING.maxMs);
  return now.getTime() >= Date.parse(at) + waitMs;
}

/** Who has been refused as it is written now. One that was not tried this time stays refused. */
function refusalsAfter(
  before: Refusals,
  { steps, selected }: RouterPlan,
  { failures, refused }: Done,
  live: ReadonlyMap<string, LastGood>,
  now: Date,
): Refusals {
  const tried = new Set(steps.filter(({ state }) => state === "current").map(({ owner }) => owner));
  const there = new Set(selected.map(({ kind, name }) => `${kind}/${name}`));
  const found = new Map([...before].filter(([owner]) => there.has(owner) && !tried.has(owner)));
  for (const { owner, kind, name, uid, generation, state } of steps) {
    const how = refused.get(owner);
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

interface Means {
  readonly plan: (refusals: Refusals) => RouterPlan;
  readonly act: (planned: RouterPlan) => Promise<Done>;
  readonly live: ReadonlyMap<string, LastGood>;
  readonly now: Date;
}

/**
 * Plans and acts. Where some that were to change together had to be put back, it is planned again with that knowledge, so that others need not wait for the
 * next pass, and are not said to have lost what they have.
 */
export async function carryOut(
  refusals: Refusals,
  { plan, act, live, now }: Means,
): Promise<{ planned: RouterPlan; done: Done; refusals: Refusals }> {
  const planned = plan(refusals);
  const done = await act(planned);
  if (done.stopped) return { planned, done, refusals };
  const known = refusalsAfter(refusals, planned, done, live, now);
  if (![...done.refused.values()].some(({ together }) => together)) return { planned, done, refusals: known };

  const again = plan(known);
  const second = await act(again);
  const after = second.stopped ? known : refusalsAfter(known, again, second, live, now);
  const foreign = [...done.foreign, ...second.foreign];
  return { planned: again, done: { ...second, foreign }, refusals: after };
}
