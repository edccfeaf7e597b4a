import type { LastGood } from "./form.ts";
import type { RouterPlan } from "./plan.ts";
import type { RouterKind, Step } from "./step.ts";

/** What was live last, as a plan: for a node that cannot ask the cluster. */
export function lastPlan(lastGood: ReadonlyMap<string, LastGood>): RouterPlan {
  const all = [...lastGood].map(([owner, { uid, generation, spec, form }]): Step => {
    const slash = owner.indexOf("/");
    const kind = owner.slice(0, slash) as RouterKind;
    return { owner, kind, name: owner.slice(slash + 1), namespace: "", uid, generation, spec, state: "kept", form };
  });
  return {
    underlay: all.find(({ kind }) => kind === "Underlay"),
    steps: all.filter(({ kind }) => kind !== "Underlay"),
    failures: [],
    selected: all.map(({ kind, name, generation }) => ({ kind, name, generation })),
  };
}
