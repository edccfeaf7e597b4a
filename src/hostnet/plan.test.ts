import { describe, expect, test } from "vitest";
import { NEW_PORT, plan, planRemoval } from "./plan.ts";
import { link, linkAddress, snapshot, typedCommands } from "./testing/fixtures.ts";
import type { BridgePort, Link, PortFlag, Snapshot } from "./snapshot.ts";
import type { DesiredLink } from "./desired-link.ts";

const owner = "L2VNI/red";
const nothing = snapshot({});

const bridge: DesiredLink = { netns: "router", name: "br-pe-100", type: "bridge", owner };
const vrf: DesiredLink = { netns: "router", name: "red", type: "vrf", owner: "VRF/red" };
const vxlan: DesiredLink = {
  netns: "router",
  name: "vni100",
  type: "vxlan",
  owner,
  vni: 100,
  port: 4789,
  local: "10.255.0.1",
  device: "lound",
  master: "br-pe-100",
  addrGenMode: "none",
};
const hostLeg: DesiredLink = { netns: "host", name: "host-100", type: "veth", owner, peer: { netns: "router", name: "pe-100" } };
const routerLeg: DesiredLink = { netns: "router", name: "pe-100", type: "veth", owner, peer: { netns: "host", name: "host-100" } };

const lound = link("lound", "dummy");
const liveBridge = link("br-pe-100", "bridge", { index: 5 });
const looseVxlan = link("vni100", "vxlan", {
  addrGenMode: "none",
  vxlan: { vni: 100, port: 4789, local: "10.255.0.1", device: "lound", learning: false },
});
const port = (flags: Partial<Record<PortFlag, boolean>> = {}, state = "forwarding") => ({ state, flags: { ...NEW_PORT, ...flags } });
const quiet = port({ learning: false, neigh_suppress: true });
const liveVxlan = { ...looseVxlan, master: "br-pe-100", bridgePort: quiet };

const run = (want: readonly DesiredLink[], have: Snapshot) => {
  const planned = plan(want, have);
  expect(planned.rejected).toBeUndefined();
  return typedCommands(planned);
};

describe("creation", () => {
  test.for<[string, DesiredLink, string[]]>([
    ["a bridge", bridge, ["link add name br-pe-100 group 7017 type bridge", "link set dev br-pe-100 alias plumbline:L2VNI/red up"]],
    [
      "of a dummy with addresses",
      { netns: "router", name: "lound", type: "dummy", owner: "Underlay/u", addresses: ["10.255.0.1/32", "fd00::1/128"] },
      [
        "link add name lound group 7017 type dummy",
        "link set dev lound alias plumbline:Underlay/u up",
        "addr replace 10.255.0.1/32 dev lound",
        "addr replace fd00::1/128 dev lound nodad",
      ],
    ],
    ["a VRF", vrf, ["link add name red group 7017 type vrf table 1", "link set dev red alias plumbline:VRF/red up"]],
    [
      "of a bridge without addrgenmode sets it before the bridge is up",
      { ...bridge, mac: "00:F3:00:00:00:65", mtu: 1450, addrGenMode: "none" },
      [
        "link add name br-pe-100 group 7017 address 00:F3:00:00:00:65 mtu 1450 type bridge",
        "link set dev br-pe-100 alias plumbline:L2VNI/red addrgenmode none",
        "link set dev br-pe-100 up",
      ],
    ],
  ])("%s", ([, want, commands]) => {
    expect(run([want], nothing)).toEqual(commands.map((command) => `router: ip ${command}`));
  });

  test("of a VXLAN turns learning off and neighbor suppression on before it is up", () => {
    expect(run([vxlan], snapshot({ router: [lound, liveBridge] }))).toEqual([
      "router: ip link add name vni100 group 7017 master br-pe-100 type vxlan id 100 dstport 4789 local 10.255.0.1 dev lound nolearning",
      "router: ip link set dev vni100 alias plumbline:L2VNI/red addrgenmode none type bridge_slave neigh_suppress on learning off",
      "router: ip link set dev vni100 up",
    ]);
  });

  test("of a veth pair is one command, with the peer in its namespace", () => {
    expect(
      run(
        [
          { ...hostLeg, mtu: 1450 },
          { ...routerLeg, mtu: 1450, master: "br-pe-100" },
        ],
        snapshot({ router: [liveBridge] }),
      ),
    ).toEqual([
      "host: ip link add name host-100 group 7017 mtu 1450 type veth peer name pe-100 netns perouter group 7017",
      "host: ip link set dev host-100 alias plumbline:L2VNI/red up",
      "router: ip link set dev pe-100 alias plumbline:L2VNI/red mtu 1450 master br-pe-100 up",
    ]);
  });

  test("of a veth pair whose router end comes first starts from the host end", () => {
    expect(run([{ ...routerLeg, mtu: 1450, master: "br-pe-100" }, hostLeg], snapshot({ router: [liveBridge] }))).toEqual([
      "host: ip link add name host-100 group 7017 type veth peer name pe-100 netns perouter group 7017 mtu 1450",
      "router: ip link set dev pe-100 alias plumbline:L2VNI/red master br-pe-100 up",
      "host: ip link set dev host-100 alias plumbline:L2VNI/red up",
    ]);
  });

  test("of a veth sets its VRF before its addresses, since that would drop IPv6 addresses", () => {
    const commands = run([{ ...routerLeg, master: "red", addresses: ["192.0.2.1/24", "2001:db8::1/64"] }, vrf], nothing);
    expect(commands).toEqual([
      "router: ip link add name red group 7017 type vrf table 1",
      "router: ip link set dev red alias plumbline:VRF/red up",
      "host: ip link add name host-100 group 7017 type veth peer name pe-100 netns perouter group 7017",
      "router: ip link set dev pe-100 alias plumbline:L2VNI/red master red up",
      "router: ip addr replace 192.0.2.1/24 dev pe-100",
      "router: ip addr replace 2001:db8::1/64 dev pe-100 nodad",
    ]);
  });

  test("starts with the dependencies, in any wanted order", () => {
    const dummy: DesiredLink = { netns: "router", name: "lound", type: "dummy", owner };
    const added = run([vxlan, { ...bridge, master: "red" }, vrf, dummy], nothing).flatMap(
      (command) => /link add name (\S+)/.exec(command)?.[1] ?? [],
    );
    expect(added).toEqual(["red", "br-pe-100", "lound", "vni100"]);
  });

  test("skips addrgenmode on a kernel without IPv6", () => {
    const have = { ...nothing, router: new Map() };
    expect(run([{ ...bridge, addrGenMode: "none" }], have).join()).not.toContain("addrgenmode");
  });
});

