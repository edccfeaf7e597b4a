import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readLinks } from "../../src/hostnet/snapshot.ts";
import { createLog } from "../../src/kube/log.ts";
import { sharedKey } from "../../src/kube/members/shared-key.ts";
import type { SigningKey } from "../../src/kube/members/signing-key.ts";
import { OverlayProber, type LocalVni, type ProbePeer } from "../../src/router/probes/prober.ts";
import { overlayReport, type OverlayReport } from "../../src/router/probes/report-overlay.ts";
import { absentVteps, lackingRoutes } from "../../src/router/absent-vteps.ts";
import { repairFloodEntries } from "../../src/router/overlay.ts";
import { createNamespaces, ip, type TestNamespaces } from "../support/namespaces.ts";

const VNIS = [110, 111];
const COUNT = 3;
/** A fault shows after one interval and three losses; a busy machine takes longer. */
const EVENTUALLY = { timeout: 120_000, interval: 500 };

let namespaces: TestNamespaces;
let nodes: { netns: string; prober: OverlayProber }[];
/** Everything that a node has reported to fail, in order. */
let history: string[][][];
/** By node, the peers whose EVPN routes it lacks, by VNI. */
let lacking: ReadonlyMap<number, readonly number[]>[];
/** The VNIs that are routed; in each of them the nodes that announce prefixes. */
let announcing: ReadonlyMap<number, readonly number[]>;
/** The router MACs that FRR of each node knows, by VTEP. */
let routerMacs: ReadonlyMap<string, string>[];
let absent: ReturnType<typeof absentVteps>[];
let stops: AbortController[];
let running: Promise<void>[];
let keys: readonly SigningKey[];

const vtep = (index: number) => `192.0.2.${index + 1}`;
const bridge = (netns: string, ...args: string[]) => execFileSync("bridge", ["-n", netns, ...args], { encoding: "utf8" });
const report = (index: number): OverlayReport | undefined => {
  const found = nodes[index]?.prober.report;
  return found && overlayReport(found);
};
const failing = (index: number) =>
  report(index)?.failing.map(({ node, reason, vnis }) => [node, reason, ...(vnis === undefined ? [] : [vnis])].join(" "));
const healthy = { failing: [], unknown: 0 };

beforeEach(async () => {
  namespaces = createNamespaces(COUNT + 1);
  const [fabric = "", ...names] = namespaces.names;
  ip(fabric, "link add sw type bridge");
  ip(fabric, "link set sw up");
  for (const [index, netns] of names.entries()) {
    ip(fabric, `link add p${index} type veth peer name eth0 netns ${netns}`);
    ip(fabric, `link set p${index} master sw mtu 1600 up`);
    ip(netns, "link set lo up");
    ip(netns, "link set eth0 mtu 1600 up");
    ip(netns, `addr add ${vtep(index)}/24 dev eth0`);
    for (const vni of VNIS) {
      makeVni(index, netns, vni);
    }
  }
  keys = names.map(signingKey);
  history = names.map(() => []);
  lacking = [];
  announcing = new Map();
  routerMacs = [];
  absent = [];
  nodes = names.map((netns, index) => ({ netns, prober: proberOf(index, netns) }));
  stops = nodes.map(() => new AbortController());
  running = nodes.map(({ prober }, index) => prober.run(stops[index]?.signal ?? AbortSignal.abort()));
});

afterEach(async () => {
  for (const stop of stops) stop.abort();
  await Promise.all(running);
  await namespaces.remove();
});

/** What arrives on a link from now on, in hexadecimal. */
async function framesOn(netns: string, link: string, seconds: number): Promise<string[]> {
  const script = `
import socket, sys, time
tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
tap.bind((sys.argv[1], 0))
end = time.monotonic() + int(sys.argv[2])
while time.monotonic() < end:
    tap.settimeout(max(0.001, end - time.monotonic()))
    try:
        frame, address = tap.recvfrom(2048)
    except TimeoutError:
        break
    if address[2] != 4:
        print(frame[:64].hex())
`;
  const { stdout } = await promisify(execFile)("ip", ["netns", "exec", netns, "python3", "-I", "-S", "-c", script, link, `${seconds}`]);
  return stdout.split("\n").filter(Boolean);
}

