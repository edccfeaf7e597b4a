import { isDeepStrictEqual } from "node:util";
import { createdAlias, holdOf } from "../hostnet/ownership.ts";
import type { WantedLink } from "../hostnet/desired-link.ts";
import type { Failure } from "../resilience/failure.ts";
import type { LastGood } from "./render/rendered.ts";
import { applicationFailed, cannotGo, cannotRestore, doesNotLast } from "./acting/failures.ts";
import { FORWARDING } from "./forwarding.ts";
import { type Daemons, type Ground, type Kernel, type LostLine, Refusal, type RefusedLine } from "./backends.ts";
import { Holdings, keyOfLink } from "./link-owners.ts";
import { linesWanted, onlyWanted } from "../frr/fragment-lines.ts";
import type { RouterPlan } from "./plan.ts";
import type { Live, RouterKind, Step } from "./step.ts";
import { traverse, waiting } from "./apply-order.ts";

/** What one pass did for one resource, or for what belongs to none. */
export interface Change {
  readonly owner: string;
  readonly links: number;
  readonly lines: number;
  /** It was already as the resource asks, as far as we knew: someone else had changed the node. */
  readonly drift: boolean;
}

export interface Done {
  /** What the kernel or FRR refused, and what misses what it stands on. */
  readonly failures: readonly Failure[];
  /** Whose form was refused, by owner. */
  readonly refused: ReadonlyMap<string, RefusedForm>;
  /** The generation that is live, by owner. */
  readonly live: ReadonlyMap<string, number>;
  /** The node's Underlay failed: everything else waits, and what was live last is kept up. */
  readonly stopped?: Failure;
  /** In order; what cost nothing is not listed. */
  readonly changes: readonly Change[];
  /** Lines in FRR that belonged to nobody. */
  readonly foreign: readonly string[];
}

interface RefusedForm {
  /** It was to be live together with others, and all of them are as before. */
  readonly together: boolean;
  /** The kernel refused what nobody else has: it can be tried again without touching others. */
  readonly harmless: boolean;
}

/**
 * Brings the node into the form of the plan, one resource after the other. What is refused costs its own resource only, the Underlay excepted. `lastGood` is
 * what is live now, and is kept true step by step: whoever stops half-way knows how far it came. What is done is added to `changes`, which has it
 * also when this throws.
 */
export async function act(plan: RouterPlan, lastGood: Map<string, LastGood>, ground: Ground, changes: Change[] = []): Promise<Done> {
  return await new Pass(plan, lastGood, ground, changes).run();
}

/** Brings back and repairs what was live last, without a word from the cluster. Nothing is changed or removed. */
export async function keepUp(lastGood: Map<string, LastGood>, ground: Ground, changes: Change[] = []): Promise<Done> {
  return await new Pass({ underlay: undefined, steps: [], failures: [], selected: [] }, lastGood, ground, changes).keepUp();
}

/** Dependants first: the VXLAN devices go before what they stand on, FRR's default instance goes last. */
const RETIRING: readonly string[] = ["RawFRRConfig", "L3Passthrough", "L3VNI", "L2VNI", "Underlay"];

class Pass {
  readonly #plan: RouterPlan;
  readonly #lastGood: Map<string, LastGood>;
  readonly #ground: Ground;
  readonly #kernel: Kernel;
  readonly #daemons: Daemons;
  readonly #holdings: Holdings;
  readonly #failures: Failure[] = [];
  readonly #refused = new Map<string, RefusedForm>();
  readonly #broken = new Set<string>();
  readonly #changes: Change[];
  /** The links that the plan asks for. */
  readonly #planned: ReadonlySet<string>;
  /** Let go by one step while another, still to come, may want them. */
  readonly #left: Named[] = [];
  /** FRR was emptied in this pass, so that nothing of it is there as it was applied. */
  #rebuilt = false;

  constructor(plan: RouterPlan, lastGood: Map<string, LastGood>, ground: Ground, changes: Change[]) {
    this.#changes = changes;
    this.#plan = plan;
    this.#lastGood = lastGood;
    this.#ground = ground;
    this.#kernel = ground.kernel;
    this.#daemons = ground.daemons;
    this.#holdings = new Holdings(lastGood);
    const steps = plan.underlay ? [plan.underlay, ...plan.steps] : plan.steps;
    this.#planned = new Set(steps.flatMap(({ form }) => form.links.map(keyOfLink)));
  }

