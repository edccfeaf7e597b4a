import type { Fragment } from "../frr/fragment.ts";
import type { RejectedLine } from "../frr/transaction.ts";
import type { DesiredLink } from "../hostnet/desired-link.ts";
import { BackendError, type FrrBackend, type LinkBackend, type RouterBackends } from "./backends.ts";
import { type Cost, type PassRecord, sysctlsUnwritable } from "./pass-record.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import type { ResourceStep, RouterKind } from "./model/step.ts";

/** A router forwards, learns neighbors from what they say of themselves, answers for its own addresses alone, and accepts packets on another path than its own. */
export const ROUTER_SYSCTLS: Readonly<Record<string, string>> = {
  "net/ipv4/conf/all/forwarding": "1",
  "net/ipv6/conf/all/forwarding": "1",
  "net/ipv4/conf/all/arp_accept": "1",
  "net/ipv4/conf/default/arp_accept": "1",
  "net/ipv6/conf/all/accept_untracked_na": "1",
  "net/ipv6/conf/default/accept_untracked_na": "1",
  "net/ipv4/conf/all/rp_filter": "0|2",
  "net/ipv4/conf/default/rp_filter": "0|2",
  "net/ipv4/conf/all/arp_ignore": "0|1|2",
  "net/ipv4/conf/all/arp_filter": "0",
  "net/ipv4/conf/all/proxy_arp": "0",
  "net/ipv6/conf/all/disable_ipv6": "0",
  "net/ipv6/conf/default/disable_ipv6": "0",
  // Of VXLAN packets too.
  "net/ipv4/ip_default_ttl": "64|128|255",
};

/** Those of one interface count for themselves, whatever `all` says. */
function interfaceSysctls(name: string): [string, string][] {
  return [
    [`net/ipv4/conf/${name}/forwarding`, "1"],
    [`net/ipv6/conf/${name}/forwarding`, "1"],
    [`net/ipv4/conf/${name}/rp_filter`, "0|2"],
    [`net/ipv4/conf/${name}/arp_ignore`, "0|1|2"],
    [`net/ipv4/conf/${name}/arp_filter`, "0"],
    [`net/ipv4/conf/${name}/proxy_arp`, "0"],
    [`net/ipv6/conf/${name}/disable_ipv6`, "0"],
  ];
}

/** Applies the links and lines of one resource, or leaves the node as it was. A rejection is thrown as a BackendError. */
export class ResourceApplier {
  readonly #backends: RouterBackends;
  readonly #kernel: LinkBackend;
  readonly #daemons: FrrBackend;
  readonly #record: PassRecord;
  #isRebuilt = false;

  constructor(backends: RouterBackends, record: PassRecord) {
    this.#backends = backends;
    this.#kernel = backends.kernel;
    this.#daemons = backends.daemons;
    this.#record = record;
  }

  /** FRR was emptied in this pass, so that nothing of it is there as it was applied. */
  get isRebuilt(): boolean {
    return this.#isRebuilt;
  }

  /** What every router has. Without it there is no router, and that is not the fault of a resource. */
  async applyBase(): Promise<void> {
    const { base } = this.#backends;
    const { sent, rejected } = await this.#daemons.apply(base);
    this.#record.note(base.owner, { lines: sent }, this.#record.lastGood.size > 0);
    if (rejected) throw BackendError.ofLine(rejected);
  }

  async applyLinks(links: readonly DesiredLink[], cost: Cost): Promise<void> {
    const { changed, rejected } = await this.#kernel.apply(links);
    cost.links += changed;
    if (rejected) throw BackendError.of(rejected);
  }

