import type { DesiredLink } from "../hostnet/desired-link.ts";
import type { LastGoodResource } from "./model/rendered.ts";

type Named = Pick<DesiredLink, "netns" | "name">;

/** Which live resources ask for which links. Several may ask for one, as all of a VRF ask for its device. */
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

  /** What only this owner asks for. */
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
