import type { DesiredLink } from "../hostnet/desired-link.ts";
import type { LastGoodResource } from "./model/rendered.ts";

type Named = Pick<DesiredLink, "netns" | "name">;

/** Several resources may own a link, as all of a VRF own its device. */
export class LinkOwners {
  readonly #owners = new Map<string, Set<string>>();
  readonly #links = new Map<string, readonly Named[]>();

  constructor(live: ReadonlyMap<string, LastGoodResource>) {
    for (const [owner, { rendered }] of live) this.setLinks(owner, rendered.links);
  }

  isOwned(link: Named): boolean {
    return (this.#owners.get(keyOfLink(link))?.size ?? 0) > 0;
  }

  /** Sets the links of the owner. Returns links that no owner wants now. */
  setLinks(owner: string, links: readonly Named[]): Named[] {
    const before = this.#links.get(owner) ?? [];
    this.release(owner);
    this.#links.set(owner, links);
    for (const link of links) {
      const holders = this.#owners.get(keyOfLink(link)) ?? new Set();
      this.#owners.set(keyOfLink(link), holders.add(owner));
    }
    return before.filter((link) => !this.isOwned(link));
  }

  /** Links with no other owner. */
  onlyOf(owner: string): Named[] {
    return (this.#links.get(owner) ?? []).filter((link) => this.#owners.get(keyOfLink(link))?.size === 1);
  }

  release(owner: string): void {
    for (const link of this.#links.get(owner) ?? []) this.#owners.get(keyOfLink(link))?.delete(owner);
    this.#links.delete(owner);
  }
}

export function keyOfLink({ netns, name }: Named): string {
  return `${netns}/${name}`;
}
