import { diff } from "../frr/diff.ts";
import { describe } from "../frr/entry.ts";
import { merge } from "../frr/config.ts";
import type { ConfigLine, Fragment } from "../frr/fragment.ts";
import { linkOwnership } from "../hostnet/ownership.ts";
import { plan as planLinks, planRemoval } from "../hostnet/plan.ts";
import type { Snapshot } from "../hostnet/snapshot.ts";
import type { NetnsRole, DesiredLink } from "../hostnet/desired-link.ts";
import type { Rendered, LastGoodResource } from "./render/rendered.ts";
import { keyOfLink } from "./link-owners.ts";
import type { RouterPlan } from "./plan.ts";
import { applyOrder } from "./apply-order.ts";

/** One thing that the next pass would do, if nothing of it is rejected. */
export interface PlanDifference {
  readonly what: "link" | "line";
  /** The link, or the line of FRR with its contexts. */
  readonly name: string;
  readonly do: "add" | "remove" | "change";
  /** The command or line as it would be sent; passwords masked. */
  readonly send: string;
}

/**
 * What separates the node from the plan: commands to the kernel, then lines of FRR, each in the order in which they would be sent. While the plan is stopped,
 * what is missing of what was live last.
 */
export function differences(
  planned: RouterPlan,
  base: Fragment,
  { links, running, lastGood }: { links: Snapshot; running: readonly ConfigLine[]; lastGood: ReadonlyMap<string, LastGoodResource> },
): PlanDifference[] {
  const isStopped = planned.stopped !== undefined;
  if (isStopped && lastGood.size === 0) return [];
  const forms = isStopped ? [...lastGood.values()].map(({ form }) => form) : [...formsOf(planned).values()];
  const wanted = unique(forms.flatMap((form) => form.links));
  const names = new Set(wanted.map(keyOfLink));
  const held = [...lastGood.values()].flatMap(({ form }) => form.links.map(({ place, name }) => ({ place, name })));
  const unwanted = (isStopped ? [] : [...held, ...marked(links)]).filter(
    (link) => !names.has(keyOfLink(link)) && links[link.place].has(link.name),
  );

  const commands = [...planLinks(wanted, links).commands, ...planRemoval(unique(unwanted), links).commands];
  const wantedLines = merge([base, ...forms.map(({ fragment }) => fragment)]);
  const lines = diff(running, wantedLines).filter(({ do: verb }) => !isStopped || verb !== "remove");
  return [
    ...commands.map(({ program, place, words, link }): PlanDifference => {
      const verb =
        words.includes("add") && words[0] === "link" ? "add" : words.includes("del") && words[0] === "link" ? "remove" : "change";
      const where = program === "ip" ? [program, ...(place === "router" ? ["-n", links.namespaces.router] : [])] : [program];
      return { what: "link", name: link, do: verb, send: [...where, ...words].join(" ") };
    }),
    ...lines.map((change): PlanDifference => {
      const { context: path, line, send } = change;
      return { what: "line", name: describe({ path, line }), do: change.do, send: describe({ path, line: send }) };
    }),
  ];
}

/** Every step as it ends when none is rejected. */
function formsOf(planned: RouterPlan): Map<string, Rendered> {
  const forms = new Map<string, Rendered>();
  const walk = applyOrder(planned);
  for (let next = walk.next(); !next.done; next = walk.next("asked")) {
    for (const { owner, form, leaves } of next.value) if (!leaves) forms.set(owner, form);
  }
  return forms;
}

function marked(links: Snapshot): { place: NetnsRole; name: string }[] {
  return (["host", "router"] as const).flatMap((place) =>
    [...links[place].values()].filter((link) => linkOwnership(link) !== "foreign").map(({ name }) => ({ place, name })),
  );
}

function unique<T extends Pick<DesiredLink, "place" | "name">>(links: readonly T[]): T[] {
  return [...new Map(links.map((link) => [keyOfLink(link), link])).values()];
}
