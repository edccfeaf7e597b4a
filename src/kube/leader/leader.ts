import { randomUUID } from "node:crypto";
import { Lease } from "../../api/core/lease.ts";
import { microTime } from "../../api/time.ts";
import type { KubeClient } from "../client/client.ts";
import { isKubeError, KubeError, withTimeout } from "../client/error.ts";
import { sleep } from "../../util/sleep.ts";
import type { ResourceClient } from "../client/resource-client.ts";
import type { Log } from "../log.ts";
import { leaderFencedWrites, leaderRenewals, leaderTransitions, leading } from "../metrics.ts";
import { type ObservedLease, observeLease, type Takeover, takeoverOf } from "./observed-lease.ts";

export interface LeaderOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  /** Made unique by the elector, so that a restarted process does not take itself for its predecessor. */
  identity: string;
  log: Log;
  /** How long others must not see a renewal before they take over; 15 s. */
  durationMs?: number;
  /** The maximum age of the last renewal for writes; 10 s. Shorter than the duration, to allow for clocks that drift. */
  renewMs?: number;
  /** The interval of renewals and attempts; 2 s. */
  retryMs?: number;
  /** How long a request of the previous leader may still be in flight; the client's deadline, 30 s. */
  requestDeadlineMs?: number;
}

export interface Term {
  /** Runs until the signal aborts. Renewals continue until it has ended, so that it may finish its writes. */
  onStarted: (signal: AbortSignal, takeover: Takeover) => Promise<void>;
}

/** One for a renewal, one for another while the first hangs. They are used for nothing else, so that nothing delays a renewal. */
const LEASE_SOCKETS = 2;

/** Acquires a Lease, renews it during the term, and knows in every tick whether it is still valid. */
export class LeaderElector {
  readonly identity: string;
  readonly #name: string;
  readonly #namespace: string;
  readonly #client: KubeClient;
  readonly #leases: ResourceClient<Lease>;
  readonly #log: Log;
  readonly #durationMs: number;
  readonly #renewMs: number;
  readonly #retryMs: number;
  readonly #requestDeadlineMs: number;
  #observed: ObservedLease | undefined;
  #takeover: Takeover = "free";
  /** When the last successful acquisition or renewal was sent; unset while not leading. */
  #renewedAt: Moment | undefined;
  #oldWritesEndAt = 0;

