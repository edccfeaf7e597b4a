import { type LabelSelector, selects } from "../../api/core/label-selector.ts";
import type { Labeled } from "./objects.ts";
import { selectorText } from "./selectors.ts";

/**
 * Groups of nodes that the same selectors select: two objects share a node if they share a group. There are far fewer groups than nodes. If
 * no node is known, all objects may share one.
 */
export class NodeGroups {
  readonly #bySelectors = new Map<string, ReadonlySet<number>>();

  constructor(nodes: readonly Labeled[], selectorLists: Iterable<readonly LabelSelector[]>) {
    const lists = new Map([...selectorLists].map((list) => [textOf(list), list]));
    const groups = new Map<string, number>();
    const members = new Map([...lists.keys()].map((text) => [text, new Set<number>()]));
    for (const { labels } of nodes) {
      const here = [...lists].filter(([, list]) => isSelected(list, labels)).map(([text]) => text);
      const key = here.join("\n");
      const group = groups.get(key) ?? groups.size;
      if (group === groups.size) for (const text of here) members.get(text)?.add(group);
      groups.set(key, group);
    }
    for (const [text, group] of members) this.#bySelectors.set(text, nodes.length === 0 ? EVERYWHERE : group);
  }

  of(selectors: readonly LabelSelector[]): ReadonlySet<number> {
    return this.#bySelectors.get(textOf(selectors)) ?? new Set();
  }
}

const EVERYWHERE: ReadonlySet<number> = new Set([0]);

/** No selectors select all. */
export function isSelected(selectors: readonly LabelSelector[], labels: Labeled["labels"]): boolean {
  return selectors.length === 0 || selectors.some((one) => selects(one, labels));
}

function textOf(selectors: readonly LabelSelector[]): string {
  return selectors.length === 0 ? "" : JSON.stringify(selectors.map(selectorText));
}
