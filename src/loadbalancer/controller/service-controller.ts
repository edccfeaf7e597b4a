import { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import { backoffMs } from "../../util/backoff.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { pause } from "../../util/sleep.ts";
import { controller, type Result, type Runnable } from "../../kube/controller/controller.ts";
import { Bell, changesOf } from "../../kube/controller/source.ts";
import type { EventText } from "../../kube/event-correlator.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { Log } from "../../kube/log.ts";
import { addressRepairs, serviceUpdateErrors, serviceUpdates } from "../metrics.ts";
import type { Usage } from "../allocator/allocator.ts";
import type { Loaded } from "../config/load.ts";
import { AddressDesk, type Order } from "./address-assigner.ts";
import { Contests } from "./write-conflicts.ts";
import type { FreshView } from "../../kube/cache/read-through-cache.ts";
import { rivalIn } from "./other-writer.ts";

export interface ServiceControllerOptions {
  /** Fenced: only the leader hands out addresses. */
  client: KubeClient;
  cache: Pick<Cache<Service>, "get" | "list" | "subscribe" | "waitForSync">;
  services: FreshView<Service>;
  lbClass: string | undefined;
  events: Pick<EventRecorder, "record">;
  /** Resolves when no write of an earlier leader can arrive any more, and what is to be known of pools is read from the server itself. */
  begin: (signal: AbortSignal) => Promise<Loaded>;
  /** What is in use of a pool has changed. */
  onPool: (pool: string) => void;
  /** A Service was refused something, or no longer is. */
  onRefusal: (key: string) => void;
  log: Log;
}

/** How many patches are under way at a time. */
const IN_FLIGHT = 32;
const RETRY = { minMs: 250, maxMs: 30_000 };
/** When to look again at what the watch has not told yet. */
const UNSEEN_MS = 1_000;

/**
 * Gives every Service of type LoadBalancer the addresses that it asks for. Decisions are made one at a time and held in memory before they are
 * written; writes go out many at a time.
 */
export class ServiceController implements Runnable {
  readonly name = "services";
  readonly #options: ServiceControllerOptions;
  readonly #bell = new Bell();
  /** What each Service was last told that it cannot have, and why. */
  readonly #refused = new Map<string, EventText>();
  readonly #contests = new Contests();
  #underWay = 0;
  /** For the time of a term. */
  #desk: AddressDesk | undefined;
  /** What was told of the pools while a term begins. */
  #latest: Loaded | undefined;

  constructor(options: ServiceControllerOptions) {
    this.#options = options;
  }

  /** The pools in effect have changed. What they are when a term begins is told by `begin`. */
  configure(loaded: Loaded): void {
    if (!this.#desk) {
      this.#latest = loaded;
      return;
    }
    // Who has all that it asks for, and loses nothing of it, has nothing to gain.
    if (this.#desk.configure(loaded)) for (const key of this.#refused.keys()) this.#bell.ring(key);
  }

  usage(pool: string): Usage | undefined {
    return this.#desk?.usage(pool);
  }

  isInEffect(pool: string): boolean {
    return this.#desk?.isInEffect(pool) ?? false;
  }

  /** Whether so many Services are being given their addresses that everything else should wait. */
  get isBusy(): boolean {
    return this.#underWay > IN_FLIGHT / 2;
  }

  /** Why the Service does not have what it asks for. */
  refusal(key: string): EventText | undefined {
    return this.#refused.get(key);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { cache, log } = this.#options;
    try {
      this.#desk = await this.#open(signal);
      const serving = controller(this.name, {
        watches: [changesOf(cache), this.#bell],
        log,
        workers: IN_FLIGHT,
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
      await serving.run(signal);
    } finally {
      this.#desk = undefined;
      this.#refused.clear();
      this.#contests.clear();
    }
  }

  /** Takes note of what the Services have, before anyone is given anything. */
  async #open(signal: AbortSignal): Promise<AddressDesk> {
    const { services, lbClass, onPool, log } = this.#options;
    for (let failures = 1; ; failures++) {
      try {
        const loaded = await this.#options.begin(signal);
        this.#latest = undefined;
        await services.refresh(signal);
        const desk = new AddressDesk({ lbClass, onWake: (key) => this.#bell.ring(key), onPool });
        desk.configure(this.#latest ?? loaded);
        desk.claimAll(services.list());
        for (const key of services.unseen) this.#bell.ring(key);
        return desk;
      } catch (error) {
        if (signal.aborted || isKubeError(error, "Fenced")) throw error;
        log.warn({ error }, "cannot read what is to be served, trying again");
        await pause(backoffMs(failures, RETRY), signal);
      }
    }
  }

  async #reconcile(key: string, signal: AbortSignal, log: Log): Promise<Result> {
    const { cache, services } = this.#options;
    const desk = this.#desk;
    if (!desk) return undefined;
    const unseen = services.get(key) !== undefined && !cache.get(key);
    if (unseen) await services.verify(key, signal);
    const service = services.get(key);
    if (!service) {
      desk.release(key);
      this.#refused.delete(key);
      this.#contests.forget(key);
      return undefined;
    }
    const order = desk.decide(service);
    this.#tell(service, order);
    const waitMs = await this.#attend(service, order, { desk, signal, log });
    if (waitMs !== undefined) return { requeueAfter: waitMs };
    return unseen ? { requeueAfter: UNSEEN_MS } : undefined;
  }

  /** Writes what is to be written, unless somebody else would only write over it. When to look again. */
  async #attend(service: Service, order: Order, context: Writing): Promise<number | undefined> {
    const key = keyOf(service);
    if (!order.patch) return this.#rest(service);
    const turn = this.#contests.look(key, textOf(order));
    if (turn.is === "wait") return turn.ms;
    if (turn.is === "repair") await this.#repair(service, order, turn.begins, context.signal);
    await this.#write(service, order, order.patch, context);
    return undefined;
  }

  #rest(service: Service): number | undefined {
    const rest = this.#contests.rest(keyOf(service));
    if (rest !== "over") return rest;
    this.#options.events.record(service, {
      type: "Normal",
      reason: "AddressUncontested",
      message: "Nobody else changes the addresses any more",
    });
    return undefined;
  }

  async #repair(service: Service, order: Order, begins: boolean, signal: AbortSignal): Promise<void> {
    const { name, namespace = "" } = service.metadata;
    const written = await this.#options.client.resource(Service).get(name, { namespace, signal });
    const manager = rivalIn(written);
    addressRepairs.inc({ manager: manager ?? "" });
    if (!begins) return;
    const theirs = written.status?.loadBalancer?.ingress?.map(({ ip, hostname }) => ip ?? hostname).join(", ") || "nothing";
    const [ours, who] = [order.wanted?.addresses.join(", ") || "nothing", manager ?? "somebody else"];
    const message =
      `${who} keeps writing ${theirs} into the Service's status, where ${ours} belongs. That is put back ever more seldom, at last every five minutes. ` +
      `Have ${who} leave the Service alone, for instance by a loadBalancerClass`;
    this.#options.events.record(service, { type: "Warning", reason: "AddressContested", message });
  }

  #tell(service: Service, { tidings, refused }: Order): void {
    const key = keyOf(service);
    const told = this.#refused.get(key);
    for (const tiding of tidings) this.#options.events.record(service, tiding);
    if (refused) this.#refused.set(key, refused);
    else this.#refused.delete(key);
    if (told?.reason === refused?.reason && told?.message === refused?.message) return;
    if (refused) this.#options.events.record(service, refused);
    this.#options.onRefusal(key);
  }

  async #write(service: Service, order: Order, patch: object, { desk, signal, log }: Writing): Promise<void> {
    const { wanted, deprecated } = order;
    const { client, services, events } = this.#options;
    const { resourceVersion } = service.metadata;
    if (resourceVersion === undefined) return;
    this.#underWay += 1;
    try {
      const answer = await client.resource(Service).patchStatus(service.metadata, patch, { resourceVersion, signal });
      services.learn(answer);
      desk.see(answer);
      this.#contests.wrote(keyOf(service), textOf(order));
    } catch (error) {
      // Someone was faster; the watch brings what happened, and the address stays held until then.
      if (isKubeError(error, "Conflict", "NotFound")) return;
      throw error;
    } finally {
      this.#underWay -= 1;
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

interface Writing {
  readonly desk: AddressDesk;
  readonly signal: AbortSignal;
  readonly log: Log;
}

function textOf({ wanted }: Order): string {
  return `${wanted?.pool ?? ""} ${wanted?.addresses.join(" ") ?? ""}`;
}
