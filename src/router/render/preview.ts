import { merge, print } from "../../frr/config.ts";
import type { Fragment } from "../../frr/fragment.ts";
import type { DesiredLink } from "../../hostnet/desired-link.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { ObservedNode } from "../observed.ts";
import { plan } from "../plan.ts";
import { baseFragment } from "./frr.ts";
import type { ResourceStep } from "../step.ts";
import { applyOrder } from "../apply-order.ts";

/** What a node would be if neither FRR nor the kernel rejected anything. */
export interface Preview {
  readonly frr: string;
  /** In the order in which they are set up. A link that several resources share is listed once. */
  readonly links: readonly DesiredLink[];
  readonly failures: readonly Failure[];
}

export function previewNode(observed: ObservedNode): Preview {
  const planned = plan(observed);
  const rendered = new Map<string, ResourceStep>();
  const walk = applyOrder(planned);
  let next = walk.next();
  while (!next.done) {
    for (const step of next.value) if (!step.leaves) rendered.set(step.owner, step);
    next = walk.next("asked");
  }
  const fragments: Fragment[] = [baseFragment(), ...[...rendered.values()].map(({ rendered }) => rendered.fragment)];
  const links = new Map(
    [...rendered.values()].flatMap(({ rendered }) => rendered.links).map((link) => [`${link.netns}/${link.name}`, link]),
  );
  return {
    frr: print(merge(fragments)),
    links: [...links.values()],
    failures: [...planned.failures, ...(planned.skipped ?? []), ...next.value],
  };
}