  async run(): Promise<Done> {
    const { underlay, stopped } = this.#plan;
    if (stopped) return await this.keepUp(stopped);

    await this.#bringBase();
    const walk = traverse(this.#plan);
    let next = walk.next();
    if (underlay && !next.done) {
      const live = await this.#take(underlay);
      const [failure] = this.#failures;
      if (failure && (live !== "asked" || this.#broken.has(underlay.owner))) return await this.keepUp(failure);
      next = walk.next(live);
    }
    await this.#makeRoom();

    const visited = new Set(underlay ? [underlay.owner] : []);
    while (!next.done) {
      const [step, ...others] = next.value;
      for (const { owner } of next.value) visited.add(owner);
      next = walk.next(others.length > 0 ? await this.#takeTogether(next.value) : await this.#take(step as Step));
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
  async keepUp(stopped?: Failure): Promise<Done> {
    const owners = this.#retiring(() => true).toReversed();
    // Nothing is remembered of what may be running.
    if (owners.length === 0) return this.#done({ ...(stopped && { stopped }) });

    await this.#bringBase();
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
    const { form } = this.#lastGood.get(owner) as LastGood;
    const kind = owner.slice(0, owner.indexOf("/")) as RouterKind;
    const cost = { links: 0, lines: 0 };
    const linkProblem = await refusalOf(() => this.#keepLinks(kind, form.links, cost));
    const lineProblem = await refusalOf(() => this.#lines({ owner, kind, form }, cost));
    this.#note(owner, cost, !this.#rebuilt);
    const problem = linkProblem ?? lineProblem;
    if (problem) {
      this.#broken.add(owner);
      if (!this.#isFailing(owner)) this.#failures.push(cannotRestore(owner, problem));
    }
    return !lineProblem;
  }

  async #keepLinks(kind: RouterKind, links: readonly WantedLink[], cost: Cost): Promise<void> {
    const absent = this.#absent(links);
    if (kind === "Underlay") await this.#forward(cost);
    const { changed, refused } = await this.#kernel.bring(links);
    cost.links += changed;
    if (refused) for (const link of links) cost.links += (await this.#kernel.bring([link])).changed;
    const brought = absent.filter(({ place, name }) => this.#kernel.have[place].has(name));
    const cutOff = await refusalOf(() => this.#assertNotCutOff(brought));
    if (cutOff) await this.#kernel.remove(brought.filter(({ type }) => type === "nic"));
    if (cutOff) throw cutOff;
    if (refused) throw Refusal.of(refused);
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

  /** What every router has. Without it there is no router, and no resource is to blame. */
  async #bringBase(): Promise<void> {
    const { base } = this.#ground;
    const { sent, refused } = await this.#daemons.bring(base);
    this.#note(base.owner, { links: 0, lines: sent }, this.#lastGood.size > 0);
    if (refused) throw Refusal.ofLine(refused);
  }

  #done({ stopped, foreign = [] }: { stopped?: Failure; foreign?: readonly string[] }): Done {
    const live = new Map<string, number>();
    for (const [owner, { generation }] of this.#lastGood) if (!this.#broken.has(owner)) live.set(owner, generation);
    return { failures: this.#failures, refused: this.#refused, live, changes: this.#changes, foreign, ...(stopped && { stopped }) };
  }

  async #take(step: Step): Promise<Live> {
    const { owner, uid, generation, spec, form } = step;
    const held = this.#lastGood.get(owner);
    // Everything stands on the Underlay: also one that was made anew leaves the old one live until it is.
    const before = held?.uid === uid || step.kind === "Underlay" ? held : undefined;
    const unchanged = before !== undefined && isDeepStrictEqual(before.form, form);
    const cost = { links: 0, lines: 0 };

    try {
      await this.#bring(step, before, cost);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#failures.push(applicationFailed(step, error));
      this.#refused.set(owner, { together: false, harmless: error.source === "kernel" });
      if (unchanged) this.#broken.add(owner);
      if (held && !before) await this.#retire(owner);
      if (!before) return "no";
      return unchanged ? "asked" : "previous";
    } finally {
      this.#note(owner, cost, unchanged && !this.#rebuilt);
    }

    this.#lastGood.set(owner, { uid, generation, spec, form });
    await this.#letGo(step, this.#holdings.hold(owner, form.links));
    return "asked";
  }

  /** Links that the step has left and nobody has. Those that another step asks for wait for it. */
  async #letGo(step: Step, left: readonly Named[]): Promise<void> {
    const awaited = left.filter((link) => this.#planned.has(keyOfLink(link)));
    this.#left.push(...awaited);
    const dropped = await this.#kernel.remove(left.filter((link) => !awaited.includes(link)).toReversed());
    if (dropped.refused) this.#failures.push(applicationFailed(step, Refusal.of(dropped.refused)));
    this.#note(step.owner, { links: dropped.changed, lines: 0 }, false);
  }

  /** All as they ask, or all as before: each waits for what another has, so that one that is refused would cost others what works. */
  async #takeTogether(steps: readonly Step[]): Promise<Live> {
    const asking = steps.filter(({ leaves }) => !leaves);
    const isNew = asking.flatMap(({ form }) => this.#absent(form.links).filter((link) => !this.#holdings.isHeld(link)));
    const before = new Map(steps.flatMap((step) => this.#liveFormOf(step)));

    // What is nobody's yet comes first: the kernel may refuse it before anyone is touched.
    for (const step of asking) {
      const own = this.#absent(step.form.links).filter((link) => isNew.includes(link));
      const refusal = await this.#attempt(step, async (cost) => refuse(await this.#kernel.bring(own), cost));
      if (refusal) return await this.#putBack(steps, before, isNew, { step, refusal, harmless: true });
    }
    await this.#shrink(steps.flatMap(({ owner, leaves }) => (leaves ? [owner] : [])));
    const left = new Map<Step, Named[]>();
    for (const step of asking) {
      const refusal = await this.#attempt(step, (cost) => this.#bring(step, undefined, cost));
      if (refusal) return await this.#putBack(steps, before, isNew, { step, refusal, harmless: false });
      const { owner, uid, generation, spec, form } = step;
      this.#lastGood.set(owner, { uid, generation, spec, form });
      left.set(step, this.#holdings.hold(owner, form.links));
    }
    for (const { owner, leaves } of steps) if (leaves) await this.#retire(owner);
    for (const [step, links] of left) {
      await this.#letGo(
        step,
        links.filter((link) => !this.#holdings.isHeld(link)),
      );
    }
    return "asked";
  }

  #liveFormOf({ owner, uid, leaves }: Step): [string, LastGood][] {
    const held = this.#lastGood.get(owner);
    return held && (leaves || held.uid === uid) ? [[owner, held]] : [];
  }

  async #attempt(step: Step, work: (cost: Cost) => Promise<void>): Promise<Refusal | undefined> {
    const cost = { links: 0, lines: 0 };
    try {
      return await refusalOf(() => work(cost));
    } finally {
      this.#note(step.owner, cost, false);
    }
  }

  async #putBack(
    steps: readonly Step[],
    before: ReadonlyMap<string, LastGood>,
    isNew: readonly WantedLink[],
    { step, refusal, harmless }: { step: Step; refusal: Refusal; harmless: boolean },
  ): Promise<Live> {
    for (const [owner, good] of before) {
      this.#lastGood.set(owner, good);
      this.#holdings.hold(owner, good.form.links);
    }
    for (const { owner } of steps) if (!before.has(owner) && this.#lastGood.has(owner)) await this.#retire(owner);
    let problem: Refusal | undefined;
    // Twice: what comes back first may lose to what has not left yet.
    for (const round of ["first", "last"]) {
      for (const one of steps) {
        const form = before.get(one.owner)?.form;
        if (!form) continue;
        const refused = await this.#attempt(one, async (cost) => {
          refuse(await this.#kernel.bring(form.links), cost);
          await this.#lines({ owner: one.owner, kind: one.kind, form }, cost);
        });
        if (refused && round === "last") this.#broken.add(one.owner);
        if (round === "last") problem ??= refused;
      }
    }
    const added = isNew.filter((link) => this.#kernel.have[link.place].has(link.name) && !this.#holdings.isHeld(link));
    const { changed } = await this.#kernel.remove(added.toReversed());
    this.#note(step.owner, { links: changed, lines: 0 }, false);

    this.#refused.set(step.owner, { together: true, harmless });
    this.#failures.push(applicationFailed(step, problem ? refusal.also(problem) : refusal));
    const others = steps.filter((other) => other !== step && !other.leaves);
    this.#failures.push(...others.map((other) => waiting(other, steps, step)));
    return "previous";
  }

  /** Links, then lines. The Underlay's are all there before the first VXLAN device of a VNI: without an EVPN instance bgpd would fall over it. */
  async #bring(step: Step, before: LastGood | undefined, cost: Cost): Promise<void> {
    const absent = this.#absent(step.form.links);
    try {
      if (step.kind === "Underlay") await this.#forward(cost);
      refuse(await this.#kernel.bring(step.form.links), cost);
      await this.#assertNotCutOff(absent);
      await this.#lines(step, cost);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw await this.#restoreLinks(absent, before, error);
    }
  }

  async #forward(cost: Cost): Promise<void> {
    try {
      cost.links += (await this.#kernel.sysctls(FORWARDING, "router")).changed.length;
    } catch (error) {
      throw Refusal.of(error as Error);
    }
  }

  async #assertNotCutOff(brought: readonly WantedLink[]): Promise<void> {
    const moved = brought.filter((link) => link.type === "nic").map(({ name }) => name);
    if (moved.length === 0 || (await this.#ground.apiAnswers())) return;
    throw new Refusal(`The API server did not answer after interface ${moved.join(", ")} was moved, so it was moved back`);
  }

  async #lines(step: Configured, cost: Cost): Promise<void> {
    const outcome = await this.#bringLines(step);
    cost.lines += outcome.sent;
    if (outcome.refused) throw Refusal.ofLine(outcome.refused);
    if (outcome.rebuild) await this.#rebuild(step, cost);
  }

  #bringLines({ kind, form: { fragment } }: Configured) {
    return kind === "RawFRRConfig" ? this.#daemons.bringRaw(fragment) : this.#daemons.bring(fragment);
  }

  /** What cannot be said in lines: FRR is emptied and set up with the new Underlay; the steps that follow bring back the rest. */
  async #rebuild(step: Configured, cost: Cost): Promise<void> {
    this.#ground.onRebuild(new Set(this.#plan.selected.map(({ kind, name }) => `${kind}/${name}`)));
    this.#rebuilt = true;
    const outcome = await this.#daemons.rebuild([this.#ground.base, step.form.fragment]);
    cost.lines += outcome.sent;
    if (!outcome.refused) return;
    const refusal = Refusal.ofLine(outcome.refused);
    const refused = await this.#setUpAsBefore(step.owner);
    throw refused ? refusal.also(Refusal.ofLine(refused)) : refusal;
  }

  /** FRR with all that is live, as far as it takes that back. */
  async #setUpAsBefore(refused: string): Promise<RefusedLine | undefined> {
    let { refused: first } = await this.#daemons.rebuild([this.#ground.base]);
    for (const owner of this.#retiring(() => true).toReversed()) {
      const { fragment } = (this.#lastGood.get(owner) as LastGood).form;
      const outcome = await (owner.startsWith("RawFRRConfig/") ? this.#daemons.bringRaw(fragment) : this.#daemons.bring(fragment));
      first ??= outcome.refused;
    }
    if (!this.#lastGood.has(refused)) await this.#daemons.remove(refused);
    return first;
  }

  /** Those that are not there yet. */
  #absent(links: readonly WantedLink[]): WantedLink[] {
    return links.filter(({ place, name }) => !this.#kernel.have[place].has(name));
  }

  /** Links as they were before the step. Returns why it failed, and whether the kernel refused the way back too. */
  async #restoreLinks(absent: readonly WantedLink[], before: LastGood | undefined, refusal: Refusal): Promise<Refusal> {
    const added = absent.filter((link) => this.#kernel.have[link.place].has(link.name) && !this.#holdings.isHeld(link));
    const removed = await this.#kernel.remove(added.toReversed());
    const brought = before ? await this.#kernel.bring(before.form.links) : { changed: 0 };
    const refused = removed.refused ?? brought.refused;
    return refused ? refusal.also(Refusal.of(refused)) : refusal;
  }

  /** What leaves gives up at once what no step asks for, so that it is in nobody's way; the rest goes over to its new holder, or goes in the end. */
  async #makeRoom(): Promise<void> {
    const { underlay, steps, ousted = [] } = this.#plan;
    const planned = new Set([...steps, ...ousted].map(({ owner }) => owner));
    if (underlay) planned.add(underlay.owner);
    // The Underlay goes last; text that a person wrote is in one piece.
    await this.#shrink(this.#retiring((owner) => !planned.has(owner) && !/^(Underlay|RawFRRConfig)\//.test(owner)));
  }

  async #shrink(leaving: readonly string[]): Promise<void> {
    if (leaving.length === 0) return;
    const lines = linesWanted(this.#plan.steps.map(({ form }) => form.fragment));
    for (const owner of leaving) {
      const { form } = this.#lastGood.get(owner) as LastGood;
      const shrunk = { owner, lines: onlyWanted(form.fragment.lines, lines) };
      const outcome = await (shrunk.lines.length > 0 ? this.#daemons.bring(shrunk) : this.#daemons.remove(owner));
      const free = this.#holdings.onlyOf(owner).filter((link) => !this.#planned.has(keyOfLink(link)));
      const { changed } = outcome.refused ? { changed: 0 } : await this.#kernel.remove(free.toReversed());
      this.#note(owner, { links: changed, lines: outcome.sent }, false);
    }
  }

  #retiring(leaves: (owner: string) => boolean): string[] {
    return [...this.#lastGood.keys()].filter(leaves).sort((a, b) => retiringRank(a) - retiringRank(b));
  }

  async #retire(owner: string): Promise<void> {
    const outcome = await this.#daemons.remove(owner);
    if (outcome.refused) return void this.#failures.push(cannotGo(owner, Refusal.ofLine(outcome.refused)));
    const links = this.#holdings.onlyOf(owner);
    const { changed, refused } = await this.#kernel.remove(links.toReversed());
    this.#note(owner, { links: changed, lines: outcome.sent }, false);
    if (refused) return void this.#failures.push(cannotGo(owner, Refusal.of(refused)));
    this.#lastGood.delete(owner);
    this.#holdings.release(owner);
  }

  async #dropLeft(): Promise<void> {
    const left = this.#left.filter((link) => !this.#holdings.isHeld(link));
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
    for (const place of ["host", "router"] as const) {
      const unheld = [...this.#kernel.have[place].values()].filter(
        (link) => holdOf(link) !== "foreign" && !this.#holdings.isHeld({ place, name: link.name }),
      );
      const vrfs = unheld.some(spared);
      const left = unheld.filter((link) => !spared(link) && !(vrfs && link.alias.startsWith(createdAlias("VRF/"))));
      if (left.length === 0) continue;
      const { changed } = await this.#kernel.remove(left.map(({ name }) => ({ place, name })));
      this.#note("", { links: changed, lines: 0 }, true);
    }
  }

  #miss(owner: string, lines: readonly LostLine[]): void {
    if (!this.#lastGood.has(owner)) return;
    this.#broken.add(owner);
    this.#failures.push(doesNotLast(owner, lines));
  }

  #note(owner: string, { links, lines }: Cost, drift: boolean): void {
    if (links > 0 || lines > 0) this.#changes.push({ owner, links, lines, drift });
  }
}

function retiringRank(owner: string): number {
  return RETIRING.indexOf(owner.slice(0, owner.indexOf("/")));
}

type Named = Pick<WantedLink, "place" | "name">;
type Configured = Pick<Step, "owner" | "kind" | "form">;

interface Cost {
  links: number;
  lines: number;
}

function refuse({ changed, refused }: { changed: number; refused?: Error }, cost: Cost): void {
  cost.links += changed;
  if (refused) throw Refusal.of(refused);
}

async function refusalOf(work: () => Promise<void>): Promise<Refusal | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