const tables = (taken: readonly number[]) => snapshot({ router: taken.map((table) => link(`vrf${table}`, "vrf", { table })) });
const upTo = (last: number) => Array.from({ length: last }, (_, n) => n + 1);

describe("the table of a VRF", () => {
  test.for<[string, number[], number]>([
    ["is the lowest free one", [1, 2, 4], 3],
    ["is not a reserved one of the kernel", upTo(252), 256],
    ["continues after the reserved ones of the kernel", [...upTo(252), 256], 257],
  ])("%s", ([, taken, table]) => {
    expect(run([vrf], tables(taken))[0]).toBe(`router: ip link add name red group 7017 type vrf table ${table}`);
  });

  test("differs between two VRFs of one plan", () => {
    const commands = run([vrf, { ...vrf, name: "blue" }], nothing);
    expect(commands.filter((command) => command.includes("table"))).toEqual([
      "router: ip link add name red group 7017 type vrf table 1",
      "router: ip link add name blue group 7017 type vrf table 2",
    ]);
  });

  test("does not change", () => {
    expect(run([vrf], snapshot({ router: [link("red", "vrf", { alias: "plumbline:VRF/red", table: 99 })] }))).toEqual([]);
  });
});

describe("an existing link", () => {
  test("is left alone", () => {
    const have = snapshot({
      host: [
        link("host-100", "veth", {
          index: 7,
          peer: { index: 9 },
          addresses: ["fe80::1/64", linkAddress("192.0.2.9/32", { dynamic: true })],
        }),
      ],
      router: [lound, liveBridge, liveVxlan, link("pe-100", "veth", { index: 9, peer: { index: 7 } })],
    });
    expect(run([bridge, vxlan, hostLeg, routerLeg], have)).toEqual([]);
  });

  test.for<[string, Partial<Parameters<typeof link>[2]>, Partial<DesiredLink>, string[]]>([
    ["is raised", { up: false }, {}, ["link set dev br-pe-100 up"]],
    ["answers ARP again", { off: ["arp"] }, {}, ["link set dev br-pe-100 arp on"]],
    [
      "filters no VLANs and runs no spanning tree",
      { bridge: { vlanFiltering: true, stp: true } },
      {},
      ["link set dev br-pe-100 type bridge vlan_filtering 0 stp_state 0"],
    ],
    ["changes its owner", { alias: "plumbline:L2VNI/old" }, {}, ["link set dev br-pe-100 alias plumbline:L2VNI/red"]],
    ["gets its alias if its creator was killed before it set it", { alias: "" }, {}, ["link set dev br-pe-100 alias plumbline:L2VNI/red"]],
    [
      "gets MTU and MAC in one command",
      {},
      { mtu: 1400, mac: "00:f3:00:00:00:65" },
      ["link set dev br-pe-100 address 00:f3:00:00:00:65 mtu 1400"],
    ],
    ["keeps MTU and MAC that are not wanted explicitly", { mtu: 9000, mac: "02:00:00:00:00:99" }, {}, []],
    ["keeps a MAC that differs in case only", { mac: "00:f3:00:00:00:6a" }, { mac: "00:F3:00:00:00:6A" }, []],
    ["is removed from a master that is not wanted", { master: "br0" }, {}, ["link set dev br-pe-100 nomaster"]],
    [
      "is moved back to its VRF, and gets its IPv6 addresses again",
      { addresses: ["10.0.0.1/24", "fd00::1/64"] },
      { master: "red", addresses: ["10.0.0.1/24", "fd00::1/64"] },
      ["link set dev br-pe-100 master red", "addr replace fd00::1/64 dev br-pe-100 nodad"],
    ],
    [
      "loses addresses before it is moved to its VRF, and gets others after",
      { addresses: ["10.0.0.9/24", "fd00::9/64"] },
      { master: "red", addresses: ["10.0.0.1/24"] },
      [
        "addr del 10.0.0.9/24 dev br-pe-100",
        "addr del fd00::9/64 dev br-pe-100",
        "link set dev br-pe-100 master red",
        "addr replace 10.0.0.1/24 dev br-pe-100",
      ],
    ],
    [
      "gets addrgenmode none, and loses its generated address",
      { addresses: ["fe80::1/64"] },
      { addrGenMode: "none" },
      ["link set dev br-pe-100 addrgenmode none", "addr del fe80::1/64 dev br-pe-100"],
    ],
    [
      "gets addrgenmode none before it is moved to its VRF, which would generate an address",
      { addresses: ["fe80::1/64", "fd00::1/64"] },
      { master: "red", addrGenMode: "none", addresses: ["fd00::1/64"] },
      [
        "link set dev br-pe-100 addrgenmode none",
        "addr del fe80::1/64 dev br-pe-100",
        "link set dev br-pe-100 master red",
        "addr replace fd00::1/64 dev br-pe-100 nodad",
      ],
    ],
    [
      "gets its addrgenmode before it is up",
      { up: false },
      { addrGenMode: "none" },
      ["link set dev br-pe-100 addrgenmode none", "link set dev br-pe-100 up"],
    ],
    ["keeps an address in any notation", { addresses: ["2001:db8::1/64"] }, { addresses: ["2001:0DB8:0::1/64"] }, []],
    [
      "gets an address again that failed duplicate address detection",
      { addresses: [linkAddress("fd00::1/64", { dadFailed: true })] },
      { addresses: ["fd00::1/64"] },
      ["addr del fd00::1/64 dev br-pe-100", "addr replace fd00::1/64 dev br-pe-100 nodad"],
    ],
    [
      "gets a secondary address again that is removed with the primary",
      { addresses: ["10.0.0.9/24", linkAddress("10.0.0.1/24", { secondary: true }), linkAddress("10.1.0.1/24", { secondary: true })] },
      { addresses: ["10.0.0.1/24", "10.1.0.1/24"] },
      ["addr del 10.0.0.9/24 dev br-pe-100", "addr replace 10.0.0.1/24 dev br-pe-100"],
    ],
    [
      "loses a secondary address before the primary, which would remove it too",
      { addresses: ["10.0.0.9/24", linkAddress("10.0.0.8/24", { secondary: true })] },
      {},
      ["addr del 10.0.0.8/24 dev br-pe-100", "addr del 10.0.0.9/24 dev br-pe-100"],
    ],
    [
      "loses a peer address",
      { addresses: [linkAddress("10.0.0.1/32", { peer: "10.0.0.2/32" })] },
      { addresses: ["10.0.0.1/32"] },
      ["addr del 10.0.0.1 peer 10.0.0.2/32 dev br-pe-100", "addr replace 10.0.0.1/32 dev br-pe-100"],
    ],
  ])("%s", ([, now, wanted, commands]) => {
    const have = snapshot({ router: [{ ...link("br-pe-100", "bridge", now) }, link("red", "vrf", { table: 1 })] });
    expect(run([{ ...bridge, ...wanted } as DesiredLink], have)).toEqual(commands.map((command) => `router: ip ${command}`));
  });

  test.for<[string, Partial<NonNullable<(typeof liveVxlan)["vxlan"]>>]>([
    ["VNI", { vni: 101 }],
    ["port", { port: 8472 }],
    ["local address", { local: "10.255.0.2" }],
    ["device", { device: "eth0" }],
    ["learning", { learning: true }],
  ])("a VXLAN whose %s differs is recreated", ([, field]) => {
    const stale = { ...liveVxlan, vxlan: { vni: 100, port: 4789, local: "10.255.0.1", device: "lound", learning: false, ...field } };
    const commands = run([vxlan], snapshot({ router: [lound, liveBridge, stale] }));
    expect(commands).toHaveLength(4);
    expect(commands[0]).toBe("router: ip link del dev vni100");
    expect(commands[1]).toContain("link add name vni100");
  });

  test("VXLANs that swap their VNIs are both deleted before either is created", () => {
    const other: DesiredLink = { ...vxlan, name: "vni101", vni: 100 };
    const liveOther = {
      ...liveVxlan,
      name: "vni101",
      vxlan: { vni: 101, port: 4789, local: "10.255.0.1", device: "lound", learning: false },
    };
    const commands = run([{ ...vxlan, vni: 101 }, other], snapshot({ router: [lound, liveBridge, liveVxlan, liveOther] }));
    expect(commands.flatMap((command) => /link (?:add name|del dev) \S+/.exec(command)?.[0] ?? [])).toEqual([
      "link del dev vni100",
      "link del dev vni101",
      "link add name vni100",
      "link add name vni101",
    ]);
  });

  test("a VXLAN that was removed from its bridge gets its port flags again", () => {
    expect(run([vxlan], snapshot({ router: [lound, liveBridge, looseVxlan] }))).toEqual([
      "router: ip link set dev vni100 master br-pe-100",
      "router: ip link set dev vni100 type bridge_slave neigh_suppress on learning off",
    ]);
  });

  test.for<[string, BridgePort, string]>([
    ["learns", port({ neigh_suppress: true }), "learning off"],
    ["floods nothing", port({ ...quiet.flags, flood: false, bcast_flood: false }), "flood on bcast_flood on"],
    ["is isolated", port({ ...quiet.flags, isolated: true }), "isolated off"],
    ["is blocked", port(quiet.flags, "learning"), "state 3"],
  ])("a VXLAN with changed port flags gets them again: it %s", ([, bridgePort, settings]) => {
    expect(run([vxlan], snapshot({ router: [lound, liveBridge, { ...liveVxlan, bridgePort }] }))).toEqual([
      `router: ip link set dev vni100 type bridge_slave ${settings}`,
    ]);
  });

  test("a veth gets default port flags in our bridge, and keeps them in a foreign bridge", () => {
    const changed = { index: 7, peer: { index: 9 }, master: "br", bridgePort: port({ isolated: true, learning: false }, "disabled") };
    const commands = (bridge: Link) =>
      run(
        [{ ...hostLeg, master: "br" }],
        snapshot({
          host: [bridge, link("host-100", "veth", changed)],
          router: [link("pe-100", "veth", { index: 9, peer: { index: 7 } })],
        }),
      );
    expect(commands(link("br", "bridge"))).toEqual(["host: ip link set dev host-100 type bridge_slave learning on isolated off state 3"]);
    expect(commands(link("br", "bridge", { alias: "", group: "default" }))).toEqual([]);
  });

  test("a port without carrier is not set to forwarding", () => {
    const down = { ...liveVxlan, noCarrier: true as const, bridgePort: port(quiet.flags, "disabled") };
    expect(run([vxlan], snapshot({ router: [lound, liveBridge, down] }))).toEqual([]);
  });

  test("dependents of a link of the wrong type move to the new one", () => {
    const commands = run([bridge, vxlan], snapshot({ router: [lound, link("br-pe-100", "dummy"), liveVxlan] }));
    expect(commands).toEqual([
      "router: ip link del dev br-pe-100",
      "router: ip link add name br-pe-100 group 7017 type bridge",
      "router: ip link set dev br-pe-100 alias plumbline:L2VNI/red up",
      "router: ip link set dev vni100 master br-pe-100",
      "router: ip link set dev vni100 type bridge_slave neigh_suppress on learning off",
    ]);
  });

  test("a VXLAN that is deleted with its device is created, not changed", () => {
    const dummy: DesiredLink = { netns: "router", name: "lound", type: "dummy", owner };
    const commands = run([dummy, vxlan], snapshot({ router: [link("lound", "bridge"), liveBridge, liveVxlan] }));
    expect(commands.filter((command) => / (?:add|del) /.test(command))).toEqual([
      "router: ip link del dev lound",
      "router: ip link add name lound group 7017 type dummy",
      "router: ip link add name vni100 group 7017 master br-pe-100 type vxlan id 100 dstport 4789 local 10.255.0.1 dev lound nolearning",
    ]);
  });

  test("two veths that are not one pair are recreated", () => {
    const have = snapshot({
      host: [link("host-100", "veth", { index: 7, peer: { index: 8 } })],
      router: [link("pe-100", "veth", { index: 9, peer: { index: 7 } })],
    });
    expect(run([hostLeg, routerLeg], have)).toEqual([
      "host: ip link del dev host-100",
      "router: ip link del dev pe-100",
      "host: ip link add name host-100 group 7017 type veth peer name pe-100 netns perouter group 7017",
      "host: ip link set dev host-100 alias plumbline:L2VNI/red up",
      "router: ip link set dev pe-100 alias plumbline:L2VNI/red up",
    ]);
  });
});