/** Of the programs that run in the namespace now, those of Python. */
function probeProcesses(netns: string): number[] {
  const pids = execFileSync("ip", ["netns", "pids", netns], { encoding: "utf8" }).split("\n").filter(Boolean);
  const names = pids.map(
    (pid) => [Number(pid), execFileSync("sh", ["-c", `cat /proc/${pid}/comm || true`], { encoding: "utf8" })] as const,
  );
  return names.flatMap(([pid, name]) => (name.startsWith("python3") ? [pid] : []));
}

/** As the router makes it: the gateway's MAC is the same on every node. */
function makeVni(index: number, netns: string, vni: number): void {
  ip(netns, `link add br-pe-${vni} address 00:f3:00:00:00:${vni.toString(16)} mtu 1500 type bridge`);
  ip(netns, `link add vni${vni} mtu 1500 type vxlan id ${vni} dstport 4789 local ${vtep(index)} nolearning`);
  for (const link of [`br-pe-${vni}`, `vni${vni}`]) ip(netns, `link set ${link} addrgenmode none`);
  ip(netns, `link set vni${vni} master br-pe-${vni} up`);
  ip(netns, `link set br-pe-${vni} up`);
  bridge(netns, "link", "set", "dev", `vni${vni}`, "neigh_suppress", "on", "learning", "off");
  for (let other = 0; other < COUNT; other++) {
    if (other !== index) bridge(netns, "fdb", "append", "00:00:00:00:00:00", "dev", `vni${vni}`, "dst", vtep(other), "self", "permanent");
  }
}

/** An agent that restarts; `meanwhile` runs while it is down. */
async function restart(index: number, meanwhile: () => Promise<void>): Promise<void> {
  stops[index]?.abort();
  await running[index];
  await meanwhile();
  const { netns = "" } = nodes[index] ?? {};
  const prober = proberOf(index, netns);
  nodes[index] = { netns, prober };
  const stop = (stops[index] = new AbortController());
  running[index] = prober.run(stop.signal);
}

function proberOf(index: number, netns: string): OverlayProber {
  return new OverlayProber({
    netns,
    log: createLog({ level: process.env["PROBE_LOG"] ? "info" : "silent" }),
    onChange: () => history[index]?.push(failing(index) ?? []),
    onDropped: () => {},
    async observe(exportsOf, signal) {
      const links = await readLinks(netns, signal);
      const vnis = VNIS.flatMap((vni): LocalVni[] => {
        const link = links.get(`br-pe-${vni}`);
        return link
          ? [
              {
                vni,
                ...(announcing.has(vni) ? { type: "L3", imports: 7 } : { type: "L2" }),
                bridge: link.name,
                vxlan: `vni${vni}`,
                devices: `${link.index} ${links.get(`vni${vni}`)?.index}`,
                mtu: link.mtu,
              },
            ]
          : [];
      });
      const own = keys[index];
      const peers = keys.flatMap((key, other): [number, ProbePeer][] =>
        other === index || !own
          ? []
          : [[other, { node: `node${other}`, vtep: vtep(other), key: sharedKey(own, key.publicKey, "probe"), isLive: true }]],
      );
      const members = new Map(VNIS.map((vni) => [vni, keys.map((_, at) => at)]));
      const macOf = (_vni: number, at: string) => routerMacs[index]?.get(at);
      const inputs = { index, vtep: vtep(index), vnis, peers: new Map(peers), members, routerMac: macOf };
      const vteps = new Map(VNIS.map((vni) => [vni, keys.map((_, at) => vtep(at))]));
      absent[index] = absentVteps({ ...inputs, isConnected: true, exportsOf }, vteps, absent[index] ?? new Map());
      return {
        ...inputs,
        lacking: new Map([...lackingRoutes(absent[index]), ...(lacking[index] ?? [])]),
        exports: new Map([...announcing].flatMap(([vni, by]) => (by.includes(index) ? [[vni, 7]] : []))),
      };
    },
  });
}

function signingKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return { privateKey, publicKey: Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url").toString("base64") };
}

const allAnswered = () =>
  vi.waitFor(() => {
    for (const index of nodes.keys()) expect(report(index)).toMatchObject(healthy);
  }, EVENTUALLY);

