import { merge, print } from "../frr/config.ts";
import type { DesiredLink } from "../hostnet/desired-link.ts";
import type { Failure } from "../resilience/failure.ts";
import type { ObservedNode } from "./model/observed.ts";
import { plan } from "./plan.ts";
import { baseFragment } from "./render/frr.ts";
import { stepsIfAccepted } from "./apply-order.ts";
import { keyOfLink } from "./link-owners.ts";

export interface Preview {
  readonly frr: string;
  /** In the order of creation. A link of several resources is listed once. */
  readonly links: readonly DesiredLink[];
  readonly failures: readonly Failure[];
}

export function previewNode(observed: ObservedNode): Preview {
  const planned = plan(observed);
  const { steps, failures } = stepsIfAccepted(planned);
  const links = new Map(steps.flatMap(({ rendered }) => rendered.links).map((link) => [keyOfLink(link), link]));
  return {
    frr: print(merge([baseFragment(), ...steps.map(({ rendered }) => rendered.fragment)])),
    links: [...links.values()],
    failures: [...planned.failures, ...(planned.skipped ?? []), ...failures],
  };
}
