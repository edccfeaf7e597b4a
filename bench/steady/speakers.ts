import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../src/api/metallb/service-l2-status.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { parseAddress } from "../../src/ip/address.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createLog } from "../../src/kube/log.ts";
import { WriteBudget } from "../../src/kube/status/budget.ts";
import type { DesiredStatus } from "../../src/kube/status/plan.ts";
import { StatusWriter } from "../../src/kube/status/status-writer.ts";
import { sessionStatus } from "../../src/loadbalancer/status/bgp-session-status.ts";
import { configurationState, configurationStateName } from "../../src/loadbalancer/status/configuration-state.ts";
import { serviceBgpStatus } from "../../src/loadbalancer/status/service-bgp-status.ts";
import { serviceL2Status } from "../../src/loadbalancer/status/service-l2-status.ts";

export const METALLB = "metallb-system";
export const TENANT = "tenant";
export const SERVICES = ["web", "shop", "mail"];
const PEERS = ["tor-a", "tor-b"];
/** One that holds nothing back: no write is missing because it still waits for its turn. */
const UNLIMITED = { perSecond: 100_000, burst: 100_000, inFlight: 32 };

export interface ReportedStatus {
  readonly kind: Kind;
  readonly key: string;
  readonly picture: DesiredStatus<KubeObject>;
}

/** The statuses of the speakers of all nodes, new objects each time as in a reconcile. `uids` are those of the Services. */
export function* reports(nodes: readonly string[], uids: ReadonlyMap<string, string>): Iterable<ReportedStatus> {
  const desiredStatus = <T extends KubeObject>(kind: Kind<T>, key: string, desired: DesiredStatus<T>) =>
    ({ kind, key, picture: desired }) as unknown as ReportedStatus;
  const services = SERVICES.map((name) => ({ name, namespace: TENANT, uid: uids.get(name) ?? "" }));
  for (const node of nodes) {
    const component = { type: "speaker", node } as const;
    const resources = PEERS.map((name) => ({ kind: "BGPPeer", name, generation: 1, state: "Applied" as const }));
    yield desiredStatus(
      ConfigurationState,
      `${METALLB}/${configurationStateName(component)}`,
      configurationState(component, { failures: [], resources }),
    );
    for (const name of PEERS) {
      const peer = { name, address: parseAddress("192.0.2.1"), vrf: "" };
      const session = { state: "Established", bfd: "N/A", since: "2026-01-01T00:00:00Z" };
      yield desiredStatus(BGPSessionStatus, `${METALLB}/${node}-${name}`, sessionStatus(peer, { name: node, uid: undefined }, session));
    }
    const reach = { IPv4: PEERS, IPv6: [], all: PEERS, advertisements: ["all"] };
    for (const service of services)
      yield desiredStatus(ServiceBGPStatus, `${TENANT}/${service.name}-${node}`, serviceBgpStatus(service, node, reach));
  }
  for (const service of services) {
    const [node = "", ...others] = nodes;
    const elected = { node, addresses: [parseAddress("198.18.0.1")], candidates: [node, ...others] };
    const holding = { is: "holding", since: new Date("2026-01-01T00:00:00Z"), interfaces: ["eth0"] } as const;
    yield desiredStatus(
      ServiceL2Status,
      `${TENANT}/${service.name}`,
      serviceL2Status(service, elected, () => holding, { is: "on" }),
    );
  }
}

/** All speakers in one process: one writer for each kind. */
export class Speakers {
  readonly #nodes: readonly string[];
  readonly #writers = new Map<string, StatusWriter<KubeObject>>();
  readonly #stop = new AbortController();
  readonly #ended: Promise<unknown>;

  constructor(client: KubeClient, nodes: readonly string[]) {
    this.#nodes = nodes;
    const budget = new WriteBudget({ transition: UNLIMITED, refresh: UNLIMITED });
    const log = createLog({ level: "error" });
    for (const kind of [ConfigurationState, BGPSessionStatus, ServiceBGPStatus, ServiceL2Status] as unknown as Kind[]) {
      const cache = new Cache(client, kind, { log });
      cache.start(this.#stop.signal);
      this.#writers.set(kind.kind, new StatusWriter({ kind, client, cache, budget, log }));
    }
    this.#ended = Promise.all([...this.#writers.values()].map((writer) => writer.run(this.#stop.signal)));
  }

  /** One reconcile of every speaker. */
  pass(uids: ReadonlyMap<string, string>): void {
    for (const { kind, key, picture } of reports(this.#nodes, uids)) this.#writers.get(kind.kind)?.set(key, picture);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}
