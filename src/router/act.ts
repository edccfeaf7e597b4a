import { isDeepStrictEqual } from "node:util";
import { createdAlias, linkOwnership } from "../hostnet/ownership.ts";
import type { DesiredLink } from "../hostnet/desired-link.ts";
import type { Failure } from "../resilience/failure.ts";
import type { LastGoodResource } from "./render/rendered.ts";
import { applicationFailed, removalFailed, cannotRestore, linesLost } from "./act-failures.ts";
import { FORWARDING } from "./forwarding.ts";
import { type FrrBackend, type RouterBackends, type LinkBackend, type LostLine, BackendError } from "./backends.ts";
import { LinkOwners, keyOfLink } from "./link-owners.ts";
import { desiredLinePaths, onlyDesired } from "../frr/fragment-lines.ts";
import type { RejectedLine } from "../frr/transaction.ts";
import type { RouterPlan } from "./plan.ts";
import type { StepResult, RouterKind, ResourceStep } from "./step.ts";
import { applyOrder, waiting } from "./apply-order.ts";

/** What one pass did for one resource, or for what belongs to none. */
export interface ResourceChange {
  readonly owner: string;
  readonly links: number;
  readonly lines: number;
  /** It was applied before: the node was changed from outside. */
  readonly drift: boolean;
}

export interface RouterApplyResult {
  /** What the kernel or FRR rejected, and resources whose dependency is missing. */
  readonly failures: readonly Failure[];
  /** Rejected resources, by owner. */
  readonly rejected: ReadonlyMap<string, RejectedStep>;
  /** The generation that is live, by owner. */
  readonly live: ReadonlyMap<string, number>;
  /** The node's Underlay failed: everything else waits, and what was live last is kept up. */
  readonly stopped?: Failure;
  /** In order; what cost nothing is not listed. */
  readonly changes: readonly ResourceChange[];
  /** Lines in FRR without an owner. */
  readonly foreign: readonly string[];
}

interface RejectedStep {
  /** It was to be live together with others, and all of them are as before. */
  readonly together: boolean;
  /** The kernel rejected a link of its own: it can be retried without affecting others. */
  readonly harmless: boolean;
}

/**
 * Applies the plan to the node, one resource after the other. A rejection affects only its own resource, except for the Underlay. `lastGood` is
 * what is live now, and is kept true step by step: an aborted pass leaves it accurate. What is done is added to `changes`, which has it
 * also when this throws.
 */
export async function act(
  plan: RouterPlan,
  lastGood: Map<string, LastGoodResource>,
  backends: RouterBackends,
  changes: ResourceChange[] = [],
): Promise<RouterApplyResult> {
  return await new Pass(plan, lastGood, backends, changes).run();
}

/** Restores and repairs the last good configuration without the cluster. Nothing is changed or removed. */
export async function reapply(
  lastGood: Map<string, LastGoodResource>,
  backends: RouterBackends,
  changes: ResourceChange[] = [],
): Promise<RouterApplyResult> {
  return await new Pass({ underlay: undefined, steps: [], failures: [], selected: [] }, lastGood, backends, changes).keepUp();
}

/** Dependants first: the VXLAN devices go before what they stand on, FRR's default instance goes last. */
const RETIRING: readonly string[] = ["RawFRRConfig", "L3Passthrough", "L3VNI", "L2VNI", "Underlay"];

class Pass {
  readonly #plan: RouterPlan;
  readonly #lastGood: Map<string, LastGoodResource>;
  readonly #backends: RouterBackends;
  readonly #kernel: LinkBackend;
  readonly #daemons: FrrBackend;
  readonly #linkOwners: LinkOwners;
  readonly #failures: Failure[] = [];
  readonly #rejected = new Map<string, RejectedStep>();
  readonly #broken = new Set<string>();
  readonly #changes: ResourceChange[];
  /** The links that the plan asks for. */
  readonly #planned: ReadonlySet<string>;
  /** Let go by one step while another, still to come, may want them. */
  readonly #released: Named[] = [];
  /** FRR was emptied in this pass, so that nothing of it is there as it was applied. */
  #rebuilt = false;

