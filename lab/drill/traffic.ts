import { hostAddress, type NodeName, type Segment, SEGMENTS } from "../net/topology.ts";
import type { LabHost } from "../net/lab-host.ts";
import { type AnnouncedService, targetsOf } from "../cli/announced-services.ts";
import { Connections } from "../cli/connections.ts";
import type { Flow } from "../faults/fault.ts";
import { Traffic } from "../cli/traffic.ts";

const PING_EVERY_MS = 250;
const CONNECT_EVERY_MS = 500;

const SERVICES = ["web", "wiki"] as const;

/** What did not get through, by flow. */
export type PacketLoss = ReadonlyMap<Flow, number>;

/** Traffic through the lab that goes on while things break. */
export class BackgroundTraffic {
  readonly #pings: ReadonlyMap<Flow, Traffic>;
  readonly #connections: Connections;

  /** Without routers there are no segments over all nodes. */
  constructor(host: (name: string) => LabHost, { routers }: { routers: boolean }) {
    const [shop, stock] = SEGMENTS as readonly [Segment, Segment];
    const ping = (label: Flow, from: NodeName, to: NodeName, segment: Segment): [Flow, Traffic] => [
      label,
      new Traffic({ label, host: host(from), namespace: shop.name, to: hostAddress(segment, to), everyMs: PING_EVERY_MS }),
    ];
    const pings = () => [
      ping("shop node1 → node2", "node1", "node2", shop),
      ping("shop node1 → node3", "node1", "node3", shop),
      ping("shop node3 → stock node1", "node3", "node1", stock),
    ];
    this.#pings = new Map(routers ? pings() : []);
    this.#connections = new Connections({ host: host("client"), everyMs: CONNECT_EVERY_MS });
  }

  aim(services: readonly AnnouncedService[]): void {
    this.#connections.aim(targetsOf(services.filter(({ key }) => SERVICES.some((name) => key === `default/${name}`))));
  }

  /** Until now. What is late counts as lost until it is there. */
  losses(): PacketLoss {
    return this.#each(
      (ping) => ping.lost,
      (tally) => tally.failed,
    );
  }

  passed(): PacketLoss {
    return this.#each(
      (ping) => ping.answered,
      (tally) => tally.ok,
    );
  }

  async stop(): Promise<void> {
    await Promise.all([this.#connections.stop(), ...[...this.#pings.values()].map((ping) => ping.stop())]);
  }

  #each(ofPing: (ping: Traffic) => number, ofTally: (tally: { ok: number; failed: number }) => number): PacketLoss {
    const pings = [...this.#pings].map(([flow, ping]) => [flow, ofPing(ping)] as const);
    const services = SERVICES.map((flow) => [flow, ofTally(this.#connections.tally(`default/${flow}`))] as const);
    return new Map<Flow, number>([...pings, ...services]);
  }
}
