import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readRouterState } from "../../src/cli/shared/router-on-node.ts";
import { bfdPeers } from "../../src/frr/testing/bfd-peers.ts";
import { knownAddresses, originatedTag, sessions, vnis } from "../../src/frr/show.ts";
import { FRR_RELEASES, frrInNamespace, run, type FrrInNamespace } from "../support/frr.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const patient = { timeout: 60_000, interval: 100 };

/** Two routers on one wire, each with a VTEP address that the other learns. */
async function neighbors(version: (typeof FRR_RELEASES)[number]): Promise<[FrrInNamespace, FrrInNamespace]> {
  const [one, two] = await Promise.all([frrInNamespace({ version }), frrInNamespace({ version })]);
  await run("ip", "link", "add", "eth0", "netns", one.netns, "type", "veth", "peer", "name", "eth0", "netns", two.netns);
  for (const [frr, me, other] of [
    [one, 1, 2],
    [two, 2, 1],
  ] as const) {
    const links = `addr add 192.0.2.${me}/24 dev eth0
      addr add 198.51.100.${me}/32 dev lo
      link set eth0 up
      link add br100 type bridge
      link set br100 up
      link add vni100 type vxlan id 100 dstport 4789 local 198.51.100.${me} nolearning
      link set vni100 master br100 up`;
    for (const command of links.split("\n")) await run("ip", "-n", frr.netns, ...command.trim().split(" "));
    const bgpd = await frr.instance.router.open("bgpd", signal);
    const lines = `router bgp 6451${me}
      no bgp ebgp-requires-policy
      neighbor 192.0.2.${other} remote-as 6451${other}
      neighbor 192.0.2.${other} timers connect 1
      neighbor 192.0.2.${other} bfd
      neighbor 192.0.2.9 remote-as 64519
      address-family ipv4 unicast
      network 198.51.100.${me}/32
      exit-address-family
      address-family l2vpn evpn
      neighbor 192.0.2.${other} activate
      advertise-all-vni
      exit-address-family
      exit
      router bgp 6451${me} vrf red
      neighbor 203.0.113.1 remote-as 64518`;
    await bgpd.configure(
      lines.split("\n").map((line) => line.trim()),
      signal,
    );
    bgpd.close();
    const vrf = await frr.instance.router.open(version === "10" ? "mgmtd" : "zebra", signal);
    await vrf.configure(["vrf red", "vni 200"], signal);
    vrf.close();
  }
  return [one, two];
}

