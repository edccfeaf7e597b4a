import { type ChildProcess, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { run } from "../support/frr.ts";
import { eventually, SpeakerCluster } from "../support/speaker-cluster.ts";
import type { SpeakerNode } from "../support/speaker-node.ts";

// FRR as MetalLB's speaker leaves it, a top-of-rack router that receives a Service from it, and Plumbline's agent as its replacement.

const PREFIX = "10.20.0.1";
const TOR = "192.168.50.1";
let cluster: SpeakerCluster;

beforeAll(async () => {
  cluster = await SpeakerCluster.start("takeover", 2);
  await cluster.greet("graceful-restart-helper");
  const peer = { myASN: 64513, peerASN: 64512, peerAddress: TOR, connectTime: "1s", enableGracefulRestart: true };
  await cluster.create(BGPPeer, "tor", peer);
  await cluster.create(IPAddressPool, "pool", { addresses: ["10.20.0.0/24"] });
  await cluster.create(BGPAdvertisement, "ad", { communities: ["64513:100"] });
  await cluster.service("web", { ip: PREFIX, on: [] });
});
afterAll(() => cluster.stop());

/** What MetalLB in FRR mode renders for the peer and the Service. */
const METALLB = [
  "log timestamp precision 3",
  "ip nht resolve-via-default",
  "ipv6 nht resolve-via-default",
  `route-map ${TOR}-in deny 20`,
  `ip prefix-list ${TOR}-64513:100-ip-community-prefixes seq 1 permit ${PREFIX}/32`,
  `ip prefix-list ${TOR}-allowed-ipv4 seq 1 permit ${PREFIX}/32`,
  `ipv6 prefix-list ${TOR}-allowed-ipv6 seq 1 deny any`,
  `route-map ${TOR}-out permit 1`,
  ` match ip address prefix-list ${TOR}-64513:100-ip-community-prefixes`,
  " set community 64513:100 additive",
  " on-match next",
  `route-map ${TOR}-out permit 2`,
  ` match ip address prefix-list ${TOR}-allowed-ipv4`,
  `route-map ${TOR}-out permit 3`,
  ` match ipv6 address prefix-list ${TOR}-allowed-ipv6`,
  "router bgp 64513",
  " no bgp ebgp-requires-policy",
  " no bgp network import-check",
  " no bgp default ipv4-unicast",
  " bgp graceful-restart preserve-fw-state",
  ` neighbor ${TOR} remote-as 64512`,
  ` neighbor ${TOR} port 179`,
  ` neighbor ${TOR} timers 30 90`,
  ` neighbor ${TOR} timers connect 1`,
  ` neighbor ${TOR} graceful-restart`,
  " address-family ipv4 unicast",
  `  neighbor ${TOR} activate`,
  `  neighbor ${TOR} route-map ${TOR}-in in`,
  `  neighbor ${TOR} route-map ${TOR}-out out`,
  `  network ${PREFIX}/32`,
  " exit-address-family",
];

/** FRR with MetalLB's configuration, whose routes the router of the segment has received. */
async function startAsMetalLb(node: SpeakerNode): Promise<void> {
  await node.frr.start(AbortSignal.timeout(60_000));
  const file = join(node.directory, "metallb.conf");
  await writeFile(file, `${METALLB.join("\n")}\n`);
  await run("nsenter", `--net=/run/netns/${node.netns}`, "vtysh", "--vty_socket", node.loadbalancer.lbFrrRunDirectory, "-f", file);
  await eventually(async () => expect(await viaOf()).toContain(addressOf(node)));
}

const addressOf = (node: SpeakerNode) => `192.168.50.${10 + cluster.nodes.indexOf(node)}`;
const viaOf = () => cluster.torIp("-4", "route", "show", PREFIX);

/** How often the session with this node has come up at the router of the segment. */
async function comings(node: SpeakerNode): Promise<number> {
  const neighbors = JSON.parse(await cluster.show(`bgp neighbors ${addressOf(node)} json`)) as Record<
    string,
    { connectionsEstablished: number }
  >;
  return Object.values(neighbors)[0]?.connectionsEstablished ?? 0;
}

/** The times at which the router's kernel lost the prefix. */
class Losses {
  readonly lines: string[] = [];
  readonly #monitor: ChildProcess;

  private constructor(monitor: ChildProcess) {
    this.#monitor = monitor;
  }

  static async watch(): Promise<Losses> {
    const monitor = spawn("ip", ["-n", cluster.tor.netns, "monitor", "route"], { stdio: ["ignore", "pipe", "inherit"] });
    const losses = new Losses(monitor);
    const changes: string[] = [];
    createInterface({ input: monitor.stdout }).on("line", (line) => {
      changes.push(line);
      if (line.startsWith(`Deleted ${PREFIX} `)) losses.lines.push(line);
    });
    // It listens when it tells of a route that comes now.
    while (!changes.some((line) => line.includes("198.51.100.1"))) {
      await cluster.torIp("route", "replace", "198.51.100.1/32", "dev", "br0");
      await cluster.torIp("route", "del", "198.51.100.1/32", "dev", "br0");
    }
    return losses;
  }

  end(): void {
    this.#monitor.kill();
  }
}

async function established(node: SpeakerNode): Promise<void> {
  await eventually(async () => {
    expect((await cluster.get(BGPSessionStatus, `${node.name}-tor`))?.status?.bgpStatus).toBe("Established");
    const config = await node.vtysh("show running-config");
    expect(config).toMatch(new RegExp(`network ${PREFIX}/32 route-map class-`));
    expect(config).not.toContain("allowed-ipv4");
  });
}

const announced = async () =>
  JSON.parse(await cluster.show(`bgp ipv4 unicast ${PREFIX}/32 json`)) as { paths: { community?: { string: string } }[] };

test("where FRR goes on, the agent puts its own lines in place of MetalLB's: neither the session nor the prefix is lost", async () => {
  const node = cluster.node(0);
  await startAsMetalLb(node);
  const before = await comings(node);
  const losses = await Losses.watch();
  await cluster.endpoints("web", ["worker0", "worker1"]);
  node.startAgent();
  await established(node);
  expect((await announced()).paths.map(({ community }) => community?.string)).toEqual(["64513:100"]);
  expect([await comings(node), losses.lines, await viaOf()]).toEqual([before, [], expect.stringContaining(addressOf(node))]);
  losses.end();
});

test("where MetalLB's FRR ends and ours begins, a router that helps with graceful restart keeps the prefix", async () => {
  await cluster.node(0).stopAgent();
  // Without this it would help the first node too, for two minutes.
  await cluster.say("router bgp 64512", `no neighbor ${addressOf(cluster.node(0))}`);
  await eventually(async () => expect(await viaOf()).not.toContain(addressOf(cluster.node(0))));
  const node = cluster.node(1);
  await startAsMetalLb(node);
  const before = await comings(node);
  const losses = await Losses.watch();
  for (const daemon of ["bgpd", "zebra", "staticd", "bfdd"]) {
    const pid = await node.frrPid(daemon);
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  }
  node.startAgent();
  await eventually(async () => expect(await comings(node)).toBe(before + 1));
  await established(node);
  expect([losses.lines, await viaOf()]).toEqual([[], expect.stringContaining(addressOf(node))]);
  losses.end();
});
