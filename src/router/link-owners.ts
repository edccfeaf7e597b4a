import type { DesiredLink } from "../hostnet/desired-link.ts";
import type { LastGoodResource } from "./render/rendered.ts";

type Named = Pick<DesiredLink, "place" | "name">;

/** Which live resources ask for which links. Several may ask for one, as all of a VRF ask for its device. */
export class LinkOwners {
  readonly #holders = new Map<string, Set<string>>();
  readonly #links = new Map<string, readonly Named[]>();

  constructor(live: ReadonlyMap<string, LastGoodResource>) {
    for (const [owner, { form }] of live) this.hold(owner, form.links);
  }

  isHeld(link: Named): boolean {
    return (this.#holders.get(keyOfLink(link))?.size ?? 0) > 0;
  }

  /** Sets the links of the owner. Returns links that no owner wants now. */
  hold(owner: string, links: readonly Named[]): Named[] {
    const before = this.#links.get(owner) ?? [];
    this.release(owner);
    this.#links.set(owner, links);
    for (const link of links) {
      const holders = this.#holders.get(keyOfLink(link)) ?? new Set();
      this.#holders.set(keyOfLink(link), holders.add(owner));
    }
    return before.filter((link) => !this.isHeld(link));
  }

  /** What only this owner asks for. */
  onlyOf(owner: string): Named[] {
    return (this.#links.get(owner) ?? []).filter((link) => this.#holders.get(keyOfLink(link))?.size === 1);
  }

  release(owner: string): void {
    for (const link of this.#links.get(owner) ?? []) this.#holders.get(keyOfLink(link))?.delete(owner);
    this.#links.delete(owner);
  }
}

export function keyOfLink({ place, name }: Named): string {
  return `${place}/${name}`;
}
