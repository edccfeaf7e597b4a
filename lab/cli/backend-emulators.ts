import { join } from "node:path";
import type { LabHost } from "../net/lab-host.ts";
import type { RemoteProcess } from "../machine/machine.ts";
import type { StartedMachine } from "../machine/start.ts";
import { hostOf, type Net } from "../net/net.ts";
import { keepReturnRoutes } from "../net/return-routes.ts";
import type { NodeName, Topology } from "../net/topology.ts";
import { podRoutes } from "../pods/pod-network.ts";
import type { EmulatedService } from "../services/backend-emulator.ts";
import { EndpointSlice, serviceNameLabel } from "../../src/api/core/endpoint-slice.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { Log } from "../../src/kube/log.ts";
import type { AnnouncedService, AnnouncedServices } from "./announced-services.ts";

const PROGRAM = join(import.meta.dirname, "../services/backend-emulator.ts");
/** Where they may be: a connection to a service's address that reaches the node itself is dropped on all others. */
export const EMULATED_PORTS = "80,443,8000-8999";

interface StandInsOptions {
  readonly client: KubeClient;
  readonly services: AnnouncedServices;
  readonly net: Net;
  readonly network: StartedMachine["network"];
  readonly log: Log;
}

/**
 * In a lab without kube-proxy and pods: on every node something that answers in the place of its pods, at their own addresses, at those that their
 * services are announced with, and at the cluster IPs of services that have pods anywhere.
 */
export class BackendEmulators {
  readonly #nodes: readonly StandIn[];
  readonly #services: AnnouncedServices;
  readonly #slices: Cache<EndpointSlice>;
  readonly #log: Log;

  constructor({ client, services, net, network, log }: StandInsOptions) {
    this.#nodes = net.topology.nodes.map((node) => new StandIn(node, hostOf(net, node), net.topology, network));
    this.#services = services;
    this.#slices = new Cache(client, EndpointSlice);
    this.#log = log;
  }

  async start(signal: AbortSignal): Promise<void> {
    for (const node of this.#nodes) await node.prepare();
    const arrange = () => {
      for (const node of this.#nodes) {
        node.arrange(this.#services, this.#slices.list()).catch((error: unknown) => {
          if (!signal.aborted) this.#log.warn({ node: node.name, error }, "a stand-in of the lab could not be set up");
        });
      }
    };
    this.#services.subscribe(arrange);
    this.#slices.subscribe(arrange);
    this.#slices.start(signal);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()));
  }
}

class StandIn {
  readonly name: NodeName;
  readonly #host: LabHost;
  readonly #topology: Topology;
  readonly #network: StartedMachine["network"];
  readonly #processes: RemoteProcess[] = [];
  readonly #onLoopback = new Set<string>();
  #reported = "[]";
  #turn: Promise<void> = Promise.resolve();

  constructor(name: NodeName, host: LabHost, topology: Topology, network: StartedMachine["network"]) {
    this.name = name;
    this.#host = host;
    this.#topology = topology;
    this.#network = network;
  }

  async prepare(): Promise<void> {
    // An address on the loopback is not for the segment to hear of; and a node with pods forwards, so that it can also refuse to.
    await this.#host.do(["sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1", "net.ipv4.conf.eth0.forwarding=1"]);
    await this.#host.ip(podRoutes(this.name, this.#topology.nodes, this.#network));
    this.#processes.push(
      this.#host.start([process.execPath, "--disable-warning=ExperimentalWarning", PROGRAM, this.name]),
      keepReturnRoutes(this.#host, this.#topology),
    );
  }

  arrange(services: AnnouncedServices, slices: readonly EndpointSlice[]): Promise<void> {
    return (this.#turn = this.#turn.catch(() => undefined).then(() => this.#arrange(services, slices)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.kill()));
  }

  async #arrange(services: AnnouncedServices, slices: readonly EndpointSlice[]): Promise<void> {
    const list = services.list();
    const stoodIn = emulatedOn(this.name, list, slices);
    const line = JSON.stringify(stoodIn);
    if (line !== this.#reported) this.#processes[0]?.input(`${line}\n`);
    this.#reported = line;
    // On the local network the agent itself holds the address.
    const announced = list.filter(({ bgp }) => bgp.includes(this.name)).flatMap(({ addresses }) => addresses);
    const outside = new Set(list.flatMap(({ addresses }) => addresses));
    const within = stoodIn.map(({ address }) => address).filter((address) => !outside.has(address));
    await this.#haveOnLoopback(new Set([...announced, ...within].filter((address) => address.includes("."))));
  }

  async #haveOnLoopback(wanted: ReadonlySet<string>): Promise<void> {
    const lines = [
      ...[...wanted.difference(this.#onLoopback)].map((address) => `address replace ${address}/32 dev lo scope host`),
      ...[...this.#onLoopback.difference(wanted)].map((address) => `address del ${address}/32 dev lo`),
    ];
    if (lines.length > 0) await this.#host.ip(lines);
    this.#onLoopback.clear();
    for (const address of wanted) this.#onLoopback.add(address);
  }
}

/** What a node answers for in the place of pods and of kube-proxy. */
export function emulatedOn(node: string, services: readonly AnnouncedService[], slices: readonly EndpointSlice[]): EmulatedService[] {
  return services.flatMap(({ key, addresses, clusterIPs, ports }) => {
    const ready = slices.filter((slice) => serviceOf(slice) === key).flatMap(readyEndpoints);
    const here = ready.filter(({ nodeName }) => nodeName === node);
    const fronts = [...(here.length > 0 ? addresses : []), ...(ready.length > 0 ? clusterIPs : [])];
    return [
      ...fronts.flatMap((address) => ports.map((port) => ({ service: key, address, port }))),
      ...here.map(({ address, port }) => ({ service: key, address, port })),
    ];
  });
}

function readyEndpoints({ endpoints, ports }: EndpointSlice): { nodeName: string | undefined; address: string; port: number }[] {
  const numbers = (ports ?? []).flatMap(({ port, protocol }) => (port === undefined || protocol === "UDP" ? [] : [port]));
  return (endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ nodeName, addresses }) => addresses.flatMap((address) => numbers.map((port) => ({ nodeName, address, port }))));
}

function serviceOf({ metadata }: EndpointSlice): string {
  return `${metadata.namespace ?? ""}/${metadata.labels?.[serviceNameLabel] ?? ""}`;
}