describe("probes of three nodes with two VNIs", () => {
  test("are answered in every VNI, and reach no other port of the bridge", async () => {
    // What tenants of node2 would see.
    const tenant = nodes[2]?.netns ?? "";
    ip(tenant, "link add tenant type veth peer name leg");
    for (const link of ["tenant", "leg"]) ip(tenant, `link set ${link} addrgenmode none`);
    ip(tenant, "link set leg master br-pe-110 up");
    ip(tenant, "link set tenant up");
    await allAnswered();
    expect(report(0)?.probed).toBe(2 * VNIS.length + 2 * 2);
    // To multicast groups of IPv6 the kernel of each bridge reports by itself.
    expect((await framesOn(tenant, "tenant", 11)).filter((frame) => !frame.startsWith("3333"))).toEqual([]);
  });

  test("that VXLAN loses on one node are reported by it and by the others, with node and VNIs", async () => {
    await allAnswered();
    const { netns = "" } = nodes[1] ?? {};
    ip(netns, "rule add pref 10 ipproto udp dport 4789 blackhole");
    await vi.waitFor(() => {
      expect(failing(1)).toEqual(["node0 NoAnswerInVNI 110-111", "node2 NoAnswerInVNI 110-111"]);
      expect(failing(0)).toEqual(["node1 NoAnswerInVNI 110-111"]);
      expect(failing(2)).toEqual(["node1 NoAnswerInVNI 110-111"]);
    }, EVENTUALLY);
    ip(netns, "rule del pref 10");
    await allAnswered();
  });

  test("fail in one VNI alone where only that one is broken", async () => {
    await allAnswered();
    ip(nodes[1]?.netns ?? "", "link set vni111 nomaster");
    await vi.waitFor(() => {
      expect(failing(0)).toEqual(["node1 NoAnswerInVNI 111"]);
      expect(failing(2)).toEqual(["node1 NoAnswerInVNI 111"]);
    }, EVENTUALLY);
  });

  test("tell a node that others lack its EVPN routes, until they have them", async () => {
    await allAnswered();
    for (const index of [0, 2]) lacking[index] = new Map([[110, [1]]]);
    await vi.waitFor(() => {
      expect(failing(1)).toEqual(["node0 NoEVPNRoute 110", "node2 NoEVPNRoute 110"]);
      expect(failing(0)).toEqual(["node1 NoEVPNRoute 110"]);
      expect(failing(2)).toEqual(["node1 NoEVPNRoute 110"]);
    }, EVENTUALLY);
    lacking = [];
    await allAnswered();
  });

  test("tell loss from a dead VNI, and name all lossy paths in the first report", async () => {
    await allAnswered();
    for (const reports of history) reports.length = 0;
    const { netns = "" } = nodes[1] ?? {};
    const chain = "add table ip loss; add chain ip loss in { type filter hook prerouting priority 0 ; }";
    execFileSync("ip", ["netns", "exec", netns, "nft", `${chain}; add rule ip loss in numgen random mod 10 < 3 drop`]);
    const wanted = [["node1 Loss"], ["node0 Loss", "node2 Loss"], ["node1 Loss"]];
    await vi.waitFor(() => expect(nodes.map((_, index) => failing(index))).toEqual(wanted), EVENTUALLY);
    for (const [index, reports] of history.entries()) for (const report of reports) expect([[], wanted[index]]).toContainEqual(report);
    execFileSync("ip", ["netns", "exec", netns, "nft", "delete table ip loss"]);
    await allAnswered();
  });

  test("tell a small MTU from a dead path", async () => {
    await allAnswered();
    ip(namespaces.names[0] ?? "", "link set p1 mtu 1400");
    await vi.waitFor(() => {
      expect(failing(0)).toEqual(["node1 TooLarge"]);
      expect(report(0)?.failing[0]?.message).toBe(
        "Packets of 1500 bytes do not pass to node1, 1350 bytes pass: the MTU of the underlay is too small",
      );
    }, EVENTUALLY);
  });

  test("are not observed on the underlay while another program has the probe port, and are once it has left", async () => {
    await allAnswered();
    const { netns = "" } = nodes[1] ?? {};
    const script = `import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(("${vtep(1)}", 47890))\nprint(flush=True)\ntime.sleep(600)`;
    let other: ChildProcess | undefined;
    await restart(1, async () => {
      other = spawn("ip", ["netns", "exec", netns, "python3", "-c", script], { stdio: ["ignore", "pipe", "inherit"] });
      await once(other.stdout ?? other, "data");
    });
    await vi.waitFor(() => expect(report(1)).toMatchObject({ failing: [], pending: 0, unknown: 2 * 2 }), EVENTUALLY);
    expect(failing(0)).toEqual([]);
    other?.kill();
    await allAnswered();
  });

  test("are answered again at once after bridge and VXLAN device of a VNI were made anew", async () => {
    await allAnswered();
    for (const reports of history) reports.length = 0;
    const { netns = "", prober } = nodes[1] ?? {};
    ip(netns, "link del vni111", "link del br-pe-111");
    makeVni(1, netns, 111);
    // The agent hears of it from the kernel.
    prober?.refresh();
    const intervals = performance.now() + 25_000;
    await vi.waitFor(() => expect(performance.now()).toBeGreaterThan(intervals), EVENTUALLY);
    expect(history.flat(2)).toEqual([]);
    expect(nodes.map((_, index) => failing(index))).toEqual([[], [], []]);
  });

  test("go on with another process after the one that sends and answers them hangs", async () => {
    await allAnswered();
    const { netns = "" } = nodes[1] ?? {};
    const [hung = 0, ...more] = probeProcesses(netns);
    expect(more).toEqual([]);
    process.kill(hung, "SIGSTOP");
    await vi.waitFor(() => {
      const [pid] = probeProcesses(netns);
      expect(pid).toBeDefined();
      expect(pid).not.toBe(hung);
    }, EVENTUALLY);
    await allAnswered();
  });

  test("report a node that does not answer at all", async () => {
    await allAnswered();
    ip(namespaces.names[0] ?? "", "link set p1 down");
    await vi.waitFor(() => {
      expect(failing(0)).toEqual(["node1 NoPath"]);
      expect(failing(1)).toEqual(["node0 NoPath", "node2 NoPath"]);
    }, EVENTUALLY);
  });
});

