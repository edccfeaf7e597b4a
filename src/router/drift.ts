import { diff } from "../frr/diff.ts";
import { describe } from "../frr/entry.ts";
import { merge } from "../frr/config.ts";
import type { ConfigLine, Fragment } from "../frr/fragment.ts";
import { linkOwnership } from "../hostnet/ownership.ts";
import { plan as planLinks, planRemoval } from "../hostnet/plan.ts";
import type { Snapshot } from "../hostnet/snapshot.ts";
import type { NetnsRole, DesiredLink } from "../hostnet/desired-link.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import { keyOfLink } from "./link-owners.ts";
import type { RouterPlan } from "./plan.ts";
import { stepsIfAccepted } from "./apply-order.ts";

export interface PlanDifference {
  readonly what: "link" | "line";
  readonly name: string;
  readonly do: "add" | "remove" | "change";
  /** The command or line as it would be sent; passwords masked. */
  readonly send: string;
}

/**
 * Kernel commands, then FRR lines, in the order in which they would be sent. While the plan is stopped, what is missing of the last good
 * state.
 */
export function differences(
  planned: RouterPlan,
  base: Fragment,
  { links, running, lastGood }: { links: Snapshot; running: readonly ConfigLine[]; lastGood: ReadonlyMap<string, LastGoodResource> },
): PlanDifference[] {
  const isStopped = planned.stopped !== undefined;
  if (isStopped && lastGood.size === 0) return [];
  const wantedResources = isStopped ? [...lastGood.values()] : stepsIfAccepted(planned).steps;
  const wanted = unique(wantedResources.flatMap(({ rendered }) => rendered.links));
  const names = new Set(wanted.map(keyOfLink));
  const existing = [...lastGood.values()].flatMap(({ rendered }) => rendered.links.map(({ netns, name }) => ({ netns, name })));
  const unwanted = (isStopped ? [] : [...existing, ...marked(links)]).filter(
    (link) => !names.has(keyOfLink(link)) && links[link.netns].has(link.name),
  );

  const commands = [...planLinks(wanted, links).commands, ...planRemoval(unique(unwanted), links).commands];
  const wantedLines = merge([base, ...wantedResources.map(({ rendered }) => rendered.fragment)]);
  const lines = diff(running, wantedLines).filter(({ do: verb }) => !isStopped || verb !== "remove");
  return [
    ...commands.map(({ program, netns, args, link }): PlanDifference => {
      const verb = args.includes("add") && args[0] === "link" ? "add" : args.includes("del") && args[0] === "link" ? "remove" : "change";
      const where = program === "ip" ? [program, ...(netns === "router" ? ["-n", links.namespaces.router] : [])] : [program];
      return { what: "link", name: link, do: verb, send: [...where, ...args].join(" ") };
    }),
    ...lines.map((change): PlanDifference => {
      const { context: path, line, send } = change;
      return { what: "line", name: describe({ path, line }), do: change.do, send: describe({ path, line: send }) };
    }),
  ];
}

function marked(links: Snapshot): { netns: NetnsRole; name: string }[] {
  return (["host", "router"] as const).flatMap((netns) =>
    [...links[netns].values()].filter((link) => linkOwnership(link) !== "foreign").map(({ name }) => ({ netns, name })),
  );
}

function unique<T extends Pick<DesiredLink, "netns" | "name">>(links: readonly T[]): T[] {
  return [...new Map(links.map((link) => [keyOfLink(link), link])).values()];
}