  /** Removes those of the links that are there by now and that no resource owns. */
  removeAdded(links: readonly DesiredLink[]): ReturnType<LinkBackend["remove"]> {
    const added = links.filter((link) => this.#kernel.have[link.netns].has(link.name) && !this.#record.linkOwners.isOwned(link));
    return this.#kernel.remove(added.toReversed());
  }

  /** Applies as many of the links as the kernel accepts. */
  async keepLinks(owner: string, links: readonly DesiredLink[], cost: Cost): Promise<void> {
    const absent = this.absent(links);
    if (kindOf(owner) === "Underlay") await this.#forward(owner, cost);
    const { changed, rejected } = await this.#kernel.apply(links);
    cost.links += changed;
    if (rejected) for (const link of links) cost.links += (await this.#kernel.apply([link])).changed;
    const brought = this.#present(absent);
    const cutOff = await rejectionOf(() => this.#assertNotCutOff(brought));
    if (cutOff) await this.#kernel.remove(brought.filter(({ type }) => type === "nic"));
    if (cutOff) throw cutOff;
    if (rejected) throw BackendError.of(rejected);
  }

  /** Links, then lines. The Underlay's are all there before the first VXLAN device of a VNI: without an EVPN instance bgpd would fall over it. */
  async apply(step: ResourceStep, before: LastGoodResource | undefined, cost: Cost): Promise<void> {
    const absent = this.absent(step.rendered.links);
    try {
      if (step.kind === "Underlay") await this.#forward(step.owner, cost);
      await this.applyLinks(step.rendered.links, cost);
      await this.#assertNotCutOff(this.#present(absent));
      await this.applyLines(step, cost);
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      throw await this.#restoreLinks(absent, before, error);
    }
  }

  /** What cannot be written is a failure of the Underlay that stops nothing: VNIs may work without. */
  async #forward(owner: string, cost: Cost): Promise<void> {
    const interfaces = [...this.#kernel.have.router.keys()].flatMap(interfaceSysctls);
    try {
      const { changed, unwritable } = await this.#kernel.sysctls({ ...ROUTER_SYSCTLS, ...Object.fromEntries(interfaces) }, "router");
      cost.links += changed.length;
      if (unwritable.size > 0) this.#record.failures.push(sysctlsUnwritable(owner, unwritable));
    } catch (error) {
      throw BackendError.of(error as Error);
    }
  }

  async #assertNotCutOff(brought: readonly DesiredLink[]): Promise<void> {
    const moved = brought.filter((link) => link.type === "nic").map(({ name }) => name);
    if (moved.length === 0 || (await this.#backends.apiAnswers())) return;
    throw new BackendError(`Moved interface ${moved.join(", ")} back: the API server did not answer after the move`);
  }

  async applyLines(step: Configured, cost: Cost): Promise<void> {
    const outcome = await this.#sendLines(step.kind, step.rendered.fragment);
    cost.lines += outcome.sent;
    if (outcome.rejected) throw BackendError.ofLine(outcome.rejected);
    if (outcome.rebuild) await this.#rebuild(step, cost);
  }

  #sendLines(kind: RouterKind, fragment: Fragment) {
    return kind === "RawFRRConfig" ? this.#daemons.applyRaw(fragment) : this.#daemons.apply(fragment);
  }

  /** A change that lines cannot express: FRR is emptied and set up with the new Underlay; the steps that follow bring back the rest. */
  async #rebuild(step: Configured, cost: Cost): Promise<void> {
    this.#backends.onRebuild(this.#record.selected);
    this.#isRebuilt = true;
    const outcome = await this.#daemons.rebuild([this.#backends.base, step.rendered.fragment]);
    cost.lines += outcome.sent;
    if (!outcome.rejected) return;
    const rejection = BackendError.ofLine(outcome.rejected);
    const rejected = await this.#setUpAsBefore(step.owner);
    throw rejected ? rejection.also(BackendError.ofLine(rejected)) : rejection;
  }

  /** FRR with all that is live, as far as it takes that back. */
  async #setUpAsBefore(rejected: string): Promise<RejectedLine | undefined> {
    let { rejected: first } = await this.#daemons.rebuild([this.#backends.base]);
    for (const owner of this.#record.inRemovalOrder().toReversed()) {
      const { fragment } = (this.#record.lastGood.get(owner) as LastGoodResource).rendered;
      const outcome = await this.#sendLines(kindOf(owner), fragment);
      first ??= outcome.rejected;
    }
    if (!this.#record.lastGood.has(rejected)) await this.#daemons.remove(rejected);
    return first;
  }

  /** Those that are not there yet. */
  absent(links: readonly DesiredLink[]): DesiredLink[] {
    return links.filter(({ netns, name }) => !this.#kernel.have[netns].has(name));
  }

  #present(links: readonly DesiredLink[]): DesiredLink[] {
    return links.filter(({ netns, name }) => this.#kernel.have[netns].has(name));
  }

  /** Links as they were before the step. Returns why it failed, and whether the kernel rejected the way back too. */
  async #restoreLinks(
    absent: readonly DesiredLink[],
    before: LastGoodResource | undefined,
    rejection: BackendError,
  ): Promise<BackendError> {
    const removed = await this.removeAdded(absent);
    const brought = before ? await this.#kernel.apply(before.rendered.links) : { changed: 0 };
    const rejected = removed.rejected ?? brought.rejected;
    return rejected ? rejection.also(BackendError.of(rejected)) : rejection;
  }
}

type Configured = Pick<ResourceStep, "owner" | "kind" | "rendered">;

export function kindOf(owner: string): RouterKind {
  return owner.slice(0, owner.indexOf("/")) as RouterKind;
}

/** The rejection that the work throws, if it throws one. */
export async function rejectionOf(work: () => Promise<void>): Promise<BackendError | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof BackendError) return error;
    throw error;
  }
}