const routerMac = (index: number) => `02:00:00:00:01:0${index}`;

const leadTo = (index: number, other: number, at: string) => {
  const entry = ["fdb", "replace", routerMac(other), "dev", "vni111"];
  bridge(nodes[index]?.netns ?? "", ...entry, "dst", at, "self", "static");
  bridge(nodes[index]?.netns ?? "", ...entry, "master", "static");
};

describe("probes of three nodes with an L3VNI", () => {
  beforeEach(() => {
    announcing = new Map([[111, [0, 1, 2]]]);
    const macs = new Map(keys.map((_, index) => [vtep(index), routerMac(index)]));
    routerMacs = keys.map(() => macs);
    for (const [index, { netns, prober }] of nodes.entries()) {
      ip(netns, `link set br-pe-111 address ${routerMac(index)}`);
      for (const other of nodes.keys()) if (other !== index) leadTo(index, other, vtep(other));
      prober.refresh();
    }
  });

  test("take the way of routed packets", async () => {
    await allAnswered();
    leadTo(0, 1, "192.0.2.99");
    await vi.waitFor(() => {
      expect(failing(0)).toEqual(["node1 NoAnswerInVNI 111"]);
      expect(failing(2)).toEqual([]);
    }, EVENTUALLY);
    leadTo(0, 1, vtep(1));
    await allAnswered();
  });

  test("are answered without a router MAC, and say that it is missing while the peer announces prefixes", async () => {
    await allAnswered();
    routerMacs = routerMacs.map((macs, index) => (index === 0 ? new Map([...macs].filter(([at]) => at !== vtep(1))) : macs));
    await vi.waitFor(() => {
      expect(failing(0)).toEqual(["node1 NoRouterMAC 111"]);
      expect(failing(1)).toEqual(["node0 NoRouterMAC 111"]);
      expect(failing(2)).toEqual([]);
    }, EVENTUALLY);
    announcing = new Map([[111, [0, 2]]]);
    await allAnswered();
  });
});

test("flood entries that the kernel lost are added again, and no others", async () => {
  const { netns = "" } = nodes[0] ?? {};
  const entries = () =>
    bridge(netns, "fdb", "show", "dev", "vni110")
      .split("\n")
      .filter((line) => line.startsWith("00:00:00:00:00:00"))
      .toSorted();
  const before = entries();
  const lists = [{ vxlan: "vni110", vteps: [vtep(1), vtep(2)] }];
  expect(await repairFloodEntries(netns, lists, AbortSignal.timeout(60_000))).toEqual([]);
  bridge(netns, "fdb", "del", "00:00:00:00:00:00", "dev", "vni110", "dst", vtep(2), "self");
  expect(entries()).not.toEqual(before);
  expect(await repairFloodEntries(netns, lists, AbortSignal.timeout(60_000))).toEqual([`vni110 ${vtep(2)}`]);
  expect(entries()).toEqual(before);
});
