import type { UnderlaySpec } from "./model/specs.ts";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Node } from "../api/core/node.ts";
import type { Secret } from "../api/core/secret.ts";
import { merge, print } from "../frr/config.ts";
import type { ConfigLine, Fragment } from "../frr/fragment.ts";
import { AddressModes } from "../hostnet/address-modes.ts";
import { LinkApplier } from "../hostnet/apply.ts";
import { type ForeignObject, readForeign } from "../hostnet/foreign.ts";
import { ensureNamespace, namespaceIdentity, raiseLoopback, type NetworkNamespaces } from "../hostnet/namespaces.ts";
import { ovsAnswers } from "../hostnet/ovs.ts";
import { isKubeError } from "../kube/client/error.ts";
import type { Log } from "../kube/log.ts";
import { act, reapply } from "./act.ts";
import type { ResourceChange, RouterApplyResult } from "./pass-record.ts";
import { isThere, replaceFile } from "../resilience/atomic-file.ts";
import { type FileDamage, StateError } from "../resilience/state-file.ts";
import { type PlanDifference, differences } from "./drift.ts";
import type { FrrBackend } from "./backends.ts";
import { type FrrAddresses, MissedAddressAnnouncer } from "./zebra-missed-addresses.ts";
import { updateSelection, observe, recordNicAddresses } from "./observe.ts";
import { type LiveVni, liveVnis, underlayPath } from "./vnis.ts";
import type { ObservedNode, RouterObjects } from "./model/observed.ts";
import { plan, type RouterPlan } from "./plan.ts";
import { ApiRoutes } from "./protected-interfaces.ts";
import { baseFragment } from "./render/frr.ts";
import { type LinkReport, type PassOutcome, underlayLinks } from "./report.ts";
import { planAndAct } from "./rejected-resources.ts";
import { type RouterState, RouterStateFile } from "./state.ts";

/** What the cluster says about this node's router. */
export interface RouterInputs {
  readonly node: Node;
  /** The node index that this node may use, when it runs with this one. */
  index(running: number | undefined): Promise<number | undefined>;
  readonly objects: RouterObjects;
  readonly secret: (name: string) => Secret | "unreadable" | undefined;
}

export interface NodeRouterOptions {
  readonly namespaces: NetworkNamespaces;
  readonly stateDirectory: string;
  /** What FRR reads when it starts. */
  readonly bootFile: string;
  /** `https://host:port` or `unix:/path`: its route must not be cut. */
  readonly apiServer: string;
  readonly frr: FrrAddresses & {
    /** FRR as it runs now; `applied` is what earlier passes put there. Throws why there is none. */
    open(applied: readonly Fragment[], signal: AbortSignal): Promise<FrrBackend>;
    /** All daemons' configuration as it is now. */
    running(signal: AbortSignal): Promise<readonly ConfigLine[]>;
  };
  readonly log: Log;
}

export interface PassHooks {
  /** Whether the API server answers within its time, after an interface was moved. */
  apiAnswers(): Promise<boolean>;
  onRebuild(outcome: PassOutcome): void;
  /** The router's namespace was deleted and recreated since the last pass. */
  onNewNamespace(): void;
}

export interface PassResult {
  readonly outcome: PassOutcome;
  /** Missing where the router does not answer. Its changes include those of earlier passes that failed or were aborted. */
  readonly done?: RouterApplyResult;
  /** Why not. */
  readonly error?: unknown;
  /** The state file was damaged, or of a newer version, when it was loaded; reported once. */
  readonly damage?: FileDamage;
}

/** The router of one node: the kernel's links in two namespaces, FRR in one of them, and what is remembered of both. */
export class NodeRouter {
  readonly namespaces: NetworkNamespaces;
  readonly #options: NodeRouterOptions;
  readonly #file: RouterStateFile;
  #state: RouterState | undefined;
  /** Until it is reported. */
  #damage: FileDamage | undefined;
  #namespace: string | undefined;
  readonly #modes = new AddressModes();
  readonly #apiRoutes: ApiRoutes;
  #restoring: Promise<void> | undefined;
  #written: Readonly<Record<string, string>> = {};
  readonly #missed: MissedAddressAnnouncer;
  /** What passes changed that then failed or were aborted: a repair must be reported, although the next pass has nothing left to repair. */
  #unreported: ResourceChange[] = [];
  #links: readonly LinkReport[] = [];
  #foreign: readonly ForeignObject[] | undefined;
  #planned: RouterPlan = { underlay: undefined, steps: [], failures: [], selected: [] };

  constructor(options: NodeRouterOptions) {
    this.namespaces = options.namespaces;
    this.#options = options;
    this.#file = new RouterStateFile(options.stateDirectory);
    this.#missed = new MissedAddressAnnouncer(options.log);
    this.#apiRoutes = new ApiRoutes(options.apiServer, options.namespaces.host);
  }

