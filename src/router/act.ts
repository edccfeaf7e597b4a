import { isDeepStrictEqual } from "node:util";
import { desiredLinePaths, onlyDesired } from "../frr/fragment-lines.ts";
import type { LinkName } from "../hostnet/apply.ts";
import type { DesiredLink } from "../hostnet/desired-link.ts";
import { createdAlias, linkOwnership } from "../hostnet/ownership.ts";
import type { Failure } from "../resilience/failure.ts";
import { applyOrder, waiting } from "./apply-order.ts";
import { kindOf, rejectionOf, ResourceApplier } from "./apply-resource.ts";
import { BackendError, type FrrBackend, type LinkBackend, type RouterBackends } from "./backends.ts";
import { keyOfLink } from "./link-owners.ts";
import {
  applicationFailed,
  cannotRestore,
  type Cost,
  PassRecord,
  removalFailed,
  type ResourceChange,
  type RouterApplyResult,
} from "./pass-record.ts";
import type { RouterPlan } from "./plan.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import type { ResourceStep, StepResult } from "./model/step.ts";

/**
 * Applies the plan to the node, resource by resource. A rejection affects only its own resource, except for the Underlay. `lastGood` is
 * updated step by step, so that an aborted pass leaves it accurate. Changes are added to `changes`, also if this throws.
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

class Pass {
  readonly #plan: RouterPlan;
  readonly #kernel: LinkBackend;
  readonly #daemons: FrrBackend;
  readonly #record: PassRecord;
  readonly #applier: ResourceApplier;
  readonly #planned: ReadonlySet<string>;
  /** Released by one step, but another one may want them. */
  readonly #released: LinkName[] = [];

  constructor(plan: RouterPlan, lastGood: Map<string, LastGoodResource>, backends: RouterBackends, changes: ResourceChange[]) {
    this.#plan = plan;
    this.#kernel = backends.kernel;
    this.#daemons = backends.daemons;
    this.#record = new PassRecord(plan, lastGood, changes);
    this.#applier = new ResourceApplier(backends, this.#record);
    const steps = plan.underlay ? [plan.underlay, ...plan.steps] : plan.steps;
    this.#planned = new Set(steps.flatMap(({ rendered }) => rendered.links.map(keyOfLink)));
  }

  async run(): Promise<RouterApplyResult> {
    const { underlay, stopped } = this.#plan;
    if (stopped) return await this.keepUp(stopped);

    await this.#applier.applyBase();
    const walk = applyOrder(this.#plan);
    let next = walk.next();
    if (underlay && !next.done) {
      const live = await this.#take(underlay);
      const [failure] = this.#record.failures;
      if (failure && (live !== "applied" || this.#record.broken.has(underlay.owner))) return await this.keepUp(failure);
      next = walk.next(live);
    }
    await this.#makeRoom();

    const visited = new Set(underlay ? [underlay.owner] : []);
    while (!next.done) {
      const [step, ...others] = next.value;
      for (const { owner } of next.value) visited.add(owner);
      next = walk.next(others.length > 0 ? await this.#takeTogether(next.value) : await this.#take(step as ResourceStep));
    }
    this.#record.failures.push(...next.value);

    for (const owner of this.#record.inRemovalOrder((owner) => !visited.has(owner))) await this.#remove(owner);
    await this.#removeReleased();
    await this.#sweep();
    const { foreign, ...lines } = await this.#daemons.finish({ repair: true });
    this.#record.readBack(lines);
    return this.#record.result({ foreign });
  }

  /** A missing part, such as an interface, affects neither the other interfaces nor the VNIs. */
  async keepUp(stopped?: Failure): Promise<RouterApplyResult> {
    const owners = this.#record.inRemovalOrder().toReversed();
    // Without state, what runs is unknown.
    if (owners.length === 0) return this.#record.result({ stopped });

    await this.#applier.applyBase();
    let stands = true;
    for (const owner of owners) {
      if (!stands) this.#record.broken.add(owner);
      else if (!(await this.#keep(owner)) && owner.startsWith("Underlay/")) stands = false;
    }
    this.#record.readBack(await this.#daemons.finish({ keepForeign: true }));
    return this.#record.result({ stopped });
  }

  /** Returns whether FRR has its lines. */
  async #keep(owner: string): Promise<boolean> {
    const { rendered } = this.#record.lastGood.get(owner) as LastGoodResource;
    const kind = kindOf(owner);
    const cost = { links: 0, lines: 0 };
    const linkProblem = await rejectionOf(() => this.#applier.keepLinks(owner, rendered.links, cost));
    const lineProblem = await rejectionOf(() => this.#applier.applyLines({ owner, kind, rendered }, cost));
    this.#record.note(owner, cost, !this.#applier.isRebuilt);
    const problem = linkProblem ?? lineProblem;
    if (problem) {
      this.#record.broken.add(owner);
      if (!this.#record.isFailing(owner)) this.#record.failures.push(cannotRestore(owner, problem));
    }
    return !lineProblem;
  }

  async #take(step: ResourceStep): Promise<StepResult> {
    const { owner, uid, rendered } = step;
    const lastGood = this.#record.lastGood.get(owner);
    // Everything depends on the Underlay: a recreated one also keeps the old one live until it is applied.
    const before = lastGood?.uid === uid || step.kind === "Underlay" ? lastGood : undefined;
    const unchanged = before !== undefined && isDeepStrictEqual(before.rendered, rendered);
    const cost = { links: 0, lines: 0 };

    try {
      await this.#applier.apply(step, before, cost);
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      this.#record.failures.push(applicationFailed(step, error));
      this.#record.rejected.set(owner, { together: false, harmless: error.source === "kernel" });
      if (unchanged) this.#record.broken.add(owner);
      if (lastGood && !before) await this.#remove(owner);
      if (!before) return "no";
      return unchanged ? "applied" : "previous";
    } finally {
      this.#record.note(owner, cost, unchanged && !this.#applier.isRebuilt);
    }

    await this.#release(step, this.#record.setLive(step));
    return "applied";
  }

  /** Removes links that the step released and no other resource owns. Those that another step asks for wait for it. */
  async #release(step: ResourceStep, left: readonly LinkName[]): Promise<void> {
    const awaited = left.filter((link) => this.#planned.has(keyOfLink(link)));
    this.#released.push(...awaited);
    const dropped = await this.#kernel.remove(left.filter((link) => !awaited.includes(link)).toReversed());
    if (dropped.rejected) this.#record.failures.push(applicationFailed(step, BackendError.of(dropped.rejected)));
    this.#record.note(step.owner, { links: dropped.changed }, false);
  }

  /** All as wanted, or all as before: each waits for what another has, so a rejected one would break others. */
  async #takeTogether(steps: readonly ResourceStep[]): Promise<StepResult> {
    const asking = steps.filter(({ leaves }) => !leaves);
    const isNew = asking.flatMap(({ rendered }) =>
      this.#applier.absent(rendered.links).filter((link) => !this.#record.linkOwners.isOwned(link)),
    );
    const before = new Map(steps.flatMap((step) => this.#record.liveBefore(step)));

    // New links come first: the kernel may reject them before any other resource is affected.
    for (const step of asking) {
      const own = this.#applier.absent(step.rendered.links).filter((link) => isNew.includes(link));
      const rejection = await this.#attempt(step, (cost) => this.#applier.applyLinks(own, cost));
      if (rejection) return await this.#rollBack(steps, before, isNew, { step, rejection, harmless: true });
    }
    await this.#shrink(steps.flatMap(({ owner, leaves }) => (leaves ? [owner] : [])));
    const left = new Map<ResourceStep, LinkName[]>();
    for (const step of asking) {
      const rejection = await this.#attempt(step, (cost) => this.#applier.apply(step, undefined, cost));
      if (rejection) return await this.#rollBack(steps, before, isNew, { step, rejection, harmless: false });
      left.set(step, this.#record.setLive(step));
    }
    for (const { owner, leaves } of steps) if (leaves) await this.#remove(owner);
    for (const [step, links] of left) {
      await this.#release(
        step,
        links.filter((link) => !this.#record.linkOwners.isOwned(link)),
      );
    }
    return "applied";
  }

  async #attempt(step: ResourceStep, work: (cost: Cost) => Promise<void>): Promise<BackendError | undefined> {
    const cost = { links: 0, lines: 0 };
    try {
      return await rejectionOf(() => work(cost));
    } finally {
      this.#record.note(step.owner, cost, false);
    }
  }

  async #rollBack(
    steps: readonly ResourceStep[],
    before: ReadonlyMap<string, LastGoodResource>,
    isNew: readonly DesiredLink[],
    { step, rejection, harmless }: { step: ResourceStep; rejection: BackendError; harmless: boolean },
  ): Promise<StepResult> {
    for (const [owner, good] of before) {
      this.#record.lastGood.set(owner, good);
      this.#record.linkOwners.setLinks(owner, good.rendered.links);
    }
    for (const { owner } of steps) if (!before.has(owner) && this.#record.lastGood.has(owner)) await this.#remove(owner);
    let problem: BackendError | undefined;
    // Twice: what is restored first may conflict with what is still there.
    for (const round of ["first", "last"]) {
      for (const one of steps) {
        const rendered = before.get(one.owner)?.rendered;
        if (!rendered) continue;
        const rejected = await this.#attempt(one, async (cost) => {
          await this.#applier.applyLinks(rendered.links, cost);
          await this.#applier.applyLines({ owner: one.owner, kind: one.kind, rendered }, cost);
        });
        if (rejected && round === "last") this.#record.broken.add(one.owner);
        if (round === "last") problem ??= rejected;
      }
    }
    const { changed } = await this.#applier.removeAdded(isNew);
    this.#record.note(step.owner, { links: changed }, false);

    this.#record.rejected.set(step.owner, { together: true, harmless });
    this.#record.failures.push(applicationFailed(step, problem ? rejection.also(problem) : rejection));
    const others = steps.filter((other) => other !== step && !other.leaves);
    this.#record.failures.push(...others.map((other) => waiting(other, steps, step)));
    return "previous";
  }

  /** Leaving resources first release what no step asks for, so that it blocks no step; the rest passes to its new owner or is removed at the end. */
  async #makeRoom(): Promise<void> {
    const { underlay, steps, ousted = [] } = this.#plan;
    const planned = new Set([...steps, ...ousted].map(({ owner }) => owner));
    if (underlay) planned.add(underlay.owner);
    // The Underlay goes last; text that a person wrote is in one piece.
    await this.#shrink(this.#record.inRemovalOrder((owner) => !planned.has(owner) && !/^(Underlay|RawFRRConfig)\//.test(owner)));
  }

  async #shrink(leaving: readonly string[]): Promise<void> {
    if (leaving.length === 0) return;
    const lines = desiredLinePaths(this.#plan.steps.map(({ rendered }) => rendered.fragment));
    for (const owner of leaving) {
      const { rendered } = this.#record.lastGood.get(owner) as LastGoodResource;
      const shrunk = { owner, lines: onlyDesired(rendered.fragment.lines, lines) };
      const outcome = await (shrunk.lines.length > 0 ? this.#daemons.apply(shrunk) : this.#daemons.remove(owner));
      const free = this.#record.linkOwners.onlyOf(owner).filter((link) => !this.#planned.has(keyOfLink(link)));
      const { changed } = outcome.rejected ? { changed: 0 } : await this.#kernel.remove(free.toReversed());
      this.#record.note(owner, { links: changed, lines: outcome.sent }, false);
    }
  }

  async #remove(owner: string): Promise<void> {
    const outcome = await this.#daemons.remove(owner);
    if (outcome.rejected) return void this.#record.failures.push(removalFailed(owner, BackendError.ofLine(outcome.rejected)));
    const links = this.#record.linkOwners.onlyOf(owner);
    const { changed, rejected } = await this.#kernel.remove(links.toReversed());
    this.#record.note(owner, { links: changed, lines: outcome.sent }, false);
    if (rejected) return void this.#record.failures.push(removalFailed(owner, BackendError.of(rejected)));
    this.#record.lastGood.delete(owner);
    this.#record.linkOwners.release(owner);
  }

  async #removeReleased(): Promise<void> {
    const left = this.#released.filter((link) => !this.#record.linkOwners.isOwned(link));
    const { changed } = await this.#kernel.remove(left.toReversed());
    this.#record.note("", { links: changed }, false);
  }

  /**
   * Our links that nothing wants: left by an agent without state. Those of a failing resource may be its last good version, with its VRF.
   */
  async #sweep(): Promise<void> {
    const failing = new Set(this.#plan.failures.concat(this.#record.failures).map(({ kind, name }) => createdAlias(`${kind}/${name}`)));
    const spared = ({ alias }: { alias: string }) => failing.has(alias.split(" ", 1)[0] ?? "");
    for (const netns of ["host", "router"] as const) {
      const unowned = [...this.#kernel.have[netns].values()].filter(
        (link) => linkOwnership(link) !== "foreign" && !this.#record.linkOwners.isOwned({ netns, name: link.name }),
      );
      const vrfs = unowned.some(spared);
      const left = unowned.filter((link) => !spared(link) && !(vrfs && link.alias.startsWith(createdAlias("VRF/"))));
      if (left.length === 0) continue;
      const { changed } = await this.#kernel.remove(left.map(({ name }) => ({ netns, name })));
      this.#record.note("", { links: changed }, true);
    }
  }
}
