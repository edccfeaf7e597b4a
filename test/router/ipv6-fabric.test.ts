import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readObjects } from "../../src/router/dialects/read-objects.ts";
import { previewNode } from "../../src/router/preview.ts";
import { hostSession, observed, passthrough, underlay } from "../../src/router/testing/fixtures.ts";
import { frrInNamespace, type FrrInNamespace, run } from "../support/frr.ts";

// A node whose links have IPv6 addresses only, with an IPv4 VTEP: between a switch of another AS and a router of its own AS.

const { signal } = new AbortController();
const eventually = <T>(check: () => Promise<T>) => vi.waitFor(check, { timeout: 60_000, interval: 100 });
const device = (interfaceName: string) => ({ type: "NetworkDevice" as const, networkDevice: { interfaceName } });

const common = (asn: number, id: string, neighbor: string) => `
router bgp ${asn}
 bgp router-id ${id}
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 no bgp network import-check
 neighbor ${neighbor} remote-as 64514
 neighbor ${neighbor} capability extended-nexthop
 neighbor ${neighbor} timers connect 1`;

/** It has VNI 110, so that it announces EVPN routes, and the route to its VTEP. */
const SWITCH = `${common(64_512, "10.9.9.1", "2001:db8:2::3")}
 address-family ipv4 unicast
  neighbor 2001:db8:2::3 activate
  network 100.65.0.99/32
 exit-address-family
 address-family ipv6 unicast
  neighbor 2001:db8:2::3 activate
 exit-address-family
 address-family l2vpn evpn
  neighbor 2001:db8:2::3 activate
  advertise-all-vni
 exit-address-family
`;

const INTERNAL = `${common(64_514, "10.9.9.2", "2001:db8:3::3")}
 address-family l2vpn evpn
  neighbor 2001:db8:3::3 activate
 exit-address-family
`;

/** Announces its VTEP and the IPv6 prefix of its host. */
function routerOfNode(): string {
  const spec = {
    asn: 64_514,
    routeridcidr: "10.0.0.0/24",
    interfaces: [device("eth2"), device("eth3")],
    tunnelEndpoint: { cidrs: ["100.65.0.0/24"] },
    neighbors: [
      { asn: 64_512, address: "2001:db8:2::2", connectTimeSeconds: 1 },
      { type: "internal" as const, address: "2001:db8:3::2", connectTimeSeconds: 1 },
    ],
  };
  const passthroughs = [passthrough("host", hostSession("192.169.20.0/24", "2001:db8:20::/64"))];
  const objects = readObjects({ underlays: [{ ...underlay(), spec }], l2vnis: [], l3vnis: [], passthroughs, rawConfigs: [] });
  const host = ["eth2", "eth3"].map((name) => ({ name, addresses: [] }));
  const { frr, failures } = previewNode(observed(objects, { interfaces: { host, router: [] } }));
  expect(failures).toEqual([]);
  return frr;
}

const directories: string[] = [];
let node: FrrInNamespace;
let fabric: FrrInNamespace;
let internal: FrrInNamespace;

async function start(configuration: string): Promise<FrrInNamespace> {
  const stateDirectory = await mkdtemp(join(tmpdir(), "plumbline-ipv6-"));
  directories.push(stateDirectory);
  await writeFile(join(stateDirectory, "frr.conf"), configuration);
  return frrInNamespace({ version: "8.4", stateDirectory });
}

/** A wire between the node and another router, with addresses of the subnet. */
async function connect(nic: string, subnet: string, { netns }: FrrInNamespace): Promise<void> {
  await run("ip", "-n", node.netns, "link", "add", nic, "type", "veth", "peer", "name", "node", "netns", netns);
  for (const [where, link, address] of [
    [node.netns, nic, `${subnet}::3/64`],
    [netns, "node", `${subnet}::2/64`],
  ] as const) {
    await run("ip", "-n", where, "addr", "add", address, "dev", link, "nodad");
    await run("ip", "-n", where, "link", "set", link, "up");
  }
}

beforeAll(async () => {
  [node, fabric, internal] = await Promise.all([start(routerOfNode()), start(SWITCH), start(INTERNAL)]);
  await connect("eth2", "2001:db8:2", fabric);
  await connect("eth3", "2001:db8:3", internal);
  const inSwitch = (...args: string[]) => run("ip", "-n", fabric.netns, ...args);
  await inSwitch("addr", "add", "100.65.0.99/32", "dev", "lo");
  await inSwitch("link", "add", "br110", "type", "bridge");
  await inSwitch("link", "add", "vni110", "type", "vxlan", "id", "110", "dstport", "4789", "local", "100.65.0.99", "nolearning");
  await inSwitch("link", "set", "vni110", "master", "br110");
  await inSwitch("link", "set", "br110", "up");
  await inSwitch("link", "set", "vni110", "up");
}, 120_000);
afterAll(async () => {
  for (const one of [node, fabric, internal]) await one.stop();
  for (const directory of directories) await rm(directory, { recursive: true, force: true });
});

const route = ({ netns }: FrrInNamespace, prefix: string, ...family: string[]) =>
  run("ip", ...family, "-n", netns, "route", "show", prefix);

test("VTEPs are announced and learned over sessions with IPv6 addresses only", async () => {
  await eventually(async () => expect(await route(fabric, "100.65.0.0")).toContain("proto bgp"));
  await eventually(async () => expect(await route(node, "100.65.0.99")).toContain("proto bgp"));
});

test("the prefix of the host reaches the fabric", async () => {
  await eventually(async () => expect(await route(fabric, "2001:db8:20::2", "-6")).toContain("proto bgp"));
});

test("an internal neighbor learns EVPN routes with the VTEP that announced them", async () => {
  await eventually(async () => {
    const vty = await internal.instance.router.vty("bgpd", signal);
    const text = await vty.must("show bgp l2vpn evpn", signal);
    expect(text).toContain("[3]:[0]:[32]:[100.65.0.99]");
    expect(text.split("\n").filter((line) => /^\s+100\.65\.0\.99\s/.test(line))).not.toEqual([]);
  });
});