  async #load(): Promise<RouterState> {
    if (this.#state) return this.#state;
    const { state, damage } = await this.#file.load();
    if (damage)
      this.#options.log.error({ why: damage.message, recovered: damage.recovered }, "router state file is damaged or from a newer version");
    this.#damage = damage;
    this.#state = state;
    return state;
  }

  /** The VNIs that are applied now; none before the first pass. */
  get vnis(): LiveVni[] {
    return this.#state ? liveVnis(this.#state.lastGood) : [];
  }

  /** Observes, plans and acts once. A router that does not answer is an outcome too; only an abort is thrown. */
  async pass(view: RouterInputs, hooks: PassHooks, signal: AbortSignal): Promise<PassResult> {
    await this.#restoring?.catch(() => {});
    try {
      const state = await this.#load();
      await ensureNamespace(this.namespaces.router, signal);
      await this.#compareNamespace(hooks);
      await using kernel = await LinkApplier.open(this.namespaces, signal, this.#modes);
      if (!kernel.have.router.get("lo")?.up) await raiseLoopback(this.namespaces.router, signal);
      state.index = await view.index(state.index);
      state.selections = updateSelection(view.objects, state.selections, view.node, new Date());
      state.nics = recordNicAddresses(
        [...view.objects.underlays.map(({ spec }) => spec), ...liveUnderlays(state)],
        kernel.have,
        state.nics,
      );
      // Saved before anything is moved: an agent that is killed half-way would lose what only the kernel knew.
      await this.#file.save(state);
      const observed = await this.#observe(view, state, kernel, signal);
      const { planned, done, rejections } = await planAndAct(state.rejections ?? new Map(), {
        plan: (rejections) => (this.#planned = plan({ ...observed, rejections })),
        act: (planned) => this.#act(planned, state, kernel, hooks, signal),
        live: state.lastGood,
        now: observed.now,
      });
      this.#unreported = [];
      const isChanged = !isDeepStrictEqual(rejections, state.rejections ?? new Map());
      state.rejections = rejections;
      if (isChanged) await this.#file.save(state);
      const damage = this.#damage;
      this.#damage = undefined;
      this.#links = underlayLinks(state.lastGood, kernel.have, this.#links, new Date());
      this.#foreign = await this.#readForeign(state, kernel, signal);
      const outcome = { ...outcomeOf(planned, state, done), links: this.#links, ...(this.#foreign && { foreign: this.#foreign }) };
      return { outcome, done, ...(damage && { damage }) };
    } catch (error) {
      signal.throwIfAborted();
      if (isKubeError(error)) throw error;
      const unavailable = error instanceof Error ? error.message : String(error);
      return { outcome: { ...outcomeOf(this.#planned, this.#state), unavailable }, error };
    }
  }

  /**
   * Restores the last good configuration without the cluster: for a machine that reboots while the API server is unreachable. What is there already is
   * not touched. A pass that comes meanwhile waits; if its plan is stopped it does the same.
   */
  async restore(signal: AbortSignal): Promise<void> {
    this.#restoring = this.#setUpLastGood(signal);
    await this.#restoring;
  }

  async #setUpLastGood(signal: AbortSignal): Promise<void> {
    const state = await this.#load();
    if (state.lastGood.size === 0) return;
    await ensureNamespace(this.namespaces.router, signal);
    await using kernel = await LinkApplier.open(this.namespaces, signal);
    // It was asked when the interface was moved for the first time; now it is away anyway.
    const hooks = { apiAnswers: () => Promise.resolve(true), onRebuild: () => {} };
    const { changes, failures } = await this.#act(undefined, state, kernel, hooks, signal);
    this.#unreported = [];
    if (changes.length > 0) this.#options.log.warn({ changes, failures }, "API server unreachable; restored the last good configuration");
  }

  /** Without a plan what was live last is kept up. */
  async #act(
    planned: RouterPlan | undefined,
    state: RouterState,
    kernel: LinkApplier,
    hooks: Pick<PassHooks, "apiAnswers" | "onRebuild">,
    signal: AbortSignal,
  ): Promise<RouterApplyResult> {
    const base = baseFragment();
    const applied = [...state.lastGood.values()].map(({ rendered }) => rendered.fragment);
    const daemons = await this.#options.frr.open([base, ...applied], signal);
    await this.#writeConfiguration("frr.candidate.conf", [base, ...(planned && !planned.stopped ? fragmentsOf(planned) : applied)]);
    const rebuilding = (owners: ReadonlySet<string>) => {
      if (planned) hooks.onRebuild({ ...outcomeOf(planned, state), rebuilding: owners });
    };
    try {
      const backends = { kernel, daemons, base, apiAnswers: () => hooks.apiAnswers(), onRebuild: rebuilding };
      this.#unreported = summed(this.#unreported);
      const done = planned
        ? await act(planned, state.lastGood, backends, this.#unreported)
        : await reapply(state.lastGood, backends, this.#unreported);
      await this.#missed.announce(kernel, this.#options.frr, signal);
      return done;
    } finally {
      // Also after a pass that broke off: what it did is live.
      await this.#file.save(state);
      const live = [...state.lastGood.values()].map(({ rendered }) => rendered.fragment);
      // What FRR has may be more than is remembered.
      if (!planned?.stopped || live.length > 0) await this.#writeConfiguration(this.#options.bootFile, [base, ...live]);
    }
  }

  /** What is in the way of packets; undefined without an Underlay. */
  async #readForeign(state: RouterState, kernel: LinkApplier, signal: AbortSignal): Promise<readonly ForeignObject[] | undefined> {
    const path = underlayPath(state.lastGood, kernel.have.router);
    if (!path) return undefined;
    try {
      return await readForeign(this.namespaces, kernel.have, path, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#options.log.warn({ error }, "cannot list foreign objects on the node");
      return this.#foreign;
    }
  }

  async #compareNamespace(hooks: PassHooks): Promise<void> {
    const identity = await namespaceIdentity(this.namespaces.router);
    if (this.#namespace !== undefined && this.#namespace !== identity) hooks.onNewNamespace();
    this.#namespace = identity;
  }

  /** What the next pass would do. Nothing is touched, on the disk either. */
  async differences(view: RouterInputs, signal: AbortSignal): Promise<{ planned: RouterPlan; differences: PlanDifference[] }> {
    const { state } = await new RouterStateFile(this.#options.stateDirectory).load({ setAside: false });
    await using kernel = await LinkApplier.open(this.namespaces, signal);
    const index = await view.index(state.index);
    const selections = updateSelection(view.objects, state.selections, view.node, new Date());
    const planned = plan(await this.#observe(view, { ...state, index, selections }, kernel, signal));
    const running = await this.#options.frr.running(signal);
    const found = differences(planned, baseFragment(), { links: kernel.have, running, lastGood: state.lastGood });
    return { planned, differences: found };
  }

  async #observe(view: RouterInputs, state: RouterState, kernel: LinkApplier, signal: AbortSignal): Promise<ObservedNode> {
    const asksForOvs = view.objects.l2vnis.some(({ spec }) => spec.hostmaster?.type === "ovs-bridge");
    const mayMove = view.objects.underlays.some(({ spec }) => spec.nics?.some((nic) => kernel.have.host.has(nic)));
    const [towardsApi, ovs] = await Promise.all([this.#apiRoutes.links(mayMove, signal), asksForOvs && ovsAnswers(signal)]);
    return observe({ ...view, index: state.index, links: kernel.have, towardsApi, ovs, state, now: new Date() });
  }

  async #writeConfiguration(file: string, fragments: readonly Fragment[]): Promise<void> {
    const path = file.startsWith("/") ? file : join(this.#options.stateDirectory, file);
    const text = print(merge(fragments));
    if (this.#written[path] === text && (await isThere(path))) return;
    try {
      await mkdir(this.#options.stateDirectory, { recursive: true });
      await replaceFile(path, text);
    } catch (error) {
      throw new StateError("Unwritable", path, error);
    }
    this.#written = { ...this.#written, [path]: text };
  }
}

function liveUnderlays({ lastGood }: RouterState): UnderlaySpec[] {
  return [...lastGood].flatMap(([owner, { spec }]) => (owner.startsWith("Underlay/") ? [spec as UnderlaySpec] : []));
}

function fragmentsOf({ underlay, steps }: RouterPlan): Fragment[] {
  return [...(underlay ? [underlay] : []), ...steps].map(({ rendered }) => rendered.fragment);
}

/** One entry per owner, so that passes which fail for hours do not collect more and more. */
function summed(changes: readonly ResourceChange[]): ResourceChange[] {
  const groups = Map.groupBy(changes, ({ owner, drift }) => `${owner} ${drift}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first ? [{ ...first, links: sum(group, "links"), lines: sum(group, "lines") }] : [];
  });
}

function sum(changes: readonly ResourceChange[], what: "links" | "lines"): number {
  return changes.reduce((total, change) => total + change[what], 0);
}

/** Without what a pass did, what is live is what was live. */
function outcomeOf(planned: RouterPlan, state: RouterState | undefined, done?: RouterApplyResult): PassOutcome {
  const stopped = planned.stopped ?? done?.stopped;
  // Those that wait for the Underlay are not tried: of them only what can no longer be kept up is a failure.
  const known = stopped ? planned.failures.filter(({ kind }) => kind === "Underlay") : planned.failures;
  return {
    selected: planned.selected,
    failures: [...known, ...(done?.failures ?? [])],
    live: done?.live ?? new Map([...(state?.lastGood ?? [])].map(([owner, { generation }]) => [owner, generation])),
    ...(stopped && { stopped }),
  };
}
