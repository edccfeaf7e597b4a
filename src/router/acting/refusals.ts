import type { Failure } from "../../resilience/failure.ts";
import type { Done } from "../act.ts";
import type { LastGood } from "../form.ts";
import type { RouterPlan } from "../plan.ts";

/** A form that the kernel or FRR has refused, of a resource of which nothing is live. */
interface Refused {
  readonly uid: string;
  readonly generation: number;
  readonly failure: Failure;
}

export type Refusals = ReadonlyMap<string, Refused>;

/** Who has been refused as it is written now. One that was not tried this time stays refused. */
export function refusalsAfter(before: Refusals, { steps }: RouterPlan, { failures }: Done, live: ReadonlyMap<string, LastGood>): Refusals {
  const tried = new Set(steps.map(({ owner }) => owner));
  const found = new Map([...before].filter(([owner]) => !tried.has(owner) && !live.has(owner)));
  for (const { owner, kind, name, uid, generation } of steps) {
    const failure = failures.find((one) => one.reason === "ApplicationFailed" && one.kind === kind && one.name === name);
    if (failure && !live.has(owner)) found.set(owner, { uid, generation, failure });
  }
  return found;
}
