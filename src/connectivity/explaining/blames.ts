import { Node } from "../../api/core/node.ts";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Sight } from "../../api/standing.ts";
import { lastResultOf } from "../activity.ts";
import { type Blame, blame } from "../blame/blame.ts";
import { retiredMark } from "../marks.ts";
import { placesIn } from "../reading/places.ts";
import { saidBy } from "../reading/said.ts";

interface Picture {
  readonly checks: readonly PodNetworkConnectivityCheck[];
  readonly nodes: readonly Node[];
  /** By the check. */
  readonly blames: ReadonlyMap<string, Blame>;
}

let latest: Picture | undefined;

/** What the failures that a check is one of have in common. Failing checks ask for the same one after the other: it is worked out once. */
export function blameFor(check: string, sight: Sight): Blame | undefined {
  const [checks, nodes] = [sight.all(PodNetworkConnectivityCheck), sight.all(Node)];
  if (!latest || !areSame(latest.checks, checks) || !areSame(latest.nodes, nodes))
    latest = { checks, nodes, blames: blames(checks, nodes) };
  return latest.blames.get(check);
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, nth) => one === others[nth]);
}

function blames(checks: Picture["checks"], nodes: Picture["nodes"]): Map<string, Blame> {
  const places = placesIn(nodes);
  const wanted = checks.filter(({ metadata }) => metadata.annotations?.[retiredMark] === undefined);
  // As of its last result: that it is old somebody else tells.
  const said = wanted.map((check) => saidBy(check, places, lastResultOf(check) ?? 0));
  const found = new Map<string, Blame>();
  for (const one of blame(said)) for (const { check } of one.failing) if (!found.has(check)) found.set(check, one);
  return found;
}
