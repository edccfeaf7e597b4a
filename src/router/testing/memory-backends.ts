import type { ConfigLine, Fragment } from "../../frr/fragment.ts";
import type { NetnsRole, DesiredLink } from "../../hostnet/desired-link.ts";
import type { FrrBackend, RouterBackends, LinkBackend, LostLine } from "../backends.ts";
import { desiredLinePaths } from "../../frr/fragment-lines.ts";

interface MemoryLink {
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
  readonly links: Record<NetnsRole, Map<string, MemoryLink>> = { host: new Map(), router: new Map() };
  readonly fragments = new Map<string, Fragment>();
  /** `router/vni100`, the same of one owner, `router/vni100 L2VNI/red`, or a line of FRR, alone or after those that it is inside of. */
  readonly rejects = new Set<string>();
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
    apply: (links) => this.#answer(() => this.#apply(links)),
    remove: (links) => this.#answer(() => this.#remove(links)),
    sysctls: () => Promise.resolve({ changed: [], unwritable: new Map() }),
  };

  readonly daemons: FrrBackend = {
    apply: (fragment) => this.#answer(() => this.#configure(fragment)),
    applyRaw: (fragment) => this.#answer(() => this.#configure(fragment)),
    remove: (owner) => this.#answer(() => this.#forget(owner)),
    rebuild: (fragments) =>
      this.#answer(() => {
        this.log.push("rebuild");
        this.fragments.clear();
        for (const fragment of fragments) {
          const outcome = this.#configure(fragment, true);
          if (outcome.rejected) return outcome;
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

  #apply(links: readonly DesiredLink[]) {
    let changed = 0;
    for (const link of links) {
      const { netns, name, owner, type } = link;
      const known = this.links[netns].get(name);
      if (known?.as === JSON.stringify(link)) continue;
      if (type === "nic" && link.optional && !known && !this.links.host.has(name)) continue;
      if (this.rejects.has(`${netns}/${name}`) || this.rejects.has(`${netns}/${name} ${owner}`)) {
        return { changed, rejected: Object.assign(new Error(`${name}: RTNETLINK answers: Operation not supported`), { code: "Rejected" }) };
      }
      changed += 1;
      this.log.push(`link ${netns}/${name}`);
      if (type === "nic" && !known) this.links.host.delete(name);
      this.links[netns].set(name, { name, alias: `plumbline:${owner}${type === "nic" ? " moved" : ""}`, type, as: JSON.stringify(link) });
    }
    return { changed };
  }

  #remove(links: readonly { netns: NetnsRole; name: string }[]) {
    let changed = 0;
    for (const { netns, name } of links) {
      const known = this.links[netns].get(name);
      if (!known) continue;
      changed += 1;
      this.log.push(`unlink ${netns}/${name}`);
      this.links[netns].delete(name);
      if (known.type === "nic") this.links.host.set(name, { ...known, alias: "", as: "" });
    }
    return { changed };
  }

  #configure(fragment: Fragment, fresh = false) {
    const earlier = this.fragments.get(fragment.owner);
    const lines = desiredLinePaths([fragment]);
    const running = [...this.fragments.values()].flatMap(({ lines }) => asns(lines));
    if (!fresh && running.some((line) => asns(fragment.lines).some((other) => other !== line))) return { sent: 0, rebuild: true as const };
    for (const path of lines) {
      const line = path.slice(path.lastIndexOf("\n") + 1);
      if (this.rejects.has(line) || this.rejects.has(path.trimStart()))
        return { sent: 0, rejected: { line, daemon: "bgpd", text: "% Unknown command" } };
    }
    this.fragments.set(fragment.owner, fragment);
    const before = desiredLinePaths(earlier ? [earlier] : []);
    const sent = lines.symmetricDifference(before).size;
    if (sent > 0) this.log.push(`lines ${fragment.owner}`);
    return { sent };
  }

  #forget(owner: string) {
    const known = this.fragments.get(owner);
    this.fragments.delete(owner);
    if (known) this.log.push(`gone ${owner}`);
    return { sent: known ? desiredLinePaths([known]).size : 0 };
  }
}

function asns(lines: readonly ConfigLine[]): string[] {
  return lines.map(({ line }) => line).filter((line) => /^router bgp \d+$/.test(line));
}