describe.each(FRR_RELEASES)("FRR %s", (version) => {
  let one: FrrInNamespace;
  let two: FrrInNamespace;
  beforeAll(async () => {
    [one, two] = await neighbors(version);
  });
  afterAll(() => Promise.all([one.stop(), two.stop()]));

  test("zebra's addresses equal the kernel's, without secondary and link-local ones", async () => {
    await run("ip", "-n", one.netns, "addr", "add", "192.0.2.77/24", "dev", "eth0");
    await run("ip", "-n", one.netns, "addr", "add", "2001:db8:77::1/64", "dev", "eth0", "nodad");
    await vi.waitFor(async () => {
      const known = await knownAddresses(one.instance.router, signal);
      const listed = [...(known.get("eth0") ?? [])].filter((address) => !address.startsWith("fe80:"));
      expect(listed.toSorted()).toEqual(["192.0.2.1/24", "2001:db8:77::1/64"]);
    }, patient);
  });

  test("reads the sessions of every VRF, with state, age and prefixes by family", async () => {
    await vi.waitFor(async () => {
      const all = await sessions(one.instance.router, signal);
      expect(all).toEqual([
        {
          vrf: "default",
          neighbor: "192.0.2.2",
          remoteAs: 64512,
          state: "Established",
          sinceMs: expect.any(Number) as number,
          drops: expect.any(Number) as number,
          families: [
            { family: "ipv4Unicast", received: 1, sent: 2 },
            { family: "l2VpnEvpn", received: 1, sent: 2 },
          ],
        },
        {
          vrf: "default",
          neighbor: "192.0.2.9",
          remoteAs: 64519,
          state: expect.stringMatching(/^(Active|Connect|Idle)$/) as string,
          drops: 0,
          families: [{ family: "ipv4Unicast", received: 0, sent: 0 }],
        },
        {
          vrf: "red",
          neighbor: "203.0.113.1",
          remoteAs: 64518,
          state: "Idle",
          drops: 0,
          families: [{ family: "ipv4Unicast", received: 0, sent: 0 }],
        },
      ]);
    }, patient);
  });

  test("reads the VNIs: those of a device with their remote VTEPs, and those that wait for their VRF", async () => {
    await vi.waitFor(async () => {
      expect(await vnis(one.instance.router, signal)).toEqual([
        { vni: 100, type: "L2", vrf: "default", state: "Up", device: "vni100", macs: 0, neighbors: 0, vteps: ["198.51.100.2"] },
        { vni: 200, type: "L3", vrf: "red", state: "Down", macs: 0, neighbors: 0, vteps: [] },
      ]);
    }, patient);
  });

  test("reads the tag of an originated prefix in every VRF and family, and notices at once when it is withdrawn", async () => {
    const { router } = one.instance;
    const bgpd = await router.open("bgpd", signal);
    const map = ["route-map tagged permit 1", "set tag 4711", "exit"];
    const v4 = ["address-family ipv4 unicast", "network 203.0.113.7/32 route-map tagged", "exit-address-family"];
    const v6 = ["address-family ipv6 unicast", "network 2001:db8::7/128 route-map tagged", "exit-address-family"];
    await bgpd.configure([...map, "router bgp 64511", ...v4, ...v6, "exit", "router bgp 64511 vrf red", ...v4, ...v6], signal);
    const tags = () =>
      Promise.all(["", "red"].flatMap((vrf) => ["203.0.113.7/32", "2001:db8::7/128"].map((to) => originatedTag(router, vrf, to, signal))));
    expect(await tags()).toEqual([4711, 4711, 4711, 4711]);
    await bgpd.configure(["router bgp 64511", ...v4.map((line) => line.replace("network", "no network"))], signal);
    expect(await tags()).toEqual([undefined, 4711, 4711, 4711]);
    bgpd.close();
    // Routes that the peer has sent are not our own.
    await expect.poll(() => originatedTag(router, "", "198.51.100.1/32", signal), patient).toBe(0);
    expect(await originatedTag(router, "", "198.51.100.2/32", signal)).toBeUndefined();
    expect(await originatedTag(router, "", "10.0.0.0/8", signal)).toBeUndefined();
  });

  test("counts the MAC addresses of a VNI", async () => {
    await run("ip", "-n", one.netns, "link", "add", "port", "type", "veth", "peer", "name", "host");
    await run("ip", "-n", one.netns, "link", "set", "port", "master", "br100", "up");
    await run("ip", "netns", "exec", one.netns, "bridge", "fdb", "add", "02:00:00:00:00:01", "dev", "port", "master", "static");
    for (const { instance } of [one, two]) {
      await vi.waitFor(async () => expect((await vnis(instance.router, signal))[0]).toMatchObject({ vni: 100, macs: 1 }), patient);
    }
  });

  test("a VNI that FRR calls up is down while its device is down or out of its bridge", async () => {
    const common = { netns: "router", owner: "L2VNI/red" } as const;
    const links = [
      { ...common, type: "bridge", name: "br100" },
      { ...common, type: "vxlan", name: "vni100", master: "br100", vni: 100, port: 4789, local: "198.51.100.1", device: "lo" },
    ] as const;
    const router = { namespaces: { router: one.netns }, vnis: [{ vni: 100, type: "L2" as const, vrf: "default", links }] };
    const observed = async () => {
      const { vnis: reports = [] } = await readRouterState(one.instance, router, { vnis: true }, signal);
      return reports.flatMap(({ vni, state, message }) => (vni === 100 ? `${state} ${message ?? ""}`.trim() : []));
    };
    const change = (...args: string[]) => run("ip", "-n", one.netns, "link", "set", "vni100", ...args);
    await vi.waitFor(async () => expect(await observed()).toEqual(["Up"]), patient);
    await change("down");
    expect(await observed()).toEqual(["Down vni100 is down"]);
    await change("up", "nomaster");
    expect(await observed()).toEqual(["Down vni100 is not in bridge br100"]);
    await change("master", "br100");
    await vi.waitFor(async () => expect(await observed()).toEqual(["Up"]), patient);
  });

  test("reads the BFD peers", async () => {
    await vi.waitFor(async () => {
      expect(await bfdPeers(one.instance.router, signal)).toEqual([
        expect.objectContaining({
          vrf: "default",
          peer: "192.0.2.2",
          interface: "eth0",
          multihop: false,
          status: "up",
          uptimeSeconds: expect.any(Number) as number,
        }),
      ]);
    }, patient);
  });

  test("reads since when a session is down", async () => {
    await run("ip", "-n", two.netns, "link", "set", "eth0", "down");
    await vi.waitFor(async () => {
      const [session] = await sessions(one.instance.router, signal);
      expect(session).toMatchObject({ neighbor: "192.0.2.2", sinceMs: expect.any(Number) as number });
      expect(session?.state).not.toBe("Established");
      expect(session?.drops).toBeGreaterThan(0);
    }, patient);
  });
});

test.each(FRR_RELEASES)("an FRR %s without configuration has no sessions, VNIs or peers", async (version) => {
  const frr = await frrInNamespace({ version });
  const { router } = frr.instance;
  expect(await sessions(router, signal)).toEqual([]);
  expect(await vnis(router, signal)).toEqual([]);
  expect(await bfdPeers(router, signal)).toEqual([]);
  await frr.stop();
});
