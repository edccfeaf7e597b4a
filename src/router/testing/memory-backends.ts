import type { ConfigLine, Fragment } from "../../frr/fragment.ts";
import type { NetnsRole, DesiredLink } from "../../hostnet/desired-link.ts";
import type { FrrBackend, RouterBackends, LinkBackend, LostLine } from "../backends.ts";
import { desiredLinePaths } from "../../frr/fragment-lines.ts";

interface HeldLink {
  name: string;
  alias: string;
  group?: string;
  type: string;
  /** The attributes it was last brought with. */
  as: string;
}

/** An in-memory kernel and FRR that reject what a test tells them to. */
export class MemoryBackends implements RouterBackends {
  /** In order: `link host/br`, `unlink router/vni100`, `lines L2VNI/red`, `gone L3VNI/blue`. */
  readonly log: string[] = [];
  readonly links: Record<NetnsRole, Map<string, HeldLink>> = { host: new Map(), router: new Map() };
  readonly fragments = new Map<string, Fragment>();
  /** `router/vni100`, the same of one owner, `router/vni100 L2VNI/red`, or a line of FRR, alone or after those that it is inside of. */
  readonly refused = new Set<string>();
  readonly rebuilt: ReadonlySet<string>[] = [];
  readonly base: Fragment = { owner: "Router/base", lines: [{ line: "route-map allowall permit 1", inside: [] }] };
  answers = true;
  /** After so many calls the next one fails, as if FRR or the namespace had gone. */
  breaksAfter = Infinity;
  foreign: string[] = [];
  /** Lines that FRR takes, and does not have afterwards. */
  lost: LostLine[] = [];

  readonly kernel: LinkBackend = {
    have: this.links,
    bring: (links) => this.#answer(() => this.#bring(links)),
    remove: (links) => this.#answer(() => this.#remove(links)),
    sysctls: () => Promise.resolve({ changed: [] }),
  };

  readonly daemons: FrrBackend = {
    bring: (fragment) => this.#answer(() => this.#configure(fragment)),
    bringRaw: (fragment) => this.#answer(() => this.#configure(fragment)),
    remove: (owner) => this.#answer(() => this.#forget(owner)),
    rebuild: (fragments) =>
      this.#answer(() => {
        this.log.push("rebuild");
        this.fragments.clear();
        for (const fragment of fragments) {
          const outcome = this.#configure(fragment, true);
          if (outcome.refused) return outcome;
        }
        return { sent: fragments.length };
      }),
    finish: () => Promise.resolve({ foreign: this.foreign.splice(0), differed: [], lost: this.lost }),
  };

  #answer<T>(work: () => T): Promise<T> {
    this.breaksAfter -= 1;
    return this.breaksAfter === -1 ? Promise.reject(new Error("zebra is gone")) : Promise.resolve(work());
  }

  apiAnswers(): Promise<boolean> {
    this.log.push("asked the API");
    return Promise.resolve(this.answers);
  }

  onRebuild(owners: ReadonlySet<string>): void {
    this.rebuilt.push(owners);
  }

  has(role: NetnsRole, ...names: string[]): boolean {
    return names.every((name) => this.links[role].has(name));
  }

  #bring(links: readonly DesiredLink[]) {
    let changed = 0;
    for (const link of links) {
      const { place, name, owner, type } = link;
      const held = this.links[place].get(name);
      if (held?.as === JSON.stringify(link)) continue;
      if (this.refused.has(`${place}/${name}`) || this.refused.has(`${place}/${name} ${owner}`)) {
        return { changed, refused: Object.assign(new Error(`${name}: RTNETLINK answers: Operation not supported`), { code: "Refused" }) };
      }
      changed += 1;
      this.log.push(`link ${place}/${name}`);
      if (type === "nic" && !held) this.links.host.delete(name);
      this.links[place].set(name, { name, alias: `plumbline:${owner}${type === "nic" ? " moved" : ""}`, type, as: JSON.stringify(link) });
    }
    return { changed };
  }

  #remove(links: readonly { place: NetnsRole; name: string }[]) {
    let changed = 0;
    for (const { place, name } of links) {
      const held = this.links[place].get(name);
      if (!held) continue;
      changed += 1;
      this.log.push(`unlink ${place}/${name}`);
      this.links[place].delete(name);
      if (held.type === "nic") this.links.host.set(name, { ...held, alias: "", as: "" });
    }
    return { changed };
  }

  #configure(fragment: Fragment, anew = false) {
    const earlier = this.fragments.get(fragment.owner);
    const lines = desiredLinePaths([fragment]);
    const running = [...this.fragments.values()].flatMap(({ lines }) => asns(lines));
    if (!anew && running.some((line) => asns(fragment.lines).some((other) => other !== line))) return { sent: 0, rebuild: true };
    for (const path of lines) {
      const line = path.slice(path.lastIndexOf("\n") + 1);
      if (this.refused.has(line) || this.refused.has(path.trimStart()))
        return { sent: 0, refused: { line, daemon: "bgpd", words: "% Unknown command" } };
    }
    this.fragments.set(fragment.owner, fragment);
    const before = desiredLinePaths(earlier ? [earlier] : []);
    const sent = lines.symmetricDifference(before).size;
    if (sent > 0) this.log.push(`lines ${fragment.owner}`);
    return { sent };
  }

  #forget(owner: string) {
    const held = this.fragments.get(owner);
    this.fragments.delete(owner);
    if (held) this.log.push(`gone ${owner}`);
    return { sent: held ? desiredLinePaths([held]).size : 0 };
  }
}

function asns(lines: readonly ConfigLine[]): string[] {
  return lines.map(({ line }) => line).filter((line) => /^router bgp \d+$/.test(line));
}
