import type { AddressModes } from "./address-modes.ts";
import { type BatchResult, Batch } from "./batch.ts";
import { otherNamespace, ROLES, segments, type Command } from "./command.ts";
import { KernelError } from "./error.ts";
import type { NetworkNamespaces } from "./namespaces.ts";
import { ovsVsctl, readOvs } from "./ovs.ts";
import { OVS_DATAPATH } from "./ovs-plan.ts";
import { linkOwnership } from "./ownership.ts";
import type { LinkPlan } from "./planned-state.ts";
import { plan, planRemoval } from "./plan.ts";
import { routesThrough } from "./routes.ts";
import { ip } from "./run.ts";
import { parseLinks, type Link, type LinkAddress, type OvsBridge, type Route, type Snapshot } from "./snapshot.ts";
import { setSysctls, type SysctlOutcome } from "./sysctls.ts";
import { OVS_MASTER, type NetnsRole, type DesiredLink } from "./desired-link.ts";

const MOST_READS = 5;

export interface LinkName {
  readonly netns: NetnsRole;
  readonly name: string;
}

export interface LinkApplyResult {
  readonly changed: number;
  readonly rejected?: KernelError;
}

/**
 * Reads a node's links and applies changes. Neither of the two `ip` processes outlives the pass: they cache the index of a name, and other
 * programs delete and recreate links too.
 */
export class LinkApplier implements AsyncDisposable {
  readonly #namespaces: NetworkNamespaces;
  readonly #signal: AbortSignal;
  readonly #batches: Readonly<Record<NetnsRole, Batch>>;
  readonly #modes: AddressModes | undefined;
  readonly #links: Record<NetnsRole, Map<string, Link>> = { host: new Map(), router: new Map() };
  readonly #routes = new Map<string, readonly Route[]>();
  /** The addresses of interfaces that this pass moved. If only some arrive, all of them are moved back. */
  readonly #carried = new Map<string, readonly LinkAddress[]>();
  #ovs: readonly OvsBridge[] | undefined;

  private constructor(namespaces: NetworkNamespaces, signal: AbortSignal, modes: AddressModes | undefined) {
    this.#namespaces = namespaces;
    this.#modes = modes;
    this.#signal = signal;
    this.#batches = { host: new Batch(namespaces.host, signal), router: new Batch(namespaces.router, signal) };
  }

  /** `modes` is shared by a caller that runs several passes. */
  static async open(namespaces: NetworkNamespaces, signal: AbortSignal, modes?: AddressModes): Promise<LinkApplier> {
    const pass = new LinkApplier(namespaces, signal, modes);
    await pass.#observe();
    return pass;
  }

