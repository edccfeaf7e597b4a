import { otherNamespace, type Command } from "./command.ts";
import { KernelError } from "./error.ts";
import type { Link, Links, Snapshot } from "./snapshot.ts";
import type { NetnsRole } from "./desired-link.ts";

export interface LinkPlan {
  readonly commands: readonly Command[];
  /** The expected state of changed links; undefined if deleted. */
  readonly touches: Readonly<Record<NetnsRole, ReadonlyMap<string, Link | undefined>>>;
  /** If set, there are no commands. */
  readonly rejected?: KernelError;
}

/** The expected state after the commands so far. */
export class PlannedState {
  readonly have: Snapshot;
  readonly commands: Command[] = [];
  rejected: KernelError | undefined;
  readonly #changed: Readonly<Record<NetnsRole, Map<string, Link | undefined>>> = { host: new Map(), router: new Map() };

  #lastIndex = 0;

  constructor(have: Snapshot) {
    this.have = have;
  }

  ip(role: NetnsRole, link: string, ...args: string[]): void {
    this.commands.push({ program: "ip", netns: role, link, args: args });
  }

  ovs(link: string, ...args: string[]): void {
    this.commands.push({ program: "ovs-vsctl", netns: "host", link, args: args });
  }

  /** The first rejection counts; the plan is not run. */
  reject(role: NetnsRole, link: string, text: string): void {
    this.rejected ??= new KernelError("Rejected", text, { command: "", namespace: this.have.namespaces[role], link });
  }

  get(role: NetnsRole, name: string): Link | undefined {
    const changed = this.#changed[role];
    return changed.has(name) ? changed.get(name) : this.have[role].get(name);
  }

  put(role: NetnsRole, link: Link): void {
    this.#changed[role].set(link.name, link);
  }

  /** Also what disappears with it: the peer, the VXLANs on it, its ports' membership. */
  delete(role: NetnsRole, link: Link): void {
    this.commands.push({ program: "ip", netns: role, link: link.name, args: ["link", "del", "dev", link.name], forgets: true });
    this.forget(role, link.name);
    const { peer } = link;
    if (peer !== undefined) {
      const at = "name" in peer ? role : otherNamespace(role);
      const other = this.#all(at).find((candidate) => paired(link, candidate));
      if (other) this.forget(at, other.name);
    }
    for (const port of this.#all(role)) {
      if (port.vxlan?.device === link.name) this.forget(role, port.name);
      else if (port.master === link.name) this.put(role, withoutMaster(port));
    }
  }

  plan(): LinkPlan {
    const nothing = { host: new Map(), router: new Map() };
    if (this.rejected) return { commands: [], touches: nothing, rejected: this.rejected };
    return { commands: this.commands, touches: { host: this.#touches("host"), router: this.#touches("router") } };
  }

  forget(role: NetnsRole, name: string): void {
    this.#changed[role].set(name, undefined);
  }

  /** The lowest unused one; 253 to 255 are the kernel's. */
  freeTable(role: NetnsRole): number {
    const taken = new Set(this.#all(role).map((link) => link.table));
    let table = 1;
    while (taken.has(table) || (table >= 253 && table <= 255)) table += 1;
    return table;
  }

  /** For a link that does not exist yet. */
  freshIndex(): number {
    this.#lastIndex -= 1;
    return this.#lastIndex;
  }

  hasIpv6(role: NetnsRole): boolean {
    return this.have[role].get("lo")?.addrGenMode !== undefined;
  }

  #touches(role: NetnsRole): Map<string, Link | undefined> {
    const changed = this.commands.filter((command) => command.netns === role).map(({ link }) => [link, this.get(role, link)] as const);
    return new Map([...changed, ...this.#changed[role]]);
  }

  #all(role: NetnsRole): Link[] {
    const links: Links = this.have[role];
    const changed = this.#changed[role];
    const kept = [...links.values()].filter((link) => !changed.has(link.name));
    return [...kept, ...changed.values()].filter((link) => link !== undefined);
  }
}

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
