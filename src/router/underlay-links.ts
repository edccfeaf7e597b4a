import type { Underlay } from "../api/openpe/underlay.ts";
import { metaTime } from "../api/time.ts";
import type { Link, Snapshot } from "../hostnet/snapshot.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import type { LinkReport } from "./report.ts";

/** The state of the live Underlay's interfaces. `before` has the start times of unchanged states. */
export function underlayLinks(
  lastGood: ReadonlyMap<string, LastGoodResource>,
  { host, router }: Pick<Snapshot, "host" | "router">,
  before: readonly LinkReport[],
  now: Date,
): LinkReport[] {
  const known = new Map(before.map((link) => [link.name, link]));
  const underlays = [...lastGood].filter(([owner]) => owner.startsWith("Underlay/"));
  const names = new Set(underlays.flatMap(([, { spec }]) => (spec as Underlay["spec"]).nics ?? []));
  return [...names].sort().map((name) => {
    const state = stateOf(router.get(name) ?? host.get(name));
    const already = known.get(name);
    return already?.state === state ? already : { name, state, since: metaTime(now) };
  });
}

function stateOf(link: Link | undefined): LinkReport["state"] {
  if (!link) return "Missing";
  if (!link.up) return "Down";
  return link.noCarrier ? "NoCarrier" : "Up";
}
