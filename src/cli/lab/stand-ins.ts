import { join } from "node:path";
import type { LabHost } from "../../../lab/net/lab-host.ts";
import type { RemoteProcess } from "../../../lab/machine/machine.ts";
import { hostOf, type Net } from "../../../lab/net/net.ts";
import { CLIENT_NETWORK, NODES, type NodeName } from "../../../lab/net/topology.ts";
import type { StoodIn } from "../../../lab/services/stand-in.ts";
import { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Log } from "../../kube/log.ts";
import type { AnnouncedServices } from "./announced-services.ts";

const PROGRAM = join(import.meta.dirname, "../../../lab/services/stand-in.ts");
/** Where they may be: a connection to a service's address that reaches the node itself is dropped on all others. */
export const STAND_IN_PORTS = "80,443,8000-8999";
/** The router's end of the lab's L3Passthrough: the way back to clients, which the load balancer takes from nobody. */
const WAY_BACK = "192.169.12.1";
/** The link comes with the router, and comes anew when a person deletes it. */
const KEEP_WAY_BACK = `while sleep 3; do ip route show ${CLIENT_NETWORK} | grep -q . || ip route add ${CLIENT_NETWORK} via ${WAY_BACK} 2>/dev/null; done`;

/** In a lab without kube-proxy and pods: on every node with ready endpoints of a service, something that answers in their place. */
export class StandIns {
  readonly #nodes: readonly StandIn[];
  readonly #services: AnnouncedServices;
  readonly #slices: Cache<EndpointSlice>;
  readonly #log: Log;

  constructor({ client, services, net, log }: { client: KubeClient; services: AnnouncedServices; net: Net; log: Log }) {
    this.#nodes = NODES.map((node) => new StandIn(node, hostOf(net, node)));
    this.#services = services;
    this.#slices = new Cache(client, EndpointSlice);
    this.#log = log;
  }

  async start(signal: AbortSignal): Promise<void> {
    for (const node of this.#nodes) await node.prepare();
    const arrange = () => {
      for (const node of this.#nodes) {
        node.arrange(this.#services, this.#slices.list()).catch((error: unknown) => {
          if (!signal.aborted) this.#log.warn({ node: node.name, error }, "a stand-in of the lab was not arranged");
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
  readonly #processes: RemoteProcess[] = [];
  readonly #onLoopback = new Set<string>();
  #told = "[]";
  #turn: Promise<void> = Promise.resolve();

  constructor(name: NodeName, host: LabHost) {
    this.name = name;
    this.#host = host;
  }

  async prepare(): Promise<void> {
    // An address on the loopback is not for the segment to hear of.
    await this.#host.do(["sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1"]);
    this.#processes.push(
      this.#host.start([process.execPath, "--disable-warning=ExperimentalWarning", PROGRAM, this.name]),
      this.#host.start(["sh", "-c", KEEP_WAY_BACK]),
    );
  }

  arrange(services: AnnouncedServices, slices: readonly EndpointSlice[]): Promise<void> {
    return (this.#turn = this.#turn.catch(() => undefined).then(() => this.#arrange(services, slices)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.kill()));
  }

  async #arrange(services: AnnouncedServices, slices: readonly EndpointSlice[]): Promise<void> {
    const ready = new Set(slices.filter((slice) => isReadyOn(slice, this.name)).map(serviceOf));
    const list = services.list();
    const stoodIn: StoodIn[] = list
      .filter(({ key }) => ready.has(key))
      .flatMap(({ key, addresses, ports }) => addresses.flatMap((address) => ports.map((port) => ({ service: key, address, port }))));
    const line = JSON.stringify(stoodIn);
    if (line !== this.#told) this.#processes[0]?.input(`${line}\n`);
    this.#told = line;
    const announced = list.filter(({ bgp }) => bgp.includes(this.name)).flatMap(({ addresses }) => addresses);
    await this.#haveOnLoopback(new Set(announced.filter((address) => address.includes("."))));
  }

  /** What is announced over BGP reaches the node by its route; on the local network the agent itself holds the address. */
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

function isReadyOn({ endpoints }: EndpointSlice, node: string): boolean {
  return (endpoints ?? []).some(({ nodeName, conditions }) => nodeName === node && conditions?.ready !== false);
}

function serviceOf({ metadata }: EndpointSlice): string {
  return `${metadata.namespace ?? ""}/${metadata.labels?.["kubernetes.io/service-name"] ?? ""}`;
}
