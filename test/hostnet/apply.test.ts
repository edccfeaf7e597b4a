import { execFileSync, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { KernelError } from "../../src/hostnet/error.ts";
import { LinkApplier } from "../../src/hostnet/apply.ts";
import { AddressModes } from "../../src/hostnet/address-modes.ts";
import { ensureNamespace, raiseLoopback, type NetworkNamespaces } from "../../src/hostnet/namespaces.ts";
import { PORT_FLAGS } from "../../src/hostnet/snapshot.ts";
import { routeTo } from "../../src/hostnet/route-to.ts";
import type { DesiredLink } from "../../src/hostnet/desired-link.ts";
import { createNamespaces, ip, ipJson, type TestNamespaces } from "../support/namespaces.ts";

const signal = AbortSignal.timeout(600_000);
let namespaces: TestNamespaces;
let node: NetworkNamespaces;
let host: string;
let router: string;

beforeEach(() => {
  namespaces = createNamespaces(2);
  [host = "", router = ""] = namespaces.names;
  node = { host, router };
});

afterEach(() => namespaces.remove());

/** Reads a setting of the router's namespace, or writes it. */
const setting = (name: string, value?: string) => {
  const script = value === undefined ? `cat /proc/sys/net/ipv4/conf/${name}` : `echo ${value} > /proc/sys/net/ipv4/conf/${name}`;
  return execFileSync("ip", ["netns", "exec", router, "sh", "-c", script], { encoding: "utf8" }).trim();
};

const owner = "L2VNI/red";
const bridge = (name: string, fields: Partial<DesiredLink> = {}) =>
  ({ netns: "router", name, type: "bridge", owner, ...fields }) as DesiredLink;
const names = (namespace: string) => (ipJson(namespace, "link") as { ifname: string }[]).map(({ ifname }) => ifname);

const routes = (namespace: string, ...args: string[]) => execFileSync("ip", ["-n", namespace, ...args], { encoding: "utf8" }).split("\n");
const state = (namespace: string) => {
  const [link] = ipJson(namespace, "addr show dev eth7") as { addr_info: { local: string; prefixlen: number }[] }[];
  return {
    addresses: link?.addr_info.map(({ local, prefixlen }) => `${local}/${prefixlen}`),
    routes: [...routes(namespace, "route"), ...routes(namespace, "-6", "route", "show", "dev", "eth7")].toSorted(),
  };
};

describe("a foreign change of our link", () => {
  const vxlan: DesiredLink = {
    netns: "router",
    name: "vni7",
    type: "vxlan",
    owner,
    vni: 7,
    port: 4789,
    local: "10.255.0.1",
    device: "lo",
    master: "b1",
  };
  const wanted = [bridge("b1"), vxlan];
  const applyAgain = async () => {
    await using pass = await LinkApplier.open(node, signal);
    return pass.apply(wanted);
  };

  test.for([
    "link set dev vni7 type bridge_slave learning on",
    "link set dev vni7 type bridge_slave neigh_suppress off",
    "link set dev vni7 type bridge_slave flood off mcast_flood off bcast_flood off",
    "link set dev vni7 type bridge_slave isolated on",
    "link set dev vni7 type bridge_slave hairpin on",
    "link set dev vni7 type bridge_slave guard on",
    "link set dev vni7 type bridge_slave state 2",
    "link set dev b1 type bridge stp_state 1",
    "link set dev b1 arp off",
    "link set dev b1 multicast off",
  ])("ip %s is reverted once", async (change) => {
    await applyAgain();
    await applyAgain();
    const settings = () =>
      (ipJson(router, "-d link") as { flags: string[]; linkinfo?: { info_slave_data?: object; info_data?: object } }[]).map((link) => [
        link.flags,
        pick(link.linkinfo?.info_slave_data ?? {}, ["state", ...PORT_FLAGS]),
        pick(link.linkinfo?.info_data ?? {}, ["vlan_filtering", "stp_state"]),
      ]);
    const before = settings();
    ip(router, change);
    expect(settings()).not.toEqual(before);
    expect(await applyAgain()).toEqual({ changed: 1 });
    expect(settings()).toEqual(before);
    expect(await applyAgain()).toEqual({ changed: 0 });
  });
});

function pick(all: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
}

describe("a rejection", () => {
  test("has the kernel's message and the link, and ends the step", async () => {
    await using pass = await LinkApplier.open(node, signal);
    const { rejected } = await pass.apply([bridge("b1"), bridge("b2", { mtu: 999_999 }), bridge("b3")]);
    expect(rejected).toBeInstanceOf(KernelError);
    expect(rejected).toMatchObject({
      code: "Rejected",
      message: "b2: Error: mtu greater than device maximum.",
      text: "Error: mtu greater than device maximum.",
      link: "b2",
      namespace: router,
      command: `ip -n ${router} link add name b2 group 7017 mtu 999999 type bridge`,
    });
    expect(names(router)).toEqual(["lo", "b1"]);
    expect([...pass.have.router.keys()]).toEqual(["lo", "b1"]);
  });

  test("does not affect the next step of the pass", async () => {
    await using pass = await LinkApplier.open(node, signal);
    await pass.apply([bridge("b1", { mtu: 999_999 })]);
    expect(await pass.apply([bridge("b1")])).toEqual({ changed: 2 });
    expect(await pass.remove([{ netns: "router", name: "b1" }])).toEqual({ changed: 1 });
    expect(names(router)).toEqual(["lo"]);
  });

  test("with a name that is in use changes nothing in either namespace", async () => {
    ip(router, "link add pe-100 type bridge", "addr add 192.0.2.1/24 dev pe-100");
    const before = ipJson(router, "addr show dev pe-100");
    const legs: DesiredLink[] = [
      { netns: "host", name: "host-100", type: "veth", owner, peer: { netns: "router", name: "pe-100" } },
      { netns: "router", name: "pe-100", type: "veth", owner, peer: { netns: "host", name: "host-100" } },
    ];
    await using pass = await LinkApplier.open(node, signal);
    const { changed, rejected } = await pass.apply([bridge("b1"), ...legs]);
    expect(changed).toBe(0);
    expect(rejected?.message).toBe("pe-100: a link with this name already exists and was not created by plumbline");
    expect(await pass.remove(legs)).toEqual({ changed: 0 });
    expect(names(host)).toEqual(["lo"]);
    expect(ipJson(router, "addr show dev pe-100")).toEqual(before);
  });

  test("of a link that vanished meanwhile updates the snapshot of the pass", async () => {
    await using pass = await LinkApplier.open(node, signal);
    await pass.apply([bridge("b1")]);
    ip(router, "link del dev b1");
    const { rejected } = await pass.apply([bridge("b1", { mtu: 1400 })]);
    expect(rejected?.message).toMatch(/^b1: /);
    expect(pass.have.router.has("b1")).toBe(false);
    expect(await pass.apply([bridge("b1", { mtu: 1400 })])).toEqual({ changed: 2 });
  });
});

describe("an interface of the node", () => {
  const nic: DesiredLink = { netns: "router", name: "eth7", type: "nic", owner: "Underlay/u" };
  beforeEach(() => {
    ip(
      host,
      "link add eth7 type veth peer name wire",
      "link set wire up",
      'link set eth7 alias "uplink of rack 7" mtu 1600 up',
      "addr add 192.0.2.5/24 dev eth7",
      "addr add 192.0.2.6/24 dev eth7",
      "addr add 198.51.100.1/32 dev eth7",
      "addr add 2001:db8::5/64 dev eth7 nodad",
      "route add default via 192.0.2.1 src 192.0.2.6 metric 9 mtu 1300 proto static",
      "route add 10.7.0.0/16 dev eth7",
      "route add 10.8.0.0/16 nexthop via 192.0.2.3 weight 2 nexthop via 192.0.2.4",
      "route add 10.9.0.0/16 via 203.0.113.1 dev eth7 onlink",
      "route add ::/0 via fe80::1 dev eth7",
      "route add 2001:db8:7::/48 via 2001:db8::1",
    );
  });

  test("moves with its addresses and routes, and back unchanged", async () => {
    const before = state(host);
    {
      await using pass = await LinkApplier.open(node, signal);
      expect(await pass.apply([nic])).not.toHaveProperty("refused");
      expect(await pass.apply([nic])).toEqual({ changed: 0 });
      expect(pass.have.router.get("eth7")).toMatchObject({ alias: "plumbline:Underlay/u moved was uplink of rack 7", mtu: 1600, up: true });
    }
    expect(names(host)).toEqual(["lo", "wire"]);
    expect(state(router)).toEqual(before);
    ip(router, "route add 10.99.0.0/16 via 192.0.2.9 proto bgp");
    {
      await using pass = await LinkApplier.open(node, signal);
      expect(await pass.apply([nic])).toEqual({ changed: 0 });
      expect(await pass.remove([nic])).not.toHaveProperty("refused");
      expect(pass.have.router.has("eth7")).toBe(false);
      expect(pass.have.host.get("eth7")).toMatchObject({ alias: "uplink of rack 7", mtu: 1600, up: true });
    }
    expect(state(host)).toEqual(before);
  });

  test("moves there and back within one pass, as in a rollback", async () => {
    const before = state(host);
    await using pass = await LinkApplier.open(node, signal);
    await pass.apply([nic]);
    await pass.remove([nic]);
    await pass.apply([nic]);
    expect(state(router)).toEqual(before);
    expect(await pass.remove([nic])).not.toHaveProperty("refused");
    expect(state(host)).toEqual(before);
  });

  test("whose routes are rejected moves back with its addresses and routes", async () => {
    ip(
      host,
      "addr add 198.51.100.77/32 dev lo",
      "route add 10.10.0.0/16 via 192.0.2.1 src 198.51.100.77",
      "route add 10.11.0.0/16 via 192.0.2.1",
    );
    const before = state(host);
    await using pass = await LinkApplier.open(node, signal);
    const { rejected } = await pass.apply([nic]);
    expect(rejected).toMatchObject({ link: "eth7", text: expect.stringContaining("nvalid") as string });
    expect(await pass.remove([nic])).not.toHaveProperty("refused");
    expect(state(host)).toEqual(before);
  });

  test("that was already in the router's namespace is set up and stays", async () => {
    ip(host, `link set eth7 netns ${router}`);
    await using pass = await LinkApplier.open(node, signal);
    expect(await pass.apply([nic])).toEqual({ changed: 1 });
    expect(await pass.remove([nic])).toEqual({ changed: 0 });
    expect(names(router)).toEqual(["lo", "eth7"]);
  });

  test("that does not exist is rejected", async () => {
    await using pass = await LinkApplier.open(node, signal);
    const { rejected } = await pass.apply([{ ...nic, name: "eth8" }]);
    expect(rejected?.text).toBe("Interface eth8 not present on node");
  });
});

describe("the own namespace", () => {
  test("is the host's if none is named", async () => {
    const own: DesiredLink[] = [
      { netns: "host", name: `plt${router.slice(3, 9)}`, type: "veth", owner, peer: { netns: "router", name: "pe-1" } },
      { netns: "router", name: "pe-1", type: "veth", owner, peer: { netns: "host", name: `plt${router.slice(3, 9)}` } },
    ];
    await using pass = await LinkApplier.open({ router }, signal);
    try {
      expect(await pass.apply(own.toReversed())).not.toHaveProperty("refused");
      expect(await pass.apply(own)).toEqual({ changed: 0 });
    } finally {
      expect(await pass.remove(own)).toEqual({ changed: 1 });
    }
    expect(names(router)).toEqual(["lo"]);
  });
});

describe("a namespace", () => {
  test("is created once, with its loopback up, also by two concurrent callers", async () => {
    const name = `${router}n`;
    try {
      await Promise.all([ensureNamespace(name, signal), ensureNamespace(name, signal)]);
      await ensureNamespace(name, signal);
      expect((ipJson(name, "link show dev lo") as { flags: string[] }[])[0]?.flags).toContain("UP");
    } finally {
      execFileSync("ip", ["netns", "del", name]);
    }
  });

  test("that exists gets its loopback up, and its settings under an old name", async () => {
    const name = `${router}l`;
    const wanted = { "net/ipv4/conf/all/arp_accept": "1" };
    const settings = async () => {
      await using pass = await LinkApplier.open({ host, router: name }, signal);
      return (await pass.sysctls(wanted, "router")).changed;
    };
    try {
      let number = 0;
      for (const round of [1, 2]) {
        number = await addedAs(name, number);
        await ensureNamespace(name, signal);
        await raiseLoopback(name, signal);
        expect((ipJson(name, "link show dev lo") as { flags: string[] }[])[0]?.flags).toContain("UP");
        expect([await settings(), await settings()]).toEqual([Object.keys(wanted), []]);
        if (round === 1) execFileSync("ip", ["netns", "del", name]);
      }
    } finally {
      execFileSync("ip", ["netns", "del", name]);
    }
  });

  test("that cannot be entered reports the reason", async () => {
    const missing = `${router}m`;
    await expect(LinkApplier.open({ host, router: missing }, signal)).rejects.toMatchObject({
      code: "Unreachable",
      namespace: missing,
      message: `Cannot open network namespace "${missing}": No such file or directory`,
    });
    await expect(routeTo("192.0.2.1", missing, signal)).rejects.toMatchObject({ code: "Unreachable" });
  });

  test("that is only a file is reported as not enterable, and is not replaced", async () => {
    const name = `${router}f`;
    execFileSync("touch", [`/run/netns/${name}`]);
    try {
      await expect(ensureNamespace(name, signal)).rejects.toMatchObject({
        code: "Unreachable",
        text: expect.stringContaining("Invalid argument") as string,
      });
    } finally {
      execFileSync("rm", [`/run/netns/${name}`]);
    }
  });

  test("gets only settings that differ, and reports those that the kernel lacks", async () => {
    await using pass = await LinkApplier.open(node, signal);
    const wanted = { "net/ipv4/conf/all/forwarding": "1", "net/ipv4/conf/all/arp_accept": "1", "net/ipv4/conf/all/nosuch": "1" };
    expect(await pass.sysctls(wanted, "router")).toEqual({
      changed: ["net/ipv4/conf/all/forwarding", "net/ipv4/conf/all/arp_accept"],
      missing: ["net/ipv4/conf/all/nosuch"],
      unwritable: new Map(),
    });
    expect(await pass.sysctls(wanted, "router")).toMatchObject({ changed: [], missing: ["net/ipv4/conf/all/nosuch"] });
    expect(setting("all/forwarding")).toBe("1");
    await expect(pass.sysctls({ "net/ipv4/conf/all/forwarding": "many" }, "router")).rejects.toMatchObject({ code: "Rejected" });
  });

  test("gets a changed setting again, and keeps another accepted value", async () => {
    await using pass = await LinkApplier.open(node, signal);
    const wanted = { "net/ipv4/conf/all/forwarding": "1", "net/ipv4/conf/all/rp_filter": "0|2" };
    await pass.sysctls(wanted, "router");
    setting("all/forwarding", "0");
    setting("all/rp_filter", "1");
    expect(await pass.sysctls(wanted, "router")).toMatchObject({ changed: Object.keys(wanted) });
    expect([setting("all/forwarding"), setting("all/rp_filter")]).toEqual(["1", "0"]);
    setting("all/rp_filter", "2");
    expect(await pass.sysctls(wanted, "router")).toMatchObject({ changed: [] });
    expect(setting("all/rp_filter")).toBe("2");
  });

  test("reports a setting that cannot be written with its value, and gets the others", async () => {
    await using pass = await LinkApplier.open(node, signal);
    const wanted = { "net/ipv4/conf/all/mc_forwarding": "1", "net/ipv4/conf/all/forwarding": "1" };
    expect(await pass.sysctls(wanted, "router")).toEqual({
      changed: ["net/ipv4/conf/all/forwarding"],
      missing: [],
      unwritable: new Map([["net/ipv4/conf/all/mc_forwarding", "0"]]),
    });
  });
});

test("addrgenmode is read again after a new link or a change of ours", async () => {
  const modes = new AddressModes();
  const modeOf = async (link: string) => {
    await using pass = await LinkApplier.open(node, signal, modes);
    return pass.have.router.get(link)?.addrGenMode;
  };
  ip(router, "link add br-a type bridge");
  expect(await modeOf("br-a")).toBe("eui64");
  ip(router, "link set br-a addrgenmode none");
  expect(await modeOf("br-a")).toBe("eui64");
  ip(router, "link add br-b type bridge");
  expect([await modeOf("br-a"), await modeOf("br-b")]).toEqual(["none", "eui64"]);

  ip(router, "link set br-a addrgenmode eui64");
  {
    await using pass = await LinkApplier.open(node, signal, modes);
    expect(pass.have.router.get("br-a")?.addrGenMode).toBe("none");
    await pass.apply([{ type: "bridge", netns: "router", name: "br-c", owner: "L2VNI/c" }]);
  }
  expect(await modeOf("br-a")).toBe("eui64");
});

test("finds the interface of the route to an address", async () => {
  ip(host, "link add up0 type bridge", "addr add 192.0.2.5/24 dev up0", "link set up0 up", "route add 10.0.0.0/8 via 192.0.2.1");
  expect(await routeTo("10.1.2.3", host, signal)).toEqual({ device: "up0", source: "192.0.2.5", gateway: "192.0.2.1" });
  expect(await routeTo("192.0.2.9", host, signal)).toEqual({ device: "up0", source: "192.0.2.5" });
  expect(await routeTo("203.0.113.1", host, signal)).toBeUndefined();
});

test("announces addresses to listeners again without changing them", async () => {
  await using pass = await LinkApplier.open(node, signal);
  await pass.apply([bridge("b1", { addresses: ["192.0.2.1/24", "2001:db8::1/64"] })]);
  const addresses = () => (ipJson(router, "addr show dev b1") as { addr_info: unknown }[])[0]?.addr_info;
  const before = addresses();

  const monitor = spawn("ip", ["-n", router, "monitor", "address"]);
  let heard = "";
  monitor.stdout.setEncoding("utf8").on("data", (chunk: string) => (heard += chunk));
  await vi.waitFor(async () => {
    await pass.announce("router", [
      { link: "b1", address: "192.0.2.1/24" },
      { link: "b1", address: "2001:db8::1/64" },
    ]);
    expect(heard).toContain("inet 192.0.2.1/24");
    expect(heard).toContain("inet6 2001:db8::1/64");
  }, 300_000);
  monitor.kill("SIGKILL");
  expect(heard).not.toContain("Deleted");
  expect(addresses()).toEqual(before);
});

test("does not add an address that was removed since the links were read", async () => {
  await using pass = await LinkApplier.open(node, signal);
  await pass.apply([bridge("b1", { addresses: ["192.0.2.1/24", "192.0.2.2/24"] })]);
  ip(router, "addr del 192.0.2.2/24 dev b1");
  await pass.announce("router", [
    { link: "b1", address: "192.0.2.1/24" },
    { link: "b1", address: "192.0.2.2/24" },
  ]);
  const [b1] = ipJson(router, "addr show dev b1") as { addr_info: { family: string; local: string }[] }[];
  expect(b1?.addr_info.filter(({ family }) => family === "inet").map(({ local }) => local)).toEqual(["192.0.2.1"]);
});

/** Adds a namespace, with the number of one that is gone where one is given: the kernel gives it away once it is done with that one. */
async function addedAs(name: string, number: number): Promise<number> {
  for (let tries = 0; ; tries++) {
    execFileSync("ip", ["netns", "add", name]);
    const { ino } = statSync(join("/run/netns", name));
    if (number === 0 || ino === number || tries === 20) return ino;
    execFileSync("ip", ["netns", "del", name]);
    await setTimeout(50);
  }
}
