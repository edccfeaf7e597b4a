import type { Config, L2Ad } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import type { NotAnnounced } from "../reasons.ts";
import { type Candidates, candidatesOf, sortCandidates, usableNodes, l2AdsOf, candidateHash } from "./l2-decision.ts";
import type { PoolIndex } from "../config/pool-index.ts";

export interface ElectionInput {
  readonly nodes: Iterable<NodeView>;
  readonly config: Config;
  readonly pools: PoolIndex;
  readonly isAlive: (node: string) => boolean;
}

export type Election =
  | {
      readonly ads: readonly L2Ad[];
      /** In the order in which they would take over. The same list as long as nothing in it changes. */
      readonly order: readonly string[];
    }
  | { readonly not: NotAnnounced };

/**
 * Which nodes announce the addresses of Services, and which would take over; otherwise the first reason why none does. The candidates are
 * computed once per set of advertisements, and an election is updated from the previous one: only new candidates are hashed and inserted.
 */
export class L2Elections {
  #input: ElectionInput | undefined;
  /** By the names of the advertisements; and those of the previous input. */
  #electorates = new Map<string, Electorate>();
  #former: ReadonlyMap<string, Electorate> = new Map();
  readonly #last = new Map<string, LastElection>();

  hold(service: ServiceView, input: ElectionInput): Election {
    if (input !== this.#input) this.#move(input);
    const ads = l2AdsOf(service, input.config, input.pools);
    if ("not" in ads) return this.#none(service, ads.not);
    const usable = this.#usableNodes(ads, input);
    if (usable.not !== undefined) return this.#none(service, usable.not);
    const candidates = candidatesOf(service, usable.members);
    if ("not" in candidates) return this.#none(service, candidates.not);

    const last = this.#last.get(service.key);
    const address = String(service.addresses[0]);
    // With local endpoints only, each Service has its own candidates.
    const own = candidates === usable.members ? usable : new Electorate(candidates);
    const order = last?.address === address ? goneOn(last, own) : sortCandidates(candidates, address);
    this.#last.set(service.key, { address, electorate: own, order });
    return { ads, order };
  }

  forget(service: string): void {
    this.#last.delete(service);
  }

  #move(input: ElectionInput): void {
    this.#input = input;
    this.#former = this.#electorates;
    this.#electorates = new Map();
  }

  #none({ key }: ServiceView, not: NotAnnounced): Election {
    this.#last.delete(key);
    return { not };
  }

  #usableNodes(ads: readonly L2Ad[], { nodes, isAlive }: ElectionInput): Electorate {
    const names = ads.map(({ name }) => name).join(" ");
    let usable = this.#electorates.get(names);
    if (!usable) {
      const found = usableNodes(ads, nodes, isAlive);
      const former = this.#former.get(names);
      usable = "not" in found ? new Electorate(new Map(), found.not) : former?.isOf(found) ? former : new Electorate(found);
      this.#electorates.set(names, usable);
    }
    return usable;
  }
}

interface LastElection {
  /** The address that is hashed. */
  readonly address: string;
  readonly electorate: Electorate;
  readonly order: readonly string[];
}

interface Turnover {
  readonly left: ReadonlySet<string>;
  readonly joined: readonly string[];
}

class Electorate {
  readonly members: Candidates;
  readonly not: NotAnnounced | undefined;
  readonly #turnovers = new WeakMap<Electorate, Turnover>();

  constructor(members: Candidates, not?: NotAnnounced) {
    this.members = members;
    this.not = not;
  }

  isOf(members: Candidates): boolean {
    return members.size === this.members.size && members.entries().every(([name, preference]) => this.members.get(name) === preference);
  }

  /** A changed preference counts as leaving and joining. */
  since(before: Electorate): Turnover {
    let turnover = this.#turnovers.get(before);
    if (!turnover) {
      turnover = { left: new Set(without(before.members, this.members)), joined: without(this.members, before.members) };
      this.#turnovers.set(before, turnover);
    }
    return turnover;
  }
}

function without(some: Candidates, others: Candidates): string[] {
  return Array.from(some).flatMap(([name, preference]) => (others.get(name) === preference ? [] : [name]));
}

/** A new candidate is inserted by so few comparisons. */
const COMPARED = 10;

function goneOn({ address, electorate: before, order }: LastElection, usable: Electorate): readonly string[] {
  if (usable === before) return order;
  const { left, joined } = usable.since(before);
  if (left.size === 0 && joined.length === 0) return order;
  if (joined.length * COMPARED > usable.members.size) return sortCandidates(usable.members, address);
  const next = left.size > 0 ? order.filter((name) => !left.has(name)) : [...order];
  for (const name of joined) next.splice(insertionIndex(name, next, usable.members, address), 0, name);
  return next;
}

function insertionIndex(name: string, order: readonly string[], members: Candidates, address: string): number {
  const preference = members.get(name) ?? 0;
  const lot = candidateHash(name, address);
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = order[middle] as string;
    const ahead = (members.get(other) ?? 0) - preference;
    if (ahead > 0 || (ahead === 0 && candidateHash(other, address) < lot)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Candidates for an address, in election order: those that are alive and have an interface for it; if there is none, all that are alive. */
export function eligibleNodes(
  order: readonly string[],
  isAlive: (node: string) => boolean,
  isAble: (node: string) => boolean,
): readonly string[] {
  const living = order.filter(isAlive);
  const able = living.filter(isAble);
  return able.length > 0 ? able : living;
}

/** The first eligible node in election order. Each agent decides by the heartbeats that it receives. */
export function announcingNode(order: readonly string[], eligible: readonly string[]): string | undefined {
  return order.find((node) => eligible.includes(node));
}

/**
 * Whether this node releases an address for which another MAC answers too. The later in election order does; an unknown MAC may belong to
 * any node before this one.
 */
export function shouldRelease(self: string, candidates: readonly string[], rival: string | undefined): boolean {
  const own = candidates.indexOf(self);
  if (own < 0) return true;
  const other = rival === undefined ? 0 : candidates.indexOf(rival);
  return other >= 0 && other < own;
}

/** Of two nodes that probe at the same time, whether this one waits. If heartbeats do not identify the other, the MACs decide. */
export function shouldWait(
  own: { readonly node: string; readonly mac: string },
  rival: { readonly node: string | undefined; readonly mac: string },
  candidates: readonly string[],
): boolean {
  const ours = candidates.indexOf(own.node);
  const theirs = rival.node === undefined ? -1 : candidates.indexOf(rival.node);
  return ours >= 0 && theirs >= 0 ? theirs < ours : rival.mac < own.mac;
}
