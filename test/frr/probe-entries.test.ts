import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { repairFloodEntries } from "../../src/router/overlay.ts";
import { probeMac, ProbeRoutes } from "../../src/router/probes/probe-routes.ts";
import type { LocalVni, ProbeInputs } from "../../src/router/probes/prober.ts";
import { FRR_RELEASES, type FrrInNamespace, frrInNamespace } from "../support/frr.ts";
import { ip } from "../support/namespaces.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const VNI = 110;
const EVENTUALLY = { timeout: 120_000, interval: 500 };
const vtep = (index: number) => `192.0.2.${index + 1}`;
const local: LocalVni = { vni: VNI, type: "L2", bridge: `br-pe-${VNI}`, vxlan: `vni${VNI}`, devices: "", mtu: 1450 };

async function show(frr: FrrInNamespace | undefined, daemon: "bgpd" | "zebra", line: string): Promise<string> {
  const vty = await frr?.instance.router.open(daemon, signal);
  try {
    return (await vty?.must(line, signal)) ?? "";
  } finally {
    vty?.close();
  }
}

async function configure(frr: FrrInNamespace | undefined, lines: readonly string[]): Promise<void> {
  const bgpd = await frr?.instance.router.open("bgpd", signal);
  await bgpd?.configure(lines, signal);
  bgpd?.close();
}

describe.each(FRR_RELEASES)("zebra and bgpd of FRR %s", (version) => {
  let nodes: FrrInNamespace[] = [];

  const bridge = (index: number, ...args: string[]) => execFileSync("bridge", ["-n", netns(index), ...args], { encoding: "utf8" });
  const netns = (index: number) => nodes[index]?.netns ?? "";
  const entries = (index: number) => bridge(index, "fdb", "show", "dev", local.vxlan).split("\n");
  const signalZebra = (what: NodeJS.Signals) =>
    process.kill(Number(readFileSync(join(nodes[0]?.instance.runDirectory ?? "", "zebra.pid"), "utf8")), what);
  const knownVteps = () => show(nodes[0], "zebra", `show evpn vni ${VNI} json`);

  beforeAll(async () => {
    nodes = [await frrInNamespace({ version }), await frrInNamespace({ version })];
    ip(netns(0), `link add eth0 type veth peer name eth0 netns ${netns(1)}`);
    for (const index of nodes.keys()) {
      ip(netns(index), "link set eth0 up");
      ip(netns(index), `addr add ${vtep(index)}/24 dev eth0`);
      ip(netns(index), `link add ${local.bridge} address 00:f3:00:00:00:6e type bridge`);
      ip(netns(index), `link add ${local.vxlan} type vxlan id ${VNI} dstport 4789 local ${vtep(index)} nolearning`);
      for (const link of [local.bridge, local.vxlan]) ip(netns(index), `link set ${link} addrgenmode none`);
      ip(netns(index), `link set ${local.vxlan} master ${local.bridge} up`);
      ip(netns(index), `link set ${local.bridge} up`);
      bridge(index, "link", "set", "dev", local.vxlan, "neigh_suppress", "on", "learning", "off");
      const lines = [
        `router bgp ${65_000 + index}`,
        `bgp router-id ${vtep(index)}`,
        "no bgp ebgp-requires-policy",
        "no bgp default ipv4-unicast",
        `neighbor ${vtep(1 - index)} remote-as external`,
        "address-family l2vpn evpn",
        `neighbor ${vtep(1 - index)} activate`,
        "advertise-all-vni",
      ];
      await configure(nodes[index], lines);
    }
  });
  afterAll(async () => {
    for (const node of nodes) await node.stop();
  });

  test("keep probe entries without advertising them, and keep a restored flood entry", async () => {
    await vi.waitFor(async () => expect(await knownVteps()).toContain(vtep(1)), EVENTUALLY);
    for (const index of nodes.keys()) {
      const peer = { node: "other", vtep: vtep(1 - index), key: Buffer.alloc(32), isLive: true };
      const members = new Map([[VNI, [0, 1]]]);
      const inputs: ProbeInputs = {
        index,
        vtep: vtep(index),
        vnis: [local],
        peers: new Map([[1 - index, peer]]),
        members,
        lacking: new Map(),
        exports: new Map(),
        routerMac: () => undefined,
      };
      await new ProbeRoutes(netns(index), { tell: () => {} }).prepare(inputs, [{ peer: 1 - index, where: VNI, vni: local }], signal);
    }
    // zebra adds it again itself if it is notified.
    signalZebra("SIGSTOP");
    bridge(0, "fdb", "del", "00:00:00:00:00:00", "dev", local.vxlan, "dst", vtep(1), "self");
    const lists = [{ vxlan: local.vxlan, vteps: [vtep(1)] }];
    expect(await repairFloodEntries(netns(0), lists, signal)).toEqual([`${local.vxlan} ${vtep(1)}`]);
    signalZebra("SIGCONT");
    const wanted = [probeMac(1), "00:00:00:00:00:00"].map((mac) => expect.stringMatching(`^${mac} dst ${vtep(1)} self`) as string);
    expect(entries(0)).toEqual(expect.arrayContaining(wanted));

    // All that makes zebra look at its entries again.
    await configure(nodes[1], ["router bgp 65001", `neighbor ${vtep(0)} shutdown`]);
    await vi.waitFor(async () => expect(await knownVteps()).not.toContain(vtep(1)), EVENTUALLY);
    expect(entries(0)).toEqual(expect.arrayContaining([wanted[0]]));
    await vi.waitFor(() => expect(entries(0)).not.toEqual(expect.arrayContaining([wanted[1]])), EVENTUALLY);
    await configure(nodes[1], ["router bgp 65001", `no neighbor ${vtep(0)} shutdown`]);
    await vi.waitFor(async () => expect(await knownVteps()).toContain(vtep(1)), EVENTUALLY);
    await vi.waitFor(() => expect(entries(0)).toEqual(expect.arrayContaining(wanted)), EVENTUALLY);
    const routes = await show(nodes[1], "bgpd", "show bgp l2vpn evpn route json");
    expect(routes).toContain(`[3]:[0]:[32]:[${vtep(0)}]`);
    for (const index of nodes.keys()) expect(routes).not.toContain(probeMac(index));
  });
});