  get have(): Snapshot {
    return {
      ...this.#links,
      namespaces: { host: this.#namespaces.host ?? String(process.pid), router: this.#namespaces.router },
      routes: this.#routes,
      ...(this.#ovs && { ovs: this.#ovs }),
    };
  }

  /**
   * Creates or changes links; runs nothing if they match. Stops at the first rejection and returns it; if a link of a wanted name is not
   * ours, nothing is changed. Throws only if a namespace cannot be entered or `ip` does not answer.
   */
  async apply(links: readonly DesiredLink[]): Promise<LinkApplyResult> {
    try {
      await this.#prepare(links);
    } catch (error) {
      return { changed: 0, rejected: rejection(error) };
    }
    return this.#carryOut(() => plan(links, this.have));
  }

  /** Deletes what we created and moves back what we moved; other links stay. */
  async remove(links: readonly LinkName[]): Promise<LinkApplyResult> {
    const found = links.flatMap(({ netns, name }) => this.#links[netns].get(name) ?? []);
    for (const { netns, name } of links) {
      const link = this.#links[netns].get(name);
      if (link && linkOwnership(link) === "moved") {
        await this.#readRoutes(netns, name);
        this.#links[netns].set(name, { ...link, addresses: together(this.#carried.get(name), link.addresses, ({ text }) => text) });
      }
    }
    // An Open vSwitch bridge without its daemon has no link, nor do its ports; without a database there is nothing of ours in it.
    const mayBeOvs =
      found.length < links.length || found.some((link) => /^(?:openvswitch|tun)$/.test(link.type) || link.master === OVS_DATAPATH);
    if (mayBeOvs) this.#ovs ??= await readOvs(this.#signal).catch(() => undefined);
    return this.#carryOut(() => planRemoval(links, this.have));
  }

  /**
   * Makes the kernel announce existing addresses again. `ip addr` can only do that with a command that also adds them, so an address that
   * was removed since the links were read is skipped: it is drift, and a pass that restores it also reports it. Returns the announced ones.
   */
  async announce<A extends { readonly link: string; readonly address: string }>(role: NetnsRole, addresses: readonly A[]): Promise<A[]> {
    const now = await this.#readLinks(role);
    const there = addresses.filter(({ link, address }) => now.get(link)?.addresses.some(({ text }) => text === address));
    if (there.length === 0) return [];
    await this.#batches[role].run(
      there.map(({ link, address }) => ["addr", "replace", address, "dev", link, ...(address.includes(":") ? ["nodad"] : [])]),
      [],
    );
    return there;
  }

  /** By path, `net/ipv4/conf/all/forwarding`; written only if different. */
  sysctls(wanted: Readonly<Record<string, string>>, role: NetnsRole): Promise<SysctlOutcome> {
    return setSysctls(wanted, this.#namespaces[role], this.#signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(ROLES.map((netns) => this.#batches[netns][Symbol.asyncDispose]()));
  }

  async #observe(): Promise<void> {
    await Promise.all(ROLES.map(async (netns) => (this.#links[netns] = await this.#readLinks(netns))));
  }

  async #readLinks(role: NetnsRole): Promise<Map<string, Link>> {
    for (let attempt = 1; ; attempt++) {
      const batch = new Batch(this.#namespaces[role], this.#signal);
      const { links, failed } = await this.#dump(role, batch);
      await batch[Symbol.asyncDispose]();
      if (failed)
        throw new KernelError("Rejected", failed.text, { command: batch.typed(["addr"]), namespace: this.#namespaces[role] ?? "" });
      // On a busy node links change all the time; a later pass reads again.
      if (!batch.interrupted || attempt === MOST_READS) return links;
    }
  }

  async #dump(role: NetnsRole, batch: Batch): Promise<{ links: Map<string, Link>; failed?: BatchResult["failed"] }> {
    const { replies, failed } = await batch.run([], [["addr"]]);
    if (failed) return { links: new Map(), failed };
    const known = await this.#modes?.of(this.#namespaces[role], replies[0]);
    if (known) return { links: parseLinks(replies[0], known) };
    const details = await batch.run([], [["link"]]);
    if (details.failed) return { links: new Map(), failed: details.failed };
    await this.#modes?.learn(this.#namespaces[role], details.replies[0]);
    return { links: parseLinks(replies[0], details.replies[0]) };
  }

  async #prepare(links: readonly DesiredLink[]): Promise<void> {
    for (const { type, netns, name, master } of links) {
      const link = this.#links[netns].get(name);
      const there = this.#links[otherNamespace(netns)].get(name);
      if (type === "nic" && !link && there) {
        await this.#readRoutes(otherNamespace(netns), name);
        this.#carried.set(name, there.addresses);
      }
      const ovs = type === "ovs-bridge" || master?.startsWith(OVS_MASTER) || link?.master === OVS_DATAPATH;
      if (ovs) this.#ovs ??= await readOvs(this.#signal);
    }
  }

  async #readRoutes(role: NetnsRole, device: string): Promise<void> {
    const read = async (family: 4 | 6) =>
      JSON.parse(
        await ip(this.#namespaces[role], [`-${family}`, "-d", "-j", "route", "show", "table", "main"], { signal: this.#signal }),
      ) as unknown;
    const [v4, v6] = await Promise.all([read(4), read(6)]);
    const routes = [...routesThrough(device, v4, 4), ...routesThrough(device, v6, 6)];
    this.#routes.set(
      device,
      together(this.#routes.get(device), routes, ({ args }) => args.join(" ")),
    );
  }

  /** At most two rounds: what the first cannot foresee, such as addresses that were lost with a change of master, the second repairs. */
  async #carryOut(next: () => LinkPlan): Promise<LinkApplyResult> {
    let changed = 0;
    for (let round = 0; round < 2; round++) {
      const planned = next();
      if (planned.rejected) return { changed, rejected: planned.rejected };
      if (planned.commands.length === 0) return { changed };
      try {
        await this.#run(planned);
      } catch (error) {
        const rejected = rejection(error);
        await this.#observe();
        if (this.#ovs) this.#ovs = await readOvs(this.#signal).catch(() => undefined);
        return { changed, rejected };
      }
      changed += planned.commands.length;
    }
    const [left] = next().commands;
    if (!left) return { changed };
    const { netns, link, args } = left;
    const command = this.#batches[netns].typed(args);
    const about = { command, namespace: this.#namespaces[netns] ?? "", link };
    return {
      changed,
      rejected: new KernelError("Rejected", `the kernel accepted the command, but the change did not last: ${command}`, about),
    };
  }

  async #run({ commands, touches }: LinkPlan): Promise<void> {
    this.#modes?.forget();
    const order = segments(commands);
    for (const netns of ROLES) this.#foresee(netns, touches[netns]);
    const unread = new Map(ROLES.map((netns) => [netns, [...touches[netns]].flatMap(([name, link]) => (link ? [name] : []))]));
    for (const [at, segment] of order.entries()) {
      const [{ program, netns, forgets } = { program: "ip", netns: "host", forgets: true } as const] = segment;
      if (program === "ovs-vsctl") {
        for (const { args, link } of segment) await ovsVsctl(args, { signal: this.#signal, link });
        this.#ovs = await readOvs(this.#signal);
      } else {
        const last = !forgets && !order.slice(at + 1).some((later) => later[0]?.netns === netns);
        await this.#runIp(segment, last ? (unread.get(netns) ?? []) : []);
        if (last) unread.delete(netns);
      }
      if (forgets) for (const batch of Object.values(this.#batches)) batch.retire();
    }
    await Promise.all([...unread].map(([netns, names]) => this.#refresh(netns, names)));
  }

  #foresee(role: NetnsRole, touches: ReadonlyMap<string, Link | undefined>): void {
    for (const [name, link] of touches) {
      if (link) this.#links[role].set(name, link);
      else this.#links[role].delete(name);
    }
  }

  /** Reads only these links afterwards: reading all would take longer than the commands. */
  async #runIp(segment: readonly Command[], names: readonly string[]): Promise<void> {
    const netns = segment[0]?.netns ?? "host";
    const { replies, failed } = await this.#batches[netns].run(
      segment.map(({ args }) => args),
      names.map(showLink),
    );
    const command = failed && segment[failed.line];
    if (command) {
      const about = { command: this.#batches[netns].typed(command.args), namespace: this.#namespaces[netns] ?? "", link: command.link };
      throw new KernelError("Rejected", failed.text, about);
    }
    if (failed) return this.#observe();
    this.#take(netns, replies);
  }

  async #refresh(role: NetnsRole, names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const { replies, failed } = await this.#batches[role].run([], names.map(showLink));
    if (failed) await this.#observe();
    else this.#take(role, replies);
  }

  /** Keeps the addresses that were set: reading those of one link takes longer the more others there are. */
  #take(role: NetnsRole, replies: readonly unknown[]): void {
    const links = this.#links[role];
    for (const link of parseLinks(replies.flat()).values())
      links.set(link.name, { ...link, addresses: links.get(link.name)?.addresses ?? [] });
  }
}

/** Appends those that are not in `before`. */
function together<T>(before: readonly T[] = [], now: readonly T[], textOf: (one: T) => string): T[] {
  const known = new Set(before.map(textOf));
  return [...before, ...now.filter((one) => !known.has(textOf(one)))];
}

const showLink = (name: string) => ["link", "show", "dev", name];

/** A rejection belongs to a resource; any other error is thrown. */
function rejection(error: unknown): KernelError {
  if (error instanceof KernelError && error.code === "Rejected") return error;
  throw error;
}