  constructor({ client, namespace, name, identity, log, ...times }: LeaderOptions) {
    this.identity = `${identity}_${randomUUID()}`;
    this.#namespace = namespace;
    this.#name = name;
    this.#log = log.child({ lease: `${namespace}/${name}` });
    this.#client = client.apart({ maxSockets: LEASE_SOCKETS });
    this.#leases = this.#client.resource(Lease);
    this.#durationMs = times.durationMs ?? 15_000;
    this.#renewMs = times.renewMs ?? 10_000;
    this.#retryMs = times.retryMs ?? 2_000;
    this.#requestDeadlineMs = times.requestDeadlineMs ?? 30_000;
    if (!(this.#retryMs < this.#renewMs && this.#renewMs < this.#durationMs)) {
      throw new RangeError("the retry period must be shorter than the renew deadline, and that shorter than the Lease duration");
    }
    leading.set({ lease: name }, 0);
  }

  get isLeader(): boolean {
    return this.#msLeft(this.#renewedAt) >= 0;
  }

  /** For `client.fenced`: throws if the last renewal is too old, so that a leader which was suspended and resumed starts no new write. */
  assertLeading(): void {
    this.#assertFresh(this.#renewedAt);
  }

  #assertFresh(renewedAt: Moment | undefined): void {
    if (this.#msLeft(renewedAt) >= 0) return;
    leaderFencedWrites.inc({ lease: this.#name });
    throw new KubeError(
      "Fenced",
      `Not sent: ${this.identity} does not hold Lease ${this.#namespace}/${this.#name}, or did not renew it in time`,
    );
  }

  /**
   * For allocators: after an expired Lease, waits until no request of the previous leader can still arrive; an uncached list after it is
   * complete. Call it within a term.
   */
  async waitForOldWrites(signal: AbortSignal): Promise<void> {
    this.assertLeading();
    await sleep(Math.max(0, this.#oldWritesEndAt - performance.now()), signal);
    this.assertLeading();
  }

  /** Waits to be leader, leads one term and releases the Lease. Throws if the Lease is lost, after the term has ended. */
  async run(signal: AbortSignal, { onStarted }: Term): Promise<void> {
    const takeover = await this.#campaign(signal);
    if (takeover === undefined) return;
    this.#oldWritesEndAt = performance.now() + (takeover === "expired" ? this.#requestDeadlineMs : 0);
    this.#changed("acquired", { takeover });

    const lost = new AbortController();
    const over = new AbortController();
    const renewing = this.#keepRenewing(over.signal).then((loss) => {
      if (loss) lost.abort(loss);
    });
    try {
      await onStarted(AbortSignal.any([signal, lost.signal]), takeover);
    } catch (error) {
      if (!lost.signal.aborted) throw error;
    } finally {
      over.abort();
      await renewing;
      await this.#leave();
    }
    lost.signal.throwIfAborted();
  }

  async #campaign(signal: AbortSignal): Promise<Takeover | undefined> {
    while (!signal.aborted) {
      try {
        await this.#tryToTake(signal);
        if (this.isLeader) return this.#takeover;
      } catch (error) {
        if (!signal.aborted) this.#log.warn({ error }, "could not acquire the Lease");
      }
      await sleep(about(this.#retryMs), signal).catch(ended);
    }
    return undefined;
  }

  async #tryToTake(signal: AbortSignal): Promise<void> {
    const found = await this.#limited(signal, (limited) => this.#read(limited));
    const now = performance.now();
    if (found) this.#observed = observeLease(this.#observed, found, now);
    // An own write whose response was lost has succeeded; the takeover is known.
    const ours = found?.spec.holderIdentity === this.identity;
    const takeover = ours ? this.#takeover : takeoverOf(this.#observed, now);
    if (!takeover) return;
    this.#takeover = takeover;
    const transitions = (this.#observed?.lease.spec.leaseTransitions ?? -1) + 1;
    const changes = ours ? {} : { acquireTime: microTime(new Date()), leaseTransitions: transitions };
    // A shutdown must not interrupt it: it could leave a held Lease behind.
    await this.#limited(never, (limited) => this.#hold(this.#leases, found, changes, limited));
  }

  /** Returns why the Lease was lost; undefined when renewals are no longer needed. */
  async #keepRenewing(over: AbortSignal): Promise<KubeError | undefined> {
    for (;;) {
      const left = Math.max(0, this.#msLeft(this.#renewedAt));
      await sleep(Math.min(about(this.#retryMs), left), over).catch(ended);
      if (over.aborted) return undefined;
      if (!this.isLeader) return this.#loss("could not be renewed in time");
      try {
        const limit = Math.min(this.#renewMs / 2, this.#msLeft(this.#renewedAt));
        await withTimeout(limit, over, (limited) => this.#renew(limited));
        leaderRenewals.inc({ lease: this.#name, outcome: "ok" });
      } catch (error) {
        if (over.aborted) return undefined;
        leaderRenewals.inc({ lease: this.#name, outcome: isKubeError(error) ? error.code : "Unexpected" });
        this.#log.warn({ error }, "could not renew the Lease");
        const holder = this.#observed?.lease.spec.holderIdentity;
        if (holder !== this.identity) return this.#loss(holder ? `was acquired by ${holder}` : "was taken away");
      }
    }
  }

  /** A renewal is fenced like all writes: a late one is not sent. */
  async #renew(signal: AbortSignal): Promise<void> {
    const leases = this.#client.fenced(() => this.assertLeading()).resource(Lease);
    try {
      await this.#hold(leases, this.#observed?.lease, {}, signal);
    } catch (error) {
      // It was written by somebody, maybe by this process in a request whose response was lost; or deleted.
      if (!isKubeError(error, "Conflict", "NotFound")) throw error;
      const found = await this.#read(signal);
      if (found) this.#observed = observeLease(this.#observed, found, performance.now());
      if (found && found.spec.holderIdentity !== this.identity) throw error;
      await this.#hold(leases, found, {}, signal);
    }
  }

  /** `found` is the existing Lease, if any. */
  async #hold(
    leases: ResourceClient<Lease>,
    found: Lease | undefined,
    changes: Partial<Lease["spec"]>,
    signal: AbortSignal,
  ): Promise<void> {
    const spec: Lease["spec"] = {
      ...this.#observed?.lease.spec,
      ...changes,
      holderIdentity: this.identity,
      leaseDurationSeconds: Math.ceil(this.#durationMs / 1000),
      renewTime: microTime(new Date()),
    };
    const metadata = { namespace: this.#namespace, name: this.#name };
    const startedAt = moment();
    const lease = found ? await leases.replace({ ...found, spec }, { signal }) : await leases.create({ metadata, spec }, { signal });
    // Abandoned: by now the fence may be closed and the Lease released.
    signal.throwIfAborted();
    this.#observed = { lease, since: startedAt.monotonic };
    this.#renewedAt = startedAt;
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.#leases.get(this.#name, { namespace: this.#namespace, signal });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  #loss(how: string): KubeError {
    this.#renewedAt = undefined;
    return new KubeError("Fenced", `The Lease ${this.#namespace}/${this.#name} ${how}; this process no longer leads`);
  }

  /** Closes the fence, then releases the Lease so that the next leader need not wait for it to expire. */
  async #leave(): Promise<void> {
    // If it is still ours later, writes of this term may be in flight.
    this.#takeover = "expired";
    if (!this.isLeader) return this.#changed("lost");
    const renewedAt = this.#renewedAt;
    this.#renewedAt = undefined;
    const leases = this.#client.fenced(() => this.#assertFresh(renewedAt)).resource(Lease);
    try {
      await this.#limited(never, async (signal) => {
        // An interrupted renewal may have changed the version.
        const found = await this.#read(signal);
        if (found?.spec.holderIdentity !== this.identity) return;
        const spec = { ...found.spec, holderIdentity: "", leaseDurationSeconds: 1, renewTime: microTime(new Date()) };
        await leases.replace({ ...found, spec }, { signal });
      });
      this.#changed("released");
    } catch (error) {
      this.#log.warn({ error }, "could not release the Lease; the next leader waits until it expires");
      this.#changed("lost");
    }
  }

  /** How long a renewal of this time is valid; negative if it is too old. */
  #msLeft(renewedAt: Moment | undefined): number {
    return renewedAt ? this.#renewMs - ageOf(renewedAt) : -Infinity;
  }

  #limited<T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withTimeout(this.#renewMs / 2, signal, call);
  }

  #changed(change: "acquired" | "lost" | "released", fields: object = {}): void {
    leading.set({ lease: this.#name }, change === "acquired" ? 1 : 0);
    leaderTransitions.inc({ lease: this.#name, change });
    this.#log.info({ identity: this.identity, change, ...fields }, "leadership changed");
  }
}

/** Both clocks: the monotonic one stops while a VM is paused or a machine sleeps, the other one can be set. */
interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

function moment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/**
 * By the clock with the larger age. A clock that is set forward may cost the lead, which is safe; an acquisition counts by the monotonic
 * clock alone.
 */
function ageOf({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}

const never = new AbortController().signal;

const ended = () => {};

/** Randomized, so that candidates do not retry together. */
function about(ms: number): number {
  return ms * (0.8 + Math.random() * 0.4);
}
