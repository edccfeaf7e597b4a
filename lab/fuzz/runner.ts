import { setTimeout as sleep } from "node:timers/promises";
import type { LabHost } from "../net/lab-host.ts";
import { type NodeName, underlayAddress } from "../net/topology.ts";
import { nodeOf } from "../../src/api/health.ts";
import type { StatusReader } from "../drill/status-reader.ts";
import { type Change, changeText, chooseChange, pick } from "./change.ts";
import { describeFrr, frrChanges, torChanges } from "./frr-changes.ts";
import { describeState, kernelChanges, sideEffects } from "./kernel-changes.ts";
import { knownLimit } from "./known-limits.ts";
import { type LiveState, type Scope, readState, runAt } from "./state.ts";
import type { FuzzTraffic } from "./traffic.ts";
import { type FuzzSample, harmedFlows, judgeChange, type NamedCause, type Verdict } from "./verdict.ts";

const POLL_INTERVAL_MS = 200;
const HEALTHY_WITHIN_MS = 180_000;
/** So long everything has to pass before the next change. */
const CALM_MS = 2_000;
const SCOPES: readonly Scope[] = ["host", "router", "tor"];

/** What became of a change. */
export interface FuzzOutcome {
  readonly change: Change;
  readonly text: string;
  readonly verdict: Verdict | { readonly is: "refused" };
  /** What was not healthy some minutes after it was undone. */
  readonly left: readonly string[];
  /** Why its silent harm is accepted. */
  readonly limit?: string;
}

export function isFailure({ verdict, left, limit }: FuzzOutcome): boolean {
  return limit === undefined && (verdict.is === "silent" || left.length > 0);
}

interface FuzzDeps {
  readonly reader: StatusReader;
  readonly traffic: FuzzTraffic;
  readonly host: (name: string) => LabHost;
  readonly nodes: readonly NodeName[];
  readonly signal: AbortSignal;
}

/** Changes one object of a node at a time, watches traffic and reports, and reverts the change. */
export class FuzzRunner {
  readonly #deps: FuzzDeps;
  /** What was not healthy before any change. */
  #rest: ReadonlySet<string> = new Set();

  constructor(deps: FuzzDeps) {
    this.#deps = deps;
  }

  /** Waits until all is well. Returns what is not, which is not waited for again. */
  async converge(withinMs: number): Promise<string[]> {
    const left = await this.healthy(withinMs);
    this.#rest = new Set(left);
    return left;
  }

  /** One of everything that could be done to what is there now. */
  async choose(random: () => number): Promise<Change | undefined> {
    const node = pick(this.#deps.nodes, random);
    if (node === undefined) return undefined;
    const possible: Change[] = [];
    for (const scope of SCOPES) {
      const state = await this.#read(node, scope);
      possible.push(...changesAt(node, scope, state));
    }
    return chooseChange(possible, random);
  }

  async make(change: Change): Promise<FuzzOutcome> {
    const { node, scope } = change;
    const limit = knownLimit(change);
    const outcome = { change, text: changeText(change), ...(limit !== undefined && { limit }) };
    const before = await this.#read(node, scope);
    if ((await this.#run(change, change.make)).code !== 0) {
      await this.#run(change, change.undo);
      return { ...outcome, verdict: { is: "refused" }, left: await this.healthy() };
    }
    const verdict = await this.#watch(node);
    await this.#undo(change, before);
    return { ...outcome, verdict, left: await this.healthy() };
  }

  /** Waits until nothing is wrong and everything passes. Returns what does not. */
  async healthy(withinMs = HEALTHY_WITHIN_MS): Promise<string[]> {
    const { reader, traffic } = this.#deps;
    const deadline = performance.now() + withinMs;
    let since = { at: performance.now(), counts: traffic.counts() };
    for (;;) {
      await this.#pause();
      const now = traffic.counts();
      const stalled = traffic.flows.flatMap(({ name }) => {
        // One packet may still be on its way.
        const lost = (now.lost.get(name) ?? 0) - (since.counts.lost.get(name) ?? 0);
        return lost > 1 || (now.passed.get(name) ?? 0) <= (since.counts.passed.get(name) ?? 0) ? [`${name} does not pass`] : [];
      });
      const bad = reader.statements().flatMap(({ well, once, text }) => (well || once !== undefined ? [] : [text]));
      const left = [...bad, ...this.#causes().map(({ text }) => `why: ${text}`), ...stalled].filter((text) => !this.#rest.has(text));
      const isCalm = performance.now() - since.at >= CALM_MS;
      if (left.length === 0 && isCalm) return [];
      if (performance.now() > deadline) return left;
      if (isCalm) since = { at: performance.now(), counts: now };
    }
  }

  async #watch(node: NodeName): Promise<Verdict> {
    const { traffic } = this.#deps;
    const began = performance.now();
    const samples: FuzzSample[] = [];
    for (;;) {
      const now = { atMs: performance.now() - began, ...traffic.counts() };
      samples.push({ ...now, harmed: harmedFlows(samples, now, traffic.flows), causes: this.#causes() });
      const verdict = judgeChange(samples, node);
      if (verdict) return verdict;
      await this.#pause();
    }
  }

  async #undo(change: Change, before: LiveState): Promise<void> {
    const now = await this.#read(change.node, change.scope);
    const isBack = change.was !== undefined && describe(now).has(change.was);
    if (!isBack) await this.#run(change, change.undo);
    const lost = change.scope === "tor" ? [] : sideEffects(before, await this.#read(change.node, change.scope));
    if (lost.length > 0) await this.#run(change, lost.join("\n"));
  }

  #causes(): NamedCause[] {
    return this.#deps.reader.causes().map(({ id, component, domain, reason = "", message = "" }) => ({
      node: nodeOf(component),
      domain,
      text: `${id} ${reason}: ${message}`,
    }));
  }

  #read(node: NodeName, scope: Scope): Promise<LiveState> {
    return readState(this.#hostOf(node, scope), scope, this.#deps.signal);
  }

  #run({ node, scope }: Change, script: string): ReturnType<typeof runAt> {
    return runAt(this.#hostOf(node, scope), scope, script, this.#deps.signal);
  }

  #hostOf(node: NodeName, scope: Scope): LabHost {
    return this.#deps.host(scope === "tor" ? "tor" : node);
  }

  #pause(): Promise<void> {
    return sleep(POLL_INTERVAL_MS, undefined, { signal: this.#deps.signal });
  }
}

function changesAt(node: NodeName, scope: Scope, state: LiveState): Change[] {
  const possible =
    scope === "tor" ? torChanges(state.frr, underlayAddress(node)) : [...kernelChanges(state), ...frrChanges(state.frr, scope)];
  return possible.map((one) => Object.assign({ node, scope }, one));
}

function describe(state: LiveState): Set<string> {
  return new Set([...describeState(state), ...describeFrr(state.frr)]);
}
