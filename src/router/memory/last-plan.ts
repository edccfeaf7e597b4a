import type { LastGood } from "../form.ts";
import type { RouterPlan } from "../plan.ts";
import type { RouterKind, Step } from "../step.ts";

/** What was live last, as a plan: for a node that cannot ask the cluster. */
export function lastPlan(lastGood: ReadonlyMap<string, LastGood>): RouterPlan {
  const all = [...lastGood].map(([owner, good]) => stepOf(owner, good));
  return {
    underlay: all.find(({ kind }) => kind === "Underlay"),
    steps: all.filter(({ kind }) => kind !== "Underlay"),
    failures: [],
    selected: all.map(({ kind, name, generation }) => ({ kind, name, generation })),
  };
}

function stepOf(owner: string, { uid, generation, spec, form }: LastGood): Step {
  const slash = owner.indexOf("/");
  const kind = owner.slice(0, slash) as RouterKind;
  const name = owner.slice(slash + 1);
  const vrf = kind === "L2VNI" || kind === "L3VNI" ? { vrf: (spec as { vrf?: string }).vrf || name } : {};
  return { owner, kind, name, namespace: "", uid, generation, spec, state: "kept", form, ...vrf };
}
