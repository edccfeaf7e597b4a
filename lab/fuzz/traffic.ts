import { setTimeout as sleep } from "node:timers/promises";
import { hostAddress, type NodeName, SEGMENTS } from "../net/topology.ts";
import type { LabHost } from "../net/lab-host.ts";
import { type AnnouncedService, targetsOf } from "../cli/announced-services.ts";
import { Connections } from "../cli/connections.ts";
import { Traffic } from "../cli/traffic.ts";
import type { FuzzFlow, TrafficSample } from "./verdict.ts";

const EVERY_MS = 100;
const AGAIN_AFTER_MS = 2_000;
/** With IP and ICMP headers 1400 bytes: more than a path with too small an MTU carries. */
const PING_BYTES = 1_372;
/** The routers' ends of the lab's host sessions, the same on every node. */
const HOST_SESSIONS = { passthrough: "192.169.12.1", blue: "192.169.10.1" };

interface PingFlow extends FuzzFlow {
  readonly from: NodeName;
  readonly namespace?: string;
  readonly to: string;
}

/** Every segment between every two nodes, routed and not, and every host session. */
function pingFlows(nodes: readonly NodeName[]): PingFlow[] {
  const pairs = nodes.flatMap((one, nth) => nodes.slice(nth + 1).map((other): [NodeName, NodeName] => [one, other]));
  const [shop, stock] = SEGMENTS;
  const overlay = pairs.flatMap(([one, other]) =>
    [
      ...SEGMENTS.map((segment) => ({ segment, name: `${segment.name} ${one} - ${other}`, target: segment })),
      ...(shop && stock ? [{ segment: shop, name: `shop ${one} - stock ${other}`, target: stock }] : []),
    ].map(({ segment, name, target }): PingFlow => ({
      name,
      layer: "overlay",
      from: one,
      namespace: segment.name,
      to: hostAddress(target, other),
    })),
  );
  const sessions = nodes.flatMap((node) =>
    Object.entries(HOST_SESSIONS).map(([name, to]): PingFlow => ({ name: `session ${name} ${node}`, layer: "session", from: node, to })),
  );
  return [...overlay, ...sessions];
}

/** A ping ends by itself where it has no way at all, and another one begins. */
class LastingPing {
  readonly #start: () => Traffic;
  readonly #stopped = new AbortController();
  #current: Traffic;
  #lost = 0;
  #answered = 0;

  constructor(start: () => Traffic) {
    this.#start = start;
    this.#current = this.#follow();
  }

  get lost(): number {
    return this.#lost + this.#current.lost;
  }

  get answered(): number {
    return this.#answered + this.#current.answered;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#current.stop();
  }

  #follow(): Traffic {
    const traffic = this.#start();
    void traffic.ended.then(async () => {
      await sleep(AGAIN_AFTER_MS);
      if (this.#stopped.signal.aborted) return;
      this.#lost += traffic.lost;
      this.#answered += traffic.answered;
      this.#current = this.#follow();
    });
    return traffic;
  }
}

/** Real traffic on every overlay, every Service and every host session, ten times a second. */
export class FuzzTraffic {
  readonly flows: readonly FuzzFlow[];
  readonly #pings: ReadonlyMap<string, LastingPing>;
  readonly #connections: Connections;
  readonly #services: readonly string[];

  constructor(host: (name: string) => LabHost, nodes: readonly NodeName[], services: readonly AnnouncedService[]) {
    const pings = pingFlows(nodes);
    this.#services = services.map(({ key }) => key);
    this.flows = [...pings, ...this.#services.map((name): FuzzFlow => ({ name, layer: "service" }))];
    this.#pings = new Map(
      pings.map(({ name: label, from, namespace, to }): [string, LastingPing] => {
        const options = {
          label,
          host: host(from),
          to,
          everyMs: EVERY_MS,
          bytes: PING_BYTES,
          ...(namespace !== undefined && { namespace }),
        };
        return [label, new LastingPing(() => new Traffic(options))];
      }),
    );
    this.#connections = new Connections({ host: host("client"), everyMs: EVERY_MS });
    this.#connections.aim(targetsOf(services));
  }

  counts(): Pick<TrafficSample, "lost" | "passed"> {
    const tallies = this.#services.map((name) => ({ name, ...this.#connections.tally(name) }));
    return {
      lost: new Map([
        ...[...this.#pings].map(([name, { lost }]) => [name, lost] as const),
        ...tallies.map(({ name, failed }) => [name, failed] as const),
      ]),
      passed: new Map([
        ...[...this.#pings].map(([name, { answered }]) => [name, answered] as const),
        ...tallies.map(({ name, ok }) => [name, ok] as const),
      ]),
    };
  }

  async stop(): Promise<void> {
    await Promise.all([this.#connections.stop(), ...[...this.#pings.values()].map((ping) => ping.stop())]);
  }
}