describe("a foreign link", () => {
  test.for<[string, DesiredLink[], Snapshot, string]>([
    [
      "with the wanted name",
      [vrf, bridge],
      snapshot({ router: [link("br-pe-100", "bridge", { alias: "", group: "default" })] }),
      "br-pe-100: a link with this name already exists and was not created by plumbline",
    ],
    [
      "with the alias of another owner",
      [bridge],
      snapshot({ router: [link("br-pe-100", "bridge", { alias: "storage" })] }),
      'br-pe-100: a link with this name already exists and was not created by plumbline (its alias is "storage")',
    ],
    [
      "with the name of the veth peer",
      [vrf, hostLeg],
      snapshot({ router: [link("pe-100", "veth", { alias: "", group: "default" })] }),
      "pe-100: a link with this name already exists and was not created by plumbline",
    ],
  ])("%s is not changed, nor is any other link", ([, want, have, message]) => {
    const { commands, rejected } = plan(want, have);
    expect(commands).toEqual([]);
    expect(rejected).toMatchObject({ name: "KernelError", code: "Rejected", message });
  });

  test("can be a master, and must exist", () => {
    const want: DesiredLink = { ...hostLeg, master: "br0" };
    const foreign = link("br0", "bridge", { alias: "", group: "default" });
    expect(run([want], snapshot({ host: [foreign] })).at(-1)).toContain("master br0");
    expect(plan([want], nothing).rejected?.message).toBe("host-100: Interface br0 not present on node");
  });
});

