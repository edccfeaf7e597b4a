import { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import { backoffMs } from "../../util/backoff.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { sleep } from "../../util/sleep.ts";
import { controller, type Result, type Runnable } from "../../kube/controller/controller.ts";
import { ChannelSource, changesOf } from "../../kube/controller/source.ts";
import type { EventText } from "../../kube/events/event-correlator.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { Log } from "../../kube/log.ts";
import { addressRepairs, serviceUpdateErrors, serviceUpdates } from "../metrics.ts";
import type { Usage } from "../allocator/allocator.ts";
import type { Loaded } from "../config/load.ts";
import { AddressAssigner, type Assignment } from "./address-assigner.ts";
import { WriteConflicts, conflictingManager } from "./write-conflicts.ts";
import type { ReadThroughCache } from "../../kube/cache/read-through-cache.ts";

export interface ServiceControllerOptions {
  /** Fenced: only the leader assigns addresses. */
  client: KubeClient;
  cache: Pick<Cache<Service>, "get" | "list" | "subscribe" | "waitForSync">;
  services: ReadThroughCache<Service>;
  lbClass: string | undefined;
  events: Pick<EventRecorder, "record">;
  /** Resolves when no write of an earlier leader can arrive and the pools are read live. */
  begin: (signal: AbortSignal) => Promise<Loaded>;
  onPool: (pool: string) => void;
  /** The reason why a Service lacks an address has changed. */
  onUnmetRequest: (key: string) => void;
  log: Log;
}

/** Concurrent patches. */
const MAX_IN_FLIGHT = 32;
const RETRY = { minMs: 250, maxMs: 30_000 };
/** Retry interval while the watch lags behind the server. */
const UNSEEN_MS = 1_000;

/**
 * Assigns addresses to every Service of type LoadBalancer. Decisions are made one at a time and kept in memory before they are written; writes run in
 * parallel.
 */
export class ServiceController implements Runnable {
  readonly name = "services";
  readonly #options: ServiceControllerOptions;
  readonly #channel = new ChannelSource();
  /** The last reported reason per Service why it lacks an address. */
  readonly #unmet = new Map<string, EventText>();
  readonly #conflicts = new WriteConflicts();
  #inFlight = 0;
  #assigner: AddressAssigner | undefined;
  /** The latest pools that arrived while a term begins. */
  #latest: Loaded | undefined;

  constructor(options: ServiceControllerOptions) {
    this.#options = options;
  }

  configure(loaded: Loaded): void {
    if (!this.#assigner) {
      this.#latest = loaded;
      return;
    }
    // A Service that has all it requests and loses nothing needs no reconcile.
    if (this.#assigner.configure(loaded)) for (const key of this.#unmet.keys()) this.#channel.ring(key);
  }

  usage(pool: string): Usage | undefined {
    return this.#assigner?.usage(pool);
  }

  isInEffect(pool: string): boolean {
    return this.#assigner?.isInEffect(pool) ?? false;
  }

  /** Whether so many assignments are pending that other writes should wait. */
  get isBusy(): boolean {
    return this.#inFlight > MAX_IN_FLIGHT / 2;
  }

  unmetRequest(key: string): EventText | undefined {
    return this.#unmet.get(key);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { cache, log } = this.#options;
    try {
      this.#assigner = await this.#open(signal);
      const services = controller(this.name, {
        watches: [changesOf(cache), this.#channel],
        log,
        workers: MAX_IN_FLIGHT,
        reconcile: async (key, context) => {
          serviceUpdates.inc();
          try {
            return await this.#reconcile(key, context.signal, context.log);
          } catch (error) {
            serviceUpdateErrors.inc();
            throw error;
          }
        },
      });
      await services.run(signal);
    } finally {
      this.#assigner = undefined;
      this.#unmet.clear();
      this.#conflicts.clear();
    }
  }

  /** Claims the addresses that Services already have, before any new allocation. */
  async #open(signal: AbortSignal): Promise<AddressAssigner> {
    const { services, lbClass, onPool, log } = this.#options;
    for (let failures = 1; ; failures++) {
      try {
        const loaded = await this.#options.begin(signal);
        this.#latest = undefined;
        await services.refresh(signal);
        const assigner = new AddressAssigner({ lbClass, onWake: (key) => this.#channel.ring(key), onPool });
        assigner.configure(this.#latest ?? loaded);
        assigner.claimAll(services.list());
        for (const key of services.unseen) this.#channel.ring(key);
        return assigner;
      } catch (error) {
        if (signal.aborted || isKubeError(error, "Fenced")) throw error;
        log.warn({ error }, "cannot read Services, retrying");
        await sleep(backoffMs(failures, RETRY), signal);
      }
    }
  }

  async #reconcile(key: string, signal: AbortSignal, log: Log): Promise<Result> {
    const { cache, services } = this.#options;
    const assigner = this.#assigner;
    if (!assigner) return undefined;
    const unseen = services.get(key) !== undefined && !cache.get(key);
    if (unseen) await services.verify(key, signal);
    const service = services.get(key);
    if (!service) {
      assigner.release(key);
      this.#unmet.delete(key);
      this.#conflicts.forget(key);
      return undefined;
    }
    const assignment = assigner.decide(service);
    this.#report(service, assignment);
    const waitMs = await this.#writePatch(service, assignment, { assigner, signal, log });
    if (waitMs !== undefined) return { requeueAfter: waitMs };
    return unseen ? { requeueAfter: UNSEEN_MS } : undefined;
  }

  /** Writes the patch, unless another writer keeps overwriting it. Returns when to retry. */
  async #writePatch(service: Service, assignment: Assignment, context: WriteContext): Promise<number | undefined> {
    const key = keyOf(service);
    if (!assignment.patch) return this.#checkConflictEnd(service);
    const action = this.#conflicts.beforeWrite(key, textOf(assignment));
    if (action.is === "wait") return action.ms;
    if (action.is === "repair") await this.#repair(service, assignment, action.begins, context.signal);
    await this.#write(service, assignment, assignment.patch, context);
    return undefined;
  }

  #checkConflictEnd(service: Service): number | undefined {
    const rest = this.#conflicts.whenUnchanged(keyOf(service));
    if (rest !== "over") return rest;
    this.#options.events.record(service, {
      type: "Normal",
      reason: "AddressConflictResolved",
      message: "The addresses are no longer overwritten",
    });
    return undefined;
  }

  async #repair(service: Service, assignment: Assignment, begins: boolean, signal: AbortSignal): Promise<void> {
    const { name, namespace = "" } = service.metadata;
    const written = await this.#options.client.resource(Service).get(name, { namespace, signal });
    const manager = conflictingManager(written);
    addressRepairs.inc({ manager: manager ?? "" });
    if (!begins) return;
    const theirs = written.status?.loadBalancer?.ingress?.map(({ ip, hostname }) => ip ?? hostname).join(", ") || "nothing";
    const [ours, who] = [assignment.wanted?.addresses.join(", ") || "nothing", manager ?? "Another writer"];
    const message =
      `${who} overwrites the Service's address (${theirs} instead of ${ours}). Plumbline restores it with backoff, up to every 5 minutes. ` +
      `Exclude the Service from ${manager ?? "that writer"}, e.g. with loadBalancerClass`;
    this.#options.events.record(service, { type: "Warning", reason: "AddressConflict", message });
  }

  #report(service: Service, { events, unmet }: Assignment): void {
    const key = keyOf(service);
    const before = this.#unmet.get(key);
    for (const event of events) this.#options.events.record(service, event);
    if (unmet) this.#unmet.set(key, unmet);
    else this.#unmet.delete(key);
    if (before?.reason === unmet?.reason && before?.message === unmet?.message) return;
    if (unmet) this.#options.events.record(service, unmet);
    this.#options.onUnmetRequest(key);
  }

  async #write(service: Service, assignment: Assignment, patch: object, { assigner, signal, log }: WriteContext): Promise<void> {
    const { wanted, deprecated } = assignment;
    const { client, services, events } = this.#options;
    const { resourceVersion } = service.metadata;
    if (resourceVersion === undefined) return;
    this.#inFlight += 1;
    try {
      const answer = await client.resource(Service).patchStatus(service.metadata, patch, { resourceVersion, signal });
      services.learn(answer);
      assigner.observe(answer);
      this.#conflicts.afterWrite(keyOf(service), textOf(assignment));
    } catch (error) {
      // Another write came first: the watch triggers a reconcile, and the address stays allocated until then.
      if (isKubeError(error, "Conflict", "NotFound")) return;
      throw error;
    } finally {
      this.#inFlight -= 1;
    }
    const addresses = wanted?.addresses ?? [];
    if (addresses.length > 0 && "status" in patch) {
      const message = `Assigned IP [${addresses.map((address) => `"${address.toString()}"`).join(" ")}]`;
      events.record(service, { type: "Normal", reason: "IPAllocated", message });
    }
    if (deprecated.length > 0) {
      const message = `${deprecated.join(", ")}: use the prefix metallb.io/ instead of metallb.universe.tf/`;
      events.record(service, { type: "Warning", reason: "deprecatedAnnotation", message });
    }
    log.info({ addresses: addresses.map(String), pool: wanted?.pool }, "addresses written");
  }
}

interface WriteContext {
  readonly assigner: AddressAssigner;
  readonly signal: AbortSignal;
  readonly log: Log;
}

function textOf({ wanted }: Assignment): string {
  return `${wanted?.pool ?? ""} ${wanted?.addresses.join(" ") ?? ""}`;
}
