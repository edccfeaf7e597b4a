import { type Endpoint, EndpointSlice, serviceNameLabel } from "../../api/core/endpoint-slice.ts";
import type { Node } from "../../api/core/node.ts";
import { announcedType, Service } from "../../api/core/service.ts";
import type { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import type { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { keyOf } from "../../api/kind.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { controller, type Result } from "../../kube/controller/controller.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { ChannelSource, changesOf, type Source } from "../../kube/controller/source.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { Log } from "../../kube/log.ts";
import type { WriteBudget } from "../../kube/status/budget.ts";
import { type ConditionReport, setCondition } from "../../kube/status/conditions.ts";
import { StatusWriter } from "../../kube/status/status-writer.ts";
import { servicesNotAnnounced } from "../metrics.ts";
import { readService } from "../services/service-view.ts";
import { isOurs } from "../services/address-request.ts";
import { announcedCondition, unservedCondition, type AnnouncementInput } from "../status/announced-condition.ts";
import { AnnouncedDelay, GRACE_MS } from "../status/announced-delay.ts";
import { isDeliveryReason } from "../status/session-evidence.ts";
import { speakerStatusesOf, serviceOf } from "../status/speaker-statuses.ts";
import { nodeOfReport } from "../status/unknown.ts";

export interface AnnouncedReportsOptions {
  manager: Manager;
  client: KubeClient;
  budget: WriteBudget;
  log: Log;
  events: Pick<EventRecorder, "record">;
  lbClass: string | undefined;
  services: Cache<Service>;
  /** The reports of the elected nodes; each has the key of its Service. */
  l2Reports: Cache<ServiceL2Status>;
  bgpReports: Cache<ServiceBGPStatus>;
  nodes: Cache<Node>;
  /** Enqueues a Service that has no address, or has one again. */
  unmetRequests: Source;
  unmetRequestOf: (key: string) => string | undefined;
  /** Whether more urgent writes keep the server busy. */
  isBusy: () => boolean;
  /** The input for announcement decisions; undefined until it is known. */
  landscape: () => AnnouncementInput | undefined;
}

/** Retry interval while the server is busy. */
const BUSY_MS = 5_000;
/** So long the controller of another class may take. */
const UNSERVED_AFTER_MS = 60_000;
const UNSERVED = "Unserved";
/** FRR or an agent is restarted, and its sessions are up again, within this time. */
const RESTART_GRACE_MS = 10_000;

export class AnnouncedReports {
  readonly #options: AnnouncedReportsOptions;
  readonly #slices: Cache<EndpointSlice>;
  readonly #writer: StatusWriter<Service>;
  readonly #all = new ChannelSource();
  readonly #delay = new AnnouncedDelay();
  /** Services of other classes without an address, since when. */
  readonly #waiting = new Map<string, number>();
  /** Of those that are not announced, why. */
  readonly #blockers = new Map<string, string>();

  constructor(options: AnnouncedReportsOptions) {
    const { manager, client, budget, log, services, l2Reports, unmetRequests } = options;
    this.#options = options;
    this.#slices = manager.cache(EndpointSlice, endpointNodes);
    this.#writer = new StatusWriter<Service>({ client, budget, log, cache: services, kind: Service });
    const bgp = changesOf(options.bgpReports, (report) => (this.#isDoubtful(report) ? serviceOf(report) : []));
    const watches = [changesOf(services), changesOf(this.#slices, servicesOf), changesOf(l2Reports), bgp, unmetRequests, this.#all];
    const reconciler = controller("announced", { watches, log, reconcile: (key) => Promise.resolve(this.#reconcile(key)) });
    manager.add(
      {
        name: reconciler.name,
        run: async (signal) => {
          this.#delay.clear();
          await reconciler.run(signal);
          // The next leader sets the gauge.
          this.#blockers.clear();
          this.#waiting.clear();
          servicesNotAnnounced.reset();
        },
      },
      { leaderOnly: true },
    );
    manager.add(this.#writer, { phase: "writers", leaderOnly: true });
  }

  /** Nodes, members or configuration have changed. */
  enqueueAll(): void {
    for (const { spec, metadata } of this.#options.services.list()) if (spec.type === "LoadBalancer") this.#all.ring(keyOf({ metadata }));
  }

  #reconcile(key: string): Result {
    const { services, lbClass, landscape } = this.#options;
    const service = services.get(key);
    if (!service || !isOurs(service, lbClass)) return this.#others(key, service);
    this.#waiting.delete(key);
    const view = readService(service, this.#slices.by("service", key));
    const unmetRequest = this.#options.unmetRequestOf(key);
    const input = landscape();
    const stored = service.status?.conditions?.find(({ type }) => type === announcedType);
    // A Service that only waits for its reconcile gets its address in a moment.
    const isTransient = view.addresses.length === 0 && unmetRequest === undefined;
    if (!input || (isTransient && (!stored || stored.reason === "noIPAllocated"))) return undefined;
    // Addresses go first.
    if (!stored && this.#options.isBusy()) return { requeueAfter: BUSY_MS };

    const statuses = speakerStatusesOf(key, input.doubtful, this.#options);
    const condition = announcedCondition(view, input, unmetRequest, statuses);
    this.#count(key, condition.status === "False" ? condition.reason : undefined);
    // A node that takes over finds for a moment that the one before it still answers; sessions come back after a restart.
    const isRestart = isDeliveryReason(condition.reason) || condition.reason === "configurationInvalid";
    const graceMs = isRestart ? RESTART_GRACE_MS : isTransient || statuses.blocker !== undefined ? GRACE_MS : 0;
    const { write, recordEvent, againMs } = this.#delay.decide(key, condition, stored, graceMs);
    if (write)
      this.#writer.set(key, { status: (status) => ({ ...status, conditions: setCondition(status?.conditions ?? [], condition) }) });
    if (recordEvent) this.#report(service, condition);
    return againMs === undefined ? undefined : { requeueAfter: againMs };
  }

  /** For the other nodes everything follows from the configuration. */
  #isDoubtful(report: ServiceBGPStatus): boolean {
    return this.#options.landscape()?.doubtful.has(nodeOfReport(report) ?? "") ?? false;
  }

  /** A Service of another class. Its controller reports about it; without an address there may be no controller. */
  #others(key: string, service: Service | undefined): Result {
    const stored = service?.status?.conditions?.find(({ type }) => type === announcedType);
    const isReported = stored !== undefined && stored.reason !== UNSERVED;
    if (service?.spec.type !== "LoadBalancer" || isReported || (service.status?.loadBalancer?.ingress ?? []).length > 0) {
      this.#waiting.delete(key);
      return this.#leave(key, service, stored?.reason === UNSERVED);
    }
    const since = this.#waiting.get(key) ?? performance.now();
    this.#waiting.set(key, since);
    const remainingMs = stored ? 0 : since + UNSERVED_AFTER_MS - performance.now();
    if (remainingMs > 0) return { requeueAfter: remainingMs };
    const condition = unservedCondition(service.spec.loadBalancerClass);
    this.#count(key, condition.reason);
    this.#writer.set(key, { status: (status) => ({ ...status, conditions: setCondition(status?.conditions ?? [], condition) }) });
    if (!stored) this.#report(service, condition);
    return undefined;
  }

  #leave(key: string, service: Service | undefined, isOutdated: boolean): void {
    this.#delay.forget(key);
    this.#count(key, undefined);
    this.#options.landscape()?.elections.forget(key);
    const isMarked = service?.spec.type !== "LoadBalancer" && service?.status?.conditions?.some(({ type }) => type === announcedType);
    if (!isMarked && !isOutdated) return this.#writer.forget(key);
    this.#writer.set(key, {
      status: (status) => ({ ...status, conditions: (status?.conditions ?? []).filter(({ type }) => type !== announcedType) }),
    });
  }

  #count(key: string, reason: string | undefined): void {
    const before = this.#blockers.get(key);
    if (before === reason) return;
    if (before !== undefined) servicesNotAnnounced.dec({ reason: before });
    if (reason !== undefined) servicesNotAnnounced.inc({ reason });
    if (reason === undefined) this.#blockers.delete(key);
    else this.#blockers.set(key, reason);
  }

  #report(service: Service, { status, message }: ConditionReport): void {
    const text =
      status === "True" ? ({ type: "Normal", reason: "Announced" } as const) : ({ type: "Warning", reason: "NotAnnounced" } as const);
    this.#options.events.record(service, { ...text, message });
  }
}

function servicesOf({ metadata: { namespace, labels } }: EndpointSlice): string[] {
  const name = labels?.[serviceNameLabel];
  return name === undefined ? [] : [`${namespace ?? ""}/${name}`];
}

/** Shared, so that all users have one cache. */
export const endpointNodes = { transform: stripEndpoints, indexes: { service: servicesOf } };

/** Keeps the node and the conditions of each endpoint, and whether it has an address. */
function stripEndpoints(slice: EndpointSlice): EndpointSlice {
  const { name, namespace, uid, resourceVersion, labels } = slice.metadata;
  const metadata = JSON.parse(JSON.stringify({ name, namespace, uid, resourceVersion, labels })) as EndpointSlice["metadata"];
  return { ...slice, metadata, endpoints: (slice.endpoints ?? []).map(stripEndpoint), ports: null };
}

function stripEndpoint({ addresses, conditions, nodeName }: Endpoint): Endpoint {
  return { addresses: addresses.slice(0, 1), ...(conditions && { conditions }), ...(nodeName !== undefined && { nodeName }) };
}
