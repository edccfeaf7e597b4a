import { Node } from "../../api/core/node.ts";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Sight } from "../../api/standing.ts";
import { lastResultOf } from "../activity.ts";
import { type Blame, blame } from "../blame/blame.ts";
import { type Culprit, culpritOf } from "./culprits.ts";
import { retiredMark } from "../marks.ts";
import { placesIn } from "../reading/places.ts";
import { saidBy } from "../reading/said.ts";

interface Picture {
  readonly checks: readonly PodNetworkConnectivityCheck[];
  readonly nodes: readonly Node[];
  /** By the check. */
  readonly blames: ReadonlyMap<string, Blamed>;
}

/** What a check fails because of. One of those that it explains speaks for all. */
interface Blamed {
  readonly blame: Blame;
  readonly culprit: Culprit;
  readonly speaks: boolean;
}

let latest: Picture | undefined;

/** What the failures that a check is one of have in common. Failing checks ask for the same one after the other: it is worked out once. */
export function blameFor(check: string, sight: Sight): Blamed | undefined {
  const [checks, nodes] = [sight.all(PodNetworkConnectivityCheck), sight.all(Node)];
  if (!latest || !areSame(latest.checks, checks) || !areSame(latest.nodes, nodes))
    latest = { checks, nodes, blames: blames(checks, nodes) };
  return latest.blames.get(check);
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, nth) => one === others[nth]);
}

function blames(checks: Picture["checks"], nodes: Picture["nodes"]): Map<string, Blamed> {
  const places = placesIn(nodes);
  const wanted = checks.filter(({ metadata }) => metadata.annotations?.[retiredMark] === undefined);
  // As of its last result: that it is old somebody else tells.
  const said = wanted.map((check) => saidBy(check, places, lastResultOf(check) ?? 0));
  const found = new Map<string, Blamed>();
  for (const one of blame(said)) {
    const culprit = culpritOf(one);
    const explained = one.failing.filter(({ check }) => !found.has(check));
    if (culprit) for (const [nth, { check }] of explained.entries()) found.set(check, { blame: one, culprit, speaks: nth === 0 });
  }
  return found;
}
