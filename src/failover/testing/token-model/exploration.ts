/** All that two sites with their controllers can come to, explored state by state, with the real `decideToken` in both. For tests. */

import type { PeerView } from "../../token/token.ts";
import {
  arrived,
  readPeer,
  canArrive,
  canSync,
  afterCrash,
  withDesiredState,
  forced,
  isIdle,
  nextStates,
  type Protocol,
  stateText,
  type ModelSite,
  tokenText,
  synced,
} from "./site.ts";
import { StateList } from "./state-list.ts";

/** How often each of these may still happen, and whether the sites are cut off from each other now. */
export interface FaultModel {
  readonly flips: number;
  readonly crashes: number;
  readonly partitions: number;
  readonly forces: number;
  readonly cut: boolean;
}

export interface Exploration {
  readonly states: number;
  /** What must never be and came about, with the way to it; absent where nothing did. */
  readonly violation?: string;
}

/** What is wrong with a pair of sites; what they have come to at last is judged too, when nothing happens any more. */
export type InvariantCheck = (left: ModelSite, right: ModelSite) => string | undefined;

const UNREACHABLE: PeerView = { reachable: false, message: "no answer" };
/** A state of everything is the numbers of two sites and of the perils, in one number below 2^53. */
const SITES = 2 ** 20;
const NOT_YET = -1;
const JUDGED = 1;
const UNDER_WAY = 2;

const BLOWS = ["flips", "crashes", "forces"] as const;
type Blow = (typeof BLOWS)[number];
/** The numbers of the perils that are left after each. */
type Lessened = { [blow in Blow | "cut"]?: number };

export class ExplorationOptions {
  readonly #protocol: Protocol;
  readonly #sites = new Numbered<ModelSite>();
  readonly #views = new Numbered<PeerView>();
  readonly #perils = new Numbered<FaultModel>();
  readonly #spoken: number[] = [];
  readonly #steps: (readonly number[])[] = [];
  readonly #blows: Record<Blow, number>[] = [];
  readonly #answers: (number | undefined)[][] = [];
  readonly #lessened: Lessened[] = [];
  readonly #arrived: number[] = [];
  readonly #synced: number[] = [];
  readonly #states = new StateList();
  readonly #unreachable: number;

  constructor(protocol: Protocol) {
    this.#protocol = protocol;
    this.#unreachable = this.#views.of(UNREACHABLE);
  }

