import { FailoverPolicy, type FailoverStatus } from "../api/failover/failover-policy.ts";
import { keyOf, parseKey } from "../api/kind.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/error.ts";
import { hasFinalizer } from "./act.ts";
import { actsEverywhere } from "./consent.ts";
import type { CachedReader, WrittenVersion } from "./observe/cached-reader.ts";
import { readLive } from "./observe/live-reader.ts";
import type { ObservedPolicy } from "./observe/observed.ts";
import type { ResourceReader } from "./observe/reader.ts";
import type { ServedKinds } from "./observe/served-kinds.ts";
import type { WatchedKinds } from "./observe/watched-kinds.ts";
import { blockedFor, planFrom } from "./plan.ts";
import type { PolicyFailure } from "./policy/failure.ts";
import type { Managed } from "./policy/managed.ts";
import { asSwitched, differsFromSwitch, revertOf } from "./policy/switch-record.ts";
import type { SwitchPlan } from "./steps/step.ts";
import type { Peers } from "./token/peers.ts";
import { isRestored, type PeerView, withoutPeer } from "./token/token.ts";
import { WriteRights } from "./write-rights.ts";

export interface PolicyScope {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  readonly managed: readonly Managed[];
  readonly watched: WatchedKinds;
}

/** State of a policy that is not in the cluster. */
export interface Progress {
  /** The status that was last queued for writing. */
  published?: FailoverStatus;
  /** Writes that the watches have not delivered yet, and since when. */
  awaited?: { readonly written: readonly WrittenVersion[]; readonly since: number } | undefined;
  writeFailures: readonly PolicyFailure[];
  peer?: { readonly view: PeerView; readonly at: number; readonly generation: number | undefined } | undefined;
  /** Consecutive conflicts. */
  conflicts: number;
}

export interface Pass {
  readonly policy: FailoverPolicy;
  readonly plan: SwitchPlan;
  readonly peer: PeerView | undefined;
  readonly isLive: boolean;
  readonly now: Date;
}

interface PassPlannerOptions {
  client: KubeClient;
  served: ServedKinds;
  reader: CachedReader;
  peers: Pick<Peers, "ask">;
  contested: (policy: FailoverPolicy, managed: readonly Managed[]) => ObservedPolicy["contested"];
  dnsAnnotation?: string;
  everywhere?: readonly string[];
}

/** The maximum age of the other site's answer, while something waits for it and at rest. */
const PEER_MS = 4_500;
export const PEER_AT_REST_MS = 20_000;

/** Plans on the caches first, and on live reads if there is something to write. */
export class PassPlanner {
  readonly #options: PassPlannerOptions;
  readonly #rights: WriteRights;

  constructor(options: PassPlannerOptions) {
    this.#options = options;
    this.#rights = new WriteRights(options.client);
  }

  /**
   * Uses the caches if they are complete and there is nothing to write, else live reads. Undefined: the policy has changed. The caches may
   * lag behind our own token, which looks like a restored backup.
   */
  async observe(policy: FailoverPolicy, scope: PolicyScope, progress: Progress, signal: AbortSignal): Promise<Pass | undefined> {
    const { client, served, reader } = this.#options;
    if (reader.isWhole(scope.watched) && !progress.awaited && !differsFromSwitch(policy)) {
      const pass = await this.#plan(policy, scope, progress, reader, signal);
      if (!hasWork(pass) && !isRestored(pass.policy, pass.peer)) return pass;
    }
    const fresh = await this.#read(keyOf(policy), signal);
    if (!fresh || fresh.metadata.uid !== scope.uid || fresh.metadata.generation !== scope.generation) return undefined;
    const live = await readLive(client, served, scope.watched, signal);
    return this.#permitted(await this.#plan(fresh, scope, progress, live, signal), signal);
  }

  /** The finalizer is the first write of a switch: all rights for the rest are checked before it. */
  async #permitted(pass: Pass, signal: AbortSignal): Promise<Pass> {
    if (!hasWork(pass) || hasFinalizer(pass.policy)) return pass;
    const missing = await this.#rights.missing(pass.plan, signal);
    return missing.length === 0 ? pass : { ...pass, plan: blockedFor(pass.plan, missing) };
  }

  async #read(key: string, signal: AbortSignal): Promise<FailoverPolicy | undefined> {
    const { name, namespace = "" } = parseKey(key);
    try {
      return await this.#options.client.resource(FailoverPolicy).get(name, { namespace, signal });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  async #plan(stored: FailoverPolicy, scope: PolicyScope, progress: Progress, reader: ResourceReader, signal: AbortSignal): Promise<Pass> {
    const { served, contested, dnsAnnotation, everywhere } = this.#options;
    const isLive = reader !== this.#options.reader;
    const revert = revertOf(stored);
    const wanted = asSwitched(stored);
    const policy = progress.published ? { ...wanted, status: ownParts(progress.published, stored.status) } : wanted;
    const peer = policy.spec.peer ? await this.#askPeer(policy, progress, isLive, signal) : withoutPeer(policy);
    const now = new Date();
    const mayActAnywhere = actsEverywhere(policy, everywhere);
    const plan = planFrom(reader, served, {
      policy,
      managed: scope.managed,
      contested: contested(policy, scope.managed),
      now,
      actsEverywhere: mayActAnywhere,
      mayFence: mayActAnywhere,
      ...(dnsAnnotation !== undefined && { dnsAnnotation }),
      ...(peer && { peer }),
      ...(revert && { revert }),
    });
    return { policy, plan, peer, isLive, now };
  }

  async #askPeer(policy: FailoverPolicy, progress: Progress, isLive: boolean, signal: AbortSignal): Promise<PeerView> {
    const { generation } = policy.metadata;
    // The other site's policy may have changed too.
    const ageMs = progress.peer?.generation === generation ? performance.now() - (progress.peer?.at ?? -Infinity) : Infinity;
    const oldestMs = policy.status?.transition?.completionTime === undefined ? PEER_MS : PEER_AT_REST_MS;
    if (progress.peer && !isLive && ageMs < oldestMs) return progress.peer.view;
    const view = await this.#options.peers.ask(policy, signal);
    progress.peer = { view, at: performance.now(), generation };
    return view;
  }
}

/** A policy that is deleted before its switch has begun never begins it. */
export function hasWork({ plan, policy }: Pass): boolean {
  if (plan.rejections.length > 0 || (policy.metadata.deletionTimestamp !== undefined && !hasFinalizer(policy))) return false;
  return plan.steps.some(({ state, writes, token }) => state === "Act" && (writes.length > 0 || token !== undefined));
}

export function ownParts(published: FailoverStatus, current: FailoverStatus | undefined): FailoverStatus {
  const status = { ...published };
  delete status.token;
  delete status.claims;
  return { ...status, ...(current?.token && { token: current.token }), ...(current?.claims && { claims: current.claims }) };
}