const at = (netns: "host" | "router", ...names: string[]) => names.map((name) => ({ netns, name }));

describe("removal", () => {
  test("deletes our links once, and keeps foreign ones", () => {
    const have = snapshot({
      host: [link("host-100", "veth", { index: 7, peer: { index: 9 } }), link("br0", "bridge", { alias: "", group: "default" })],
      router: [liveBridge, link("pe-100", "veth", { index: 9, peer: { index: 7 } })],
    });
    const planned = planRemoval([...at("host", "host-100", "br0", "absent"), ...at("router", "pe-100", "br-pe-100")], have);
    expect(typedCommands(planned)).toEqual(["host: ip link del dev host-100", "router: ip link del dev br-pe-100"]);
  });

  test("skips links that the kernel removes with others", () => {
    const have = snapshot({
      router: [lound, liveBridge, liveVxlan, link("red", "vrf", { table: 1 }), link("eth1", "", { master: "red", alias: "" })],
    });
    const planned = planRemoval(at("router", "lound", "vni100", "red"), have);
    expect(typedCommands(planned)).toEqual(["router: ip link del dev lound", "router: ip link del dev red"]);
    expect([...planned.touches.router].map(([name, left]) => `${name} ${left === undefined ? "gone" : (left.master ?? "free")}`)).toEqual([
      "lound gone",
      "red gone",
      "vni100 gone",
      "eth1 free",
    ]);
  });
});