  explore(
    beginnings: readonly (readonly [ModelSite, ModelSite])[],
    perils: FaultModel,
    judge: { always: InvariantCheck; atLast: InvariantCheck },
  ): Exploration {
    for (const [left, right] of beginnings) this.#add(this.#sites.of(left), this.#sites.of(right), this.#perils.of(perils), -1);
    for (let index = 0; index < this.#states.size; index++) {
      const { left, right } = this.#unpack(index);
      const wrong = judge.always(this.#sites.at(left), this.#sites.at(right));
      if (wrong !== undefined) return { states: this.#states.size, violation: this.#story(wrong, index) };
      this.#visit(index);
    }
    return { states: this.#states.size, ...this.#finishAll(judge.atLast) };
  }

  #visit(index: number): void {
    const { left, right, perils: number } = this.#unpack(index);
    const { cut } = this.#perils.at(number);
    for (const site of this.#stepsOf(left)) this.#add(site, right, number, index);
    for (const site of this.#stepsOf(right)) this.#add(left, site, number, index);
    for (const site of this.#stored(left, right)) this.#add(site, right, number, index);
    for (const site of this.#stored(right, left)) this.#add(left, site, number, index);
    const ofLeft = this.#afterRequest(left, right, cut);
    if (ofLeft !== NOT_YET) this.#add(ofLeft, right, number, index);
    const ofRight = this.#afterRequest(right, left, cut);
    if (ofRight !== NOT_YET) this.#add(left, ofRight, number, index);

    const lessened = this.#lessenedOf(number);
    for (const blow of BLOWS) {
      const then = lessened[blow];
      if (then === undefined) continue;
      this.#add(this.#blowsTo(left)[blow], right, then, index);
      this.#add(left, this.#blowsTo(right)[blow], then, index);
    }
    if (lessened.cut !== undefined) this.#add(left, right, lessened.cut, index);
  }

  /** From every state in which the sites can hear each other: nothing more befalls them, and each does its work in turn. */
  #finishAll(atLast: InvariantCheck): { violation?: string } {
    const verdicts = new Uint8Array(this.#states.size);
    for (let start = 0; start < this.#states.size; start++) {
      if (this.#perils.at(this.#unpack(start).perils).cut) continue;
      const way: number[] = [];
      let index: number | undefined = start;
      while (index !== undefined && verdicts[index] !== JUDGED) {
        if (verdicts[index] === UNDER_WAY) return { violation: this.#story("They never come to rest", index) };
        verdicts[index] = UNDER_WAY;
        way.push(index);
        const next = this.#inTurn(index);
        if (next === undefined) {
          const { left, right } = this.#unpack(index);
          const wrong = atLast(this.#sites.at(left), this.#sites.at(right));
          if (wrong !== undefined) return { violation: this.#story(wrong, index) };
        }
        index = next;
      }
      for (const passed of way) verdicts[passed] = JUDGED;
    }
    return {};
  }

  /** The next state of a fair run; undefined at its end, when neither controller finds anything to do. */
  #inTurn(index: number): number | undefined {
    const { left, right, perils } = this.#unpack(index);
    const on = (left: number, right: number): number => this.#states.indexOf(pack(left, right, perils));
    for (const [site, peer] of [
      [left, right],
      [right, left],
    ] as const) {
      if (this.#sites.at(site).orphans.length > 0) return on(this.#stepsOf(site).at(-1) as number, peer);
      if (!isIdle(this.#sites.at(site))) return on(this.#step(site, peer), peer);
    }
    for (const [site, peer] of [
      [left, right],
      [right, left],
    ] as const) {
      const [stored] = this.#stored(site, peer);
      if (stored !== undefined) return on(stored, peer);
    }
    for (const [site, peer] of [
      [left, right],
      [right, left],
    ] as const) {
      let after = this.#step(site, peer);
      while (!isIdle(this.#sites.at(after))) after = this.#step(after, peer);
      if (after !== site) return on(this.#step(site, peer), peer);
    }
    return undefined;
  }

  /** What storage and csi-addons come to next at this site. */
  #stored(site: number, peer: number): number[] {
    const [here, there] = [this.#sites.at(site), this.#sites.at(peer)];
    if (canArrive(here)) return [(this.#arrived[site] ??= this.#sites.of(arrived(here)))];
    return canSync(here, there) ? [(this.#synced[site] ??= this.#sites.of(synced(here)))] : [];
  }

  #step(site: number, peer: number): number {
    const next = this.#afterRequest(site, peer, false);
    return next === NOT_YET ? (this.#stepsOf(site)[0] as number) : next;
  }

  #afterRequest(site: number, peer: number, cut: boolean): number {
    const view = cut ? this.#unreachable : (this.#spoken[peer] ??= this.#views.of(tokenText(this.#sites.at(peer))));
    return ((this.#answers[site] ??= [])[view] ??= this.#answerOf(site, view));
  }

  #answerOf(site: number, view: number): number {
    const after = readPeer(this.#sites.at(site), this.#views.at(view), this.#protocol);
    return after ? this.#sites.of(after) : NOT_YET;
  }

  #stepsOf(site: number): readonly number[] {
    return (this.#steps[site] ??= nextStates(this.#sites.at(site), this.#protocol).map((after) => this.#sites.of(after)));
  }

  #blowsTo(number: number): Record<Blow, number> {
    return (this.#blows[number] ??= this.#blown(this.#sites.at(number)));
  }

  #blown(site: ModelSite): Record<Blow, number> {
    return {
      flips: this.#sites.of(withDesiredState(site, this.#protocol)),
      forces: this.#sites.of(forced(site, this.#protocol)),
      crashes: this.#sites.of(afterCrash(site)),
    };
  }

  #lessenedOf(number: number): Lessened {
    return (this.#lessened[number] ??= this.#lessen(this.#perils.at(number)));
  }

  #lessen(perils: FaultModel): Lessened {
    const lessened: Lessened = {};
    for (const blow of BLOWS) if (perils[blow] > 0) lessened[blow] = this.#perils.of({ ...perils, [blow]: perils[blow] - 1 });
    if (perils.cut) lessened.cut = this.#perils.of({ ...perils, cut: false });
    else if (perils.partitions > 0) lessened.cut = this.#perils.of({ ...perils, partitions: perils.partitions - 1, cut: true });
    return lessened;
  }

  #add(left: number, right: number, perils: number, from: number): void {
    this.#states.add(pack(left, right, perils), from);
  }

  #unpack(index: number): { left: number; right: number; perils: number } {
    const state = this.#states.at(index);
    const sites = state % (SITES * SITES);
    return { left: Math.floor(sites / SITES), right: sites % SITES, perils: Math.floor(state / (SITES * SITES)) };
  }

  #story(wrong: string, index: number): string {
    const lines: string[] = [];
    for (let at = index; at !== -1; at = this.#states.parentOf(at)) {
      const { left, right, perils } = this.#unpack(at);
      lines.unshift(
        `${stateText(this.#sites.at(left))} | ${stateText(this.#sites.at(right))}${this.#perils.at(perils).cut ? " | cut off" : ""}`,
      );
    }
    return [`${wrong}:`, ...lines].join("\n");
  }
}

/** Which site is the left one makes no difference, so there is one state for both. */
function pack(one: number, other: number, perils: number): number {
  return perils * SITES * SITES + Math.min(one, other) * SITES + Math.max(one, other);
}

/** Values that are equal have one number. */
class Numbered<T> {
  readonly #values: T[] = [];
  readonly #numbers = new Map<string, number>();

  of(value: T): number {
    const key = JSON.stringify(value);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#numbers.set(key, this.#values.length);
    return this.#values.push(value) - 1;
  }

  at(number: number): T {
    return this.#values[number] as T;
  }
}