  constructor(plan: RouterPlan, lastGood: Map<string, LastGoodResource>, backends: RouterBackends, changes: ResourceChange[]) {
    this.#changes = changes;
    this.#plan = plan;
    this.#lastGood = lastGood;
    this.#backends = backends;
    this.#kernel = backends.kernel;
    this.#daemons = backends.daemons;
    this.#linkOwners = new LinkOwners(lastGood);
    const steps = plan.underlay ? [plan.underlay, ...plan.steps] : plan.steps;
    this.#planned = new Set(steps.flatMap(({ rendered }) => rendered.links.map(keyOfLink)));
  }

  async run(): Promise<RouterApplyResult> {
    const { underlay, stopped } = this.#plan;
    if (stopped) return await this.keepUp(stopped);

    await this.#applyBase();
    const walk = applyOrder(this.#plan);
    let next = walk.next();
    if (underlay && !next.done) {
      const live = await this.#take(underlay);
      const [failure] = this.#failures;
      if (failure && (live !== "applied" || this.#broken.has(underlay.owner))) return await this.keepUp(failure);
      next = walk.next(live);
    }
    await this.#makeRoom();

    const visited = new Set(underlay ? [underlay.owner] : []);
    while (!next.done) {
      const [step, ...others] = next.value;
      for (const { owner } of next.value) visited.add(owner);
      next = walk.next(others.length > 0 ? await this.#takeTogether(next.value) : await this.#take(step as ResourceStep));
    }
    this.#failures.push(...next.value);

    for (const owner of this.#retiring((owner) => !visited.has(owner))) await this.#retire(owner);
    await this.#dropLeft();
    await this.#sweep();
    const { foreign, restored = [], lost = [] } = await this.#daemons.finish({ repair: true });
    this.#readBack(restored, lost);
    return this.#done({ foreign });
  }

  /** Also where a part of it cannot be had: an interface that is gone costs neither the other interfaces nor the VNIs. */
  async keepUp(stopped?: Failure): Promise<RouterApplyResult> {
    const owners = this.#retiring(() => true).toReversed();
    // Nothing is remembered of what may be running.
    if (owners.length === 0) return this.#done({ ...(stopped && { stopped }) });

    await this.#applyBase();
    let stands = true;
    for (const owner of owners) {
      if (!stands) this.#broken.add(owner);
      else if (!(await this.#keep(owner)) && owner.startsWith("Underlay/")) stands = false;
    }
    const { restored = [], lost = [] } = await this.#daemons.finish({ keepForeign: true });
    this.#readBack(restored, lost);
    return this.#done({ ...(stopped && { stopped }) });
  }

  /** Returns whether FRR has its lines. */
  async #keep(owner: string): Promise<boolean> {
    const { rendered } = this.#lastGood.get(owner) as LastGoodResource;
    const kind = owner.slice(0, owner.indexOf("/")) as RouterKind;
    const cost = { links: 0, lines: 0 };
    const linkProblem = await rejectionOf(() => this.#keepLinks(kind, rendered.links, cost));
    const lineProblem = await rejectionOf(() => this.#lines({ owner, kind, rendered }, cost));
    this.#note(owner, cost, !this.#rebuilt);
    const problem = linkProblem ?? lineProblem;
    if (problem) {
      this.#broken.add(owner);
      if (!this.#isFailing(owner)) this.#failures.push(cannotRestore(owner, problem));
    }
    return !lineProblem;
  }

  async #keepLinks(kind: RouterKind, links: readonly DesiredLink[], cost: Cost): Promise<void> {
    const absent = this.#absent(links);
    if (kind === "Underlay") await this.#forward(cost);
    const { changed, rejected } = await this.#kernel.apply(links);
    cost.links += changed;
    if (rejected) for (const link of links) cost.links += (await this.#kernel.apply([link])).changed;
    const brought = absent.filter(({ netns, name }) => this.#kernel.have[netns].has(name));
    const cutOff = await rejectionOf(() => this.#assertNotCutOff(brought));
    if (cutOff) await this.#kernel.remove(brought.filter(({ type }) => type === "nic"));
    if (cutOff) throw cutOff;
    if (rejected) throw BackendError.of(rejected);
  }

  /** Whether it is known already that the resource cannot be what it was: its spec is still the same. */
  #isFailing(owner: string): boolean {
    const isOwn = ({ kind, name }: { kind: string; name: string }) => `${kind}/${name}` === owner;
    const isSame = this.#plan.selected.some((one) => isOwn(one) && one.generation === this.#lastGood.get(owner)?.generation);
    return isSame && (this.#plan.failures.some(isOwn) || this.#failures.some(isOwn));
  }

  #readBack(restored: readonly LostLine[], lost: readonly LostLine[]): void {
    for (const [owner, lines] of Map.groupBy(restored, ({ owner }) => owner)) this.#note(owner, { links: 0, lines: lines.length }, true);
    for (const [owner, lines] of Map.groupBy(lost, ({ owner }) => owner)) this.#miss(owner, lines);
  }

  /** What every router has. Without it there is no router, and that is not the fault of a resource. */
  async #applyBase(): Promise<void> {
    const { base } = this.#backends;
    const { sent, rejected } = await this.#daemons.apply(base);
    this.#note(base.owner, { links: 0, lines: sent }, this.#lastGood.size > 0);
    if (rejected) throw BackendError.ofLine(rejected);
  }

  #done({ stopped, foreign = [] }: { stopped?: Failure; foreign?: readonly string[] }): RouterApplyResult {
    const live = new Map<string, number>();
    for (const [owner, { generation }] of this.#lastGood) if (!this.#broken.has(owner)) live.set(owner, generation);
    return { failures: this.#failures, rejected: this.#rejected, live, changes: this.#changes, foreign, ...(stopped && { stopped }) };
  }

  async #take(step: ResourceStep): Promise<StepResult> {
    const { owner, uid, generation, spec, rendered } = step;
    const lastGood = this.#lastGood.get(owner);
    // Everything depends on the Underlay: a recreated one also keeps the old one live until it is applied.
    const before = lastGood?.uid === uid || step.kind === "Underlay" ? lastGood : undefined;
    const unchanged = before !== undefined && isDeepStrictEqual(before.rendered, rendered);
    const cost = { links: 0, lines: 0 };

    try {
      await this.#apply(step, before, cost);
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      this.#failures.push(applicationFailed(step, error));
      this.#rejected.set(owner, { together: false, harmless: error.source === "kernel" });
      if (unchanged) this.#broken.add(owner);
      if (lastGood && !before) await this.#retire(owner);
      if (!before) return "no";
      return unchanged ? "applied" : "previous";
    } finally {
      this.#note(owner, cost, unchanged && !this.#rebuilt);
    }

    this.#lastGood.set(owner, { uid, generation, spec, rendered });
    await this.#release(step, this.#linkOwners.setLinks(owner, rendered.links));
    return "applied";
  }

  /** Removes links that the step released and no other resource owns. Those that another step asks for wait for it. */
  async #release(step: ResourceStep, left: readonly Named[]): Promise<void> {
    const awaited = left.filter((link) => this.#planned.has(keyOfLink(link)));
    this.#released.push(...awaited);
    const dropped = await this.#kernel.remove(left.filter((link) => !awaited.includes(link)).toReversed());
    if (dropped.rejected) this.#failures.push(applicationFailed(step, BackendError.of(dropped.rejected)));
    this.#note(step.owner, { links: dropped.changed, lines: 0 }, false);
  }

  /** All as they ask, or all as before: each waits for what another has, so that one that is rejected would cost others what works. */
  async #takeTogether(steps: readonly ResourceStep[]): Promise<StepResult> {
    const asking = steps.filter(({ leaves }) => !leaves);
    const isNew = asking.flatMap(({ rendered }) => this.#absent(rendered.links).filter((link) => !this.#linkOwners.isOwned(link)));
    const before = new Map(steps.flatMap((step) => this.#liveBefore(step)));

    // New links come first: the kernel may reject them before any other resource is affected.
    for (const step of asking) {
      const own = this.#absent(step.rendered.links).filter((link) => isNew.includes(link));
      const rejection = await this.#attempt(step, async (cost) => throwIfRejected(await this.#kernel.apply(own), cost));
      if (rejection) return await this.#putBack(steps, before, isNew, { step, rejection, harmless: true });
    }
    await this.#shrink(steps.flatMap(({ owner, leaves }) => (leaves ? [owner] : [])));
    const left = new Map<ResourceStep, Named[]>();
    for (const step of asking) {
      const rejection = await this.#attempt(step, (cost) => this.#apply(step, undefined, cost));
      if (rejection) return await this.#putBack(steps, before, isNew, { step, rejection, harmless: false });
      const { owner, uid, generation, spec, rendered } = step;
      this.#lastGood.set(owner, { uid, generation, spec, rendered });
      left.set(step, this.#linkOwners.setLinks(owner, rendered.links));
    }
    for (const { owner, leaves } of steps) if (leaves) await this.#retire(owner);
    for (const [step, links] of left) {
      await this.#release(
        step,
        links.filter((link) => !this.#linkOwners.isOwned(link)),
      );
    }
    return "applied";
  }

  #liveBefore({ owner, uid, leaves }: ResourceStep): [string, LastGoodResource][] {
    const lastGood = this.#lastGood.get(owner);
    return lastGood && (leaves || lastGood.uid === uid) ? [[owner, lastGood]] : [];
  }

  async #attempt(step: ResourceStep, work: (cost: Cost) => Promise<void>): Promise<BackendError | undefined> {
    const cost = { links: 0, lines: 0 };
    try {
      return await rejectionOf(() => work(cost));
    } finally {
      this.#note(step.owner, cost, false);
    }
  }

  async #putBack(
    steps: readonly ResourceStep[],
    before: ReadonlyMap<string, LastGoodResource>,
    isNew: readonly DesiredLink[],
    { step, rejection, harmless }: { step: ResourceStep; rejection: BackendError; harmless: boolean },
  ): Promise<StepResult> {
    for (const [owner, good] of before) {
      this.#lastGood.set(owner, good);
      this.#linkOwners.setLinks(owner, good.rendered.links);
    }
    for (const { owner } of steps) if (!before.has(owner) && this.#lastGood.has(owner)) await this.#retire(owner);
    let problem: BackendError | undefined;
    // Twice: what comes back first may lose to what has not left yet.
    for (const round of ["first", "last"]) {
      for (const one of steps) {
        const rendered = before.get(one.owner)?.rendered;
        if (!rendered) continue;
        const rejected = await this.#attempt(one, async (cost) => {
          throwIfRejected(await this.#kernel.apply(rendered.links), cost);
          await this.#lines({ owner: one.owner, kind: one.kind, rendered }, cost);
        });
        if (rejected && round === "last") this.#broken.add(one.owner);
        if (round === "last") problem ??= rejected;
      }
    }
    const added = isNew.filter((link) => this.#kernel.have[link.netns].has(link.name) && !this.#linkOwners.isOwned(link));
    const { changed } = await this.#kernel.remove(added.toReversed());
    this.#note(step.owner, { links: changed, lines: 0 }, false);

    this.#rejected.set(step.owner, { together: true, harmless });
    this.#failures.push(applicationFailed(step, problem ? rejection.also(problem) : rejection));
    const others = steps.filter((other) => other !== step && !other.leaves);
    this.#failures.push(...others.map((other) => waiting(other, steps, step)));
    return "previous";
  }

  /** Links, then lines. The Underlay's are all there before the first VXLAN device of a VNI: without an EVPN instance bgpd would fall over it. */
  async #apply(step: ResourceStep, before: LastGoodResource | undefined, cost: Cost): Promise<void> {
    const absent = this.#absent(step.rendered.links);
    try {
      if (step.kind === "Underlay") await this.#forward(cost);
      throwIfRejected(await this.#kernel.apply(step.rendered.links), cost);
      await this.#assertNotCutOff(absent);
      await this.#lines(step, cost);
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      throw await this.#restoreLinks(absent, before, error);
    }
  }

  async #forward(cost: Cost): Promise<void> {
    try {
      cost.links += (await this.#kernel.sysctls(FORWARDING, "router")).changed.length;
    } catch (error) {
      throw BackendError.of(error as Error);
    }
  }

  async #assertNotCutOff(brought: readonly DesiredLink[]): Promise<void> {
    const moved = brought.filter((link) => link.type === "nic").map(({ name }) => name);
    if (moved.length === 0 || (await this.#backends.apiAnswers())) return;
    throw new BackendError(`Moved interface ${moved.join(", ")} back: the API server did not answer after the move`);
  }

  async #lines(step: Configured, cost: Cost): Promise<void> {
    const outcome = await this.#applyLines(step);
    cost.lines += outcome.sent;
    if (outcome.rejected) throw BackendError.ofLine(outcome.rejected);
    if (outcome.rebuild) await this.#rebuild(step, cost);
  }

  #applyLines({ kind, rendered: { fragment } }: Configured) {
    return kind === "RawFRRConfig" ? this.#daemons.applyRaw(fragment) : this.#daemons.apply(fragment);
  }

  /** A change that lines cannot express: FRR is emptied and set up with the new Underlay; the steps that follow bring back the rest. */
  async #rebuild(step: Configured, cost: Cost): Promise<void> {
    this.#backends.onRebuild(new Set(this.#plan.selected.map(({ kind, name }) => `${kind}/${name}`)));
    this.#rebuilt = true;
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
    for (const owner of this.#retiring(() => true).toReversed()) {
      const { fragment } = (this.#lastGood.get(owner) as LastGoodResource).rendered;
      const outcome = await (owner.startsWith("RawFRRConfig/") ? this.#daemons.applyRaw(fragment) : this.#daemons.apply(fragment));
      first ??= outcome.rejected;
    }
    if (!this.#lastGood.has(rejected)) await this.#daemons.remove(rejected);
    return first;
  }

  /** Those that are not there yet. */
  #absent(links: readonly DesiredLink[]): DesiredLink[] {
    return links.filter(({ netns, name }) => !this.#kernel.have[netns].has(name));
  }

  /** Links as they were before the step. Returns why it failed, and whether the kernel rejected the way back too. */
  async #restoreLinks(
    absent: readonly DesiredLink[],
    before: LastGoodResource | undefined,
    rejection: BackendError,
  ): Promise<BackendError> {
    const added = absent.filter((link) => this.#kernel.have[link.netns].has(link.name) && !this.#linkOwners.isOwned(link));
    const removed = await this.#kernel.remove(added.toReversed());
    const brought = before ? await this.#kernel.apply(before.rendered.links) : { changed: 0 };
    const rejected = removed.rejected ?? brought.rejected;
    return rejected ? rejection.also(BackendError.of(rejected)) : rejection;
  }

  /** Leaving resources first release what no step asks for, so that it blocks no step; the rest passes to its new owner or is removed at the end. */
  async #makeRoom(): Promise<void> {
    const { underlay, steps, ousted = [] } = this.#plan;
    const planned = new Set([...steps, ...ousted].map(({ owner }) => owner));
    if (underlay) planned.add(underlay.owner);
    // The Underlay goes last; text that a person wrote is in one piece.
    await this.#shrink(this.#retiring((owner) => !planned.has(owner) && !/^(Underlay|RawFRRConfig)\//.test(owner)));
  }

  async #shrink(leaving: readonly string[]): Promise<void> {
    if (leaving.length === 0) return;
    const lines = desiredLinePaths(this.#plan.steps.map(({ rendered }) => rendered.fragment));
    for (const owner of leaving) {
      const { rendered } = this.#lastGood.get(owner) as LastGoodResource;
      const shrunk = { owner, lines: onlyDesired(rendered.fragment.lines, lines) };
      const outcome = await (shrunk.lines.length > 0 ? this.#daemons.apply(shrunk) : this.#daemons.remove(owner));
      const free = this.#linkOwners.onlyOf(owner).filter((link) => !this.#planned.has(keyOfLink(link)));
      const { changed } = outcome.rejected ? { changed: 0 } : await this.#kernel.remove(free.toReversed());
      this.#note(owner, { links: changed, lines: outcome.sent }, false);
    }
  }

  #retiring(leaves: (owner: string) => boolean): string[] {
    return [...this.#lastGood.keys()].filter(leaves).sort((a, b) => retiringRank(a) - retiringRank(b));
  }

  async #retire(owner: string): Promise<void> {
    const outcome = await this.#daemons.remove(owner);
    if (outcome.rejected) return void this.#failures.push(removalFailed(owner, BackendError.ofLine(outcome.rejected)));
    const links = this.#linkOwners.onlyOf(owner);
    const { changed, rejected } = await this.#kernel.remove(links.toReversed());
    this.#note(owner, { links: changed, lines: outcome.sent }, false);
    if (rejected) return void this.#failures.push(removalFailed(owner, BackendError.of(rejected)));
    this.#lastGood.delete(owner);
    this.#linkOwners.release(owner);
  }

  async #dropLeft(): Promise<void> {
    const left = this.#released.filter((link) => !this.#linkOwners.isOwned(link));
    const { changed } = await this.#kernel.remove(left.toReversed());
    this.#note("", { links: changed, lines: 0 }, false);
  }

  /**
   * Links of ours that nothing asks for: left by an agent that could not remember them. Those of a resource that fails now may be its last good form, with
   * the VRF that they are in.
   */
  async #sweep(): Promise<void> {
    const failing = new Set(this.#plan.failures.concat(this.#failures).map(({ kind, name }) => createdAlias(`${kind}/${name}`)));
    const spared = ({ alias }: { alias: string }) => failing.has(alias.split(" ", 1)[0] ?? "");
    for (const netns of ["host", "router"] as const) {
      const unheld = [...this.#kernel.have[netns].values()].filter(
        (link) => linkOwnership(link) !== "foreign" && !this.#linkOwners.isOwned({ netns, name: link.name }),
      );
      const vrfs = unheld.some(spared);
      const left = unheld.filter((link) => !spared(link) && !(vrfs && link.alias.startsWith(createdAlias("VRF/"))));
      if (left.length === 0) continue;
      const { changed } = await this.#kernel.remove(left.map(({ name }) => ({ netns, name })));
      this.#note("", { links: changed, lines: 0 }, true);
    }
  }

  #miss(owner: string, lines: readonly LostLine[]): void {
    if (!this.#lastGood.has(owner)) return;
    this.#broken.add(owner);
    this.#failures.push(linesLost(owner, lines));
  }

  #note(owner: string, { links, lines }: Cost, drift: boolean): void {
    if (links > 0 || lines > 0) this.#changes.push({ owner, links, lines, drift });
  }
}

function retiringRank(owner: string): number {
  return RETIRING.indexOf(owner.slice(0, owner.indexOf("/")));
}

type Named = Pick<DesiredLink, "netns" | "name">;
type Configured = Pick<ResourceStep, "owner" | "kind" | "rendered">;

interface Cost {
  links: number;
  lines: number;
}

function throwIfRejected({ changed, rejected }: { changed: number; rejected?: Error }, cost: Cost): void {
  cost.links += changed;
  if (rejected) throw BackendError.of(rejected);
}

async function rejectionOf(work: () => Promise<void>): Promise<BackendError | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof BackendError) return error;
    throw error;
  }
}
