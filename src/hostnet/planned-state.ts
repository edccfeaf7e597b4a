import { elsewhere, type Command } from "./command.ts";
import { KernelError } from "./error.ts";
import type { Link, Links, Snapshot } from "./snapshot.ts";
import type { Place } from "./desired-link.ts";

export interface Plan {
  readonly commands: readonly Command[];
  /** The links that it touches, as far as they can be foreseen; undefined for those that will be gone. */
  readonly touches: Readonly<Record<Place, ReadonlyMap<string, Link | undefined>>>;
  /** Why none of it may be done. There are no commands then. */
  readonly refused?: KernelError;
}

/** What there would be after the commands so far. */
export class Draft {
  readonly have: Snapshot;
  readonly commands: Command[] = [];
  refused: KernelError | undefined;
  readonly #changed: Readonly<Record<Place, Map<string, Link | undefined>>> = { host: new Map(), router: new Map() };

  #lastIndex = 0;

  constructor(have: Snapshot) {
    this.have = have;
  }

  ip(place: Place, link: string, ...words: string[]): void {
    this.commands.push({ program: "ip", place, link, words });
  }

  ovs(link: string, ...words: string[]): void {
    this.commands.push({ program: "ovs-vsctl", place: "host", link, words });
  }

  /** The first refusal stands. Nothing of the plan is run then. */
  refuse(place: Place, link: string, words: string): void {
    this.refused ??= new KernelError("Refused", words, { command: "", namespace: this.have.namespaces[place], link });
  }

  get(place: Place, name: string): Link | undefined {
    const changed = this.#changed[place];
    return changed.has(name) ? changed.get(name) : this.have[place].get(name);
  }

  put(place: Place, link: Link): void {
    this.#changed[place].set(link.name, link);
  }

  /** Deletes it, and knows what goes with it: the other leg, the VXLANs on it, its ports' membership. */
  delete(place: Place, link: Link): void {
    this.commands.push({ program: "ip", place, link: link.name, words: ["link", "del", "dev", link.name], forgets: true });
    this.forget(place, link.name);
    const { peer } = link;
    if (peer !== undefined) {
      const at = "name" in peer ? place : elsewhere(place);
      const other = this.#all(at).find((candidate) => paired(link, candidate));
      if (other) this.forget(at, other.name);
    }
    for (const port of this.#all(place)) {
      if (port.vxlan?.device === link.name) this.forget(place, port.name);
      else if (port.master === link.name) this.put(place, withoutMaster(port));
    }
  }

  plan(): Plan {
    const nothing = { host: new Map(), router: new Map() };
    if (this.refused) return { commands: [], touches: nothing, refused: this.refused };
    return { commands: this.commands, touches: { host: this.#touches("host"), router: this.#touches("router") } };
  }

  forget(place: Place, name: string): void {
    this.#changed[place].set(name, undefined);
  }

  /** The lowest that no VRF has; 253 to 255 are the kernel's own. */
  freeTable(place: Place): number {
    const taken = new Set(this.#all(place).map((link) => link.table));
    let table = 1;
    while (taken.has(table) || (table >= 253 && table <= 255)) table += 1;
    return table;
  }

  /** For a link that does not exist yet. */
  freshIndex(): number {
    this.#lastIndex -= 1;
    return this.#lastIndex;
  }

  hasIpv6(place: Place): boolean {
    return this.have[place].get("lo")?.addrGenMode !== undefined;
  }

  #touches(place: Place): Map<string, Link | undefined> {
    const told = this.commands.filter((command) => command.place === place).map(({ link }) => [link, this.get(place, link)] as const);
    return new Map([...told, ...this.#changed[place]]);
  }

  #all(place: Place): Link[] {
    const links: Links = this.have[place];
    const changed = this.#changed[place];
    const kept = [...links.values()].filter((link) => !changed.has(link.name));
    return [...kept, ...changed.values()].filter((link) => link !== undefined);
  }
}

/** Whether two links are the ends of one cable. The kernel names the other end in the same namespace, and gives its index in another. */
export function paired(a: Link, b: Link): boolean {
  return pointsTo(a, b) && pointsTo(b, a);
}

function pointsTo({ peer }: Link, to: Link): boolean {
  if (peer === undefined) return false;
  return "name" in peer ? peer.name === to.name : peer.index === to.index;
}

function withoutMaster({ master: _, bridgePort: __, ...link }: Link): Link {
  return link;
}
