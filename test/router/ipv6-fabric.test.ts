import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { L3Passthrough } from "../../src/api/openpe/l3passthrough.ts";
import { Underlay } from "../../src/api/openpe/underlay.ts";
import { frrInNamespace, type FrrInNamespace, run } from "../support/frr.ts";
import { RouterNode } from "../support/router-node.ts";

// A node whose links have IPv6 addresses only, with an IPv4 VTEP: between a switch of another AS and a router of its own AS.

const { signal } = new AbortController();
const where = { name: "fabric", namespace: "openperouter-system" };
const eventually = <T>(check: () => Promise<T>) => vi.waitFor(check, { timeout: 120_000, interval: 100 });
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

let node: RouterNode;
let directory: string;
const others: FrrInNamespace[] = [];

/** A router at the far end of an interface of the node. */
async function plug(nic: string, subnet: string, configuration: string): Promise<FrrInNamespace> {
  const stateDirectory = join(directory, nic);
  await mkdir(stateDirectory);
  await writeFile(join(stateDirectory, "frr.conf"), configuration);
  const other = await frrInNamespace({ version: "8.4", stateDirectory });
  others.push(other);
  const { netns } = other;
  await node.host("link", "add", nic, "type", "veth", "peer", "name", "node", "netns", netns);
  await node.host("addr", "add", `${subnet}::3/64`, "dev", nic, "nodad");
  await node.host("link", "set", nic, "up");
  await run("ip", "-n", netns, "addr", "add", `${subnet}::2/64`, "dev", "node", "nodad");
  await run("ip", "-n", netns, "link", "set", "node", "up");
  return other;
}

let fabric: FrrInNamespace;
let internal: FrrInNamespace;

beforeAll(async () => {
  node = await RouterNode.create();
  directory = await mkdtemp(join(tmpdir(), "plumbline-ipv6-"));
  fabric = await plug("eth2", "2001:db8:2", SWITCH);
  internal = await plug("eth3", "2001:db8:3", INTERNAL);
  const inSwitch = (...args: string[]) => run("ip", "-n", fabric.netns, ...args);
  await inSwitch("addr", "add", "100.65.0.99/32", "dev", "lo");
  await inSwitch("link", "add", "br110", "type", "bridge");
  await inSwitch("link", "add", "vni110", "type", "vxlan", "id", "110", "dstport", "4789", "local", "100.65.0.99", "nolearning");
  await inSwitch("link", "set", "vni110", "master", "br110");
  await inSwitch("link", "set", "br110", "up");
  await inSwitch("link", "set", "vni110", "up");
  node.startAgent();
}, 300_000);
afterAll(async () => {
  await node.remove();
  for (const one of others) await one.stop();
  await rm(directory, { recursive: true, force: true });
});

const routesOf = (netns: string, prefix: string, ...family: string[]) => run("ip", ...family, "-n", netns, "route", "show", prefix);

test("a VTEP is announced and learned over sessions with IPv6 addresses only", async () => {
  await node.client.resource(Underlay).create(
    {
      metadata: where,
      spec: {
        asn: 64_514,
        interfaces: [device("eth2"), device("eth3")],
        tunnelEndpoint: { cidrs: ["100.65.0.0/24"] },
        neighbors: [
          { asn: 64_512, address: "2001:db8:2::2", connectTimeSeconds: 1 },
          { type: "internal", address: "2001:db8:3::2", connectTimeSeconds: 1 },
        ],
      },
    } as never,
    { signal },
  );
  await eventually(async () => expect((await node.status()).status?.overlay?.vtep).toBeDefined());
  const vtep = (await node.status()).status?.overlay?.vtep ?? "";
  await eventually(async () => expect(await routesOf(fabric.netns, vtep)).toContain("via inet6"));
  await eventually(async () => expect(await node.router("route", "show", "100.65.0.99")).toContain("via inet6"));
});

test("the host's IPv6 prefix reaches the fabric", async () => {
  const hostsession = { asn: 64_514, hostasn: 64_515, localcidr: { ipv6: "2001:db8:20::/64" } };
  await node.client.resource(L3Passthrough).create({ metadata: { ...where, name: "host" }, spec: { hostsession } }, { signal });
  await eventually(async () => expect(await routesOf(fabric.netns, "2001:db8:20::2", "-6")).toContain("proto bgp"));
});

test("an internal neighbor learns EVPN routes with the VTEP that announced them", async () => {
  await eventually(async () => {
    const vty = await internal.instance.router.vty("bgpd", signal);
    const text = await vty.must("show bgp l2vpn evpn", signal);
    expect(text).toContain("[3]:[0]:[32]:[100.65.0.99]");
    expect(text.split("\n").filter((line) => /^\s+100\.65\.0\.99\s/.test(line))).not.toEqual([]);
  });
});
