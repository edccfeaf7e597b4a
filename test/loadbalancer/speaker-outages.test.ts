import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessAs } from "../../lab/kube/identities.ts";
import { Event } from "../../src/api/core/event.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../src/api/metallb/l2-advertisement.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../src/api/metallb/service-l2-status.ts";
import type { Condition, Kind, KubeObject } from "../../src/api/kind.ts";
import { startController } from "../support/controller.ts";
import { eventually, METALLB, SpeakerCluster } from "../support/speaker-cluster.ts";

// What works without the agent, without FRR and without the API server, and what is reported meanwhile.

type Reported = KubeObject & { status?: { conditions?: Condition[] } };
type Reference = [Kind<Reported>, string, string];
const { signal } = new AbortController();
let cluster: SpeakerCluster;

beforeAll(async () => {
  cluster = await SpeakerCluster.start("lb-outages", 1);
  await cluster.greet();
  await cluster.create(BGPPeer, "tor", { myASN: 64513, peerASN: 64512, peerAddress: "192.168.50.1", connectTime: "1s" });
  await cluster.create(IPAddressPool, "pool", { addresses: ["10.20.0.0/24", "192.168.50.128/25"] });
  await cluster.create(BGPAdvertisement, "ad");
  await cluster.create(L2Advertisement, "ad");
  cluster.node(0).startAgent();
  await cluster.service("web", { ip: "10.20.0.1" });
  await cluster.service("near", { ip: "192.168.50.200" });
});
afterAll(() => cluster.stop());

const node = () => cluster.node(0);
const holds = async (ip: string) => (await node().ip("-o", "addr", "show")).includes(`${ip}/32`);
const announced = async () => (await cluster.show("bgp ipv4 unicast")).includes("10.20.0.1/32");
const goesOn = () => eventually(async () => expect([await announced(), await holds("192.168.50.200")]).toEqual([true, true]));
const session = async () => (await cluster.get(BGPSessionStatus, "worker0-tor"))?.status?.bgpStatus;

test("both Services are announced", async () => {
  await goesOn();
  await eventually(async () => expect(await session()).toBe("Established"));
});

test("an agent that gets SIGTERM leaves sessions as they are, and addresses for two minutes", async () => {
  const since = (await cluster.get(BGPSessionStatus, "worker0-tor"))?.status?.since;
  await node().stopAgent();
  await goesOn();
  const [, seconds = "0"] = /192\.168\.50\.200\/32.*\n?.*valid_lft (\d+)sec/.exec(await node().ip("addr", "show")) ?? [];
  expect(Number(seconds)).toBeGreaterThan(60);
  node().startAgent();
  await eventually(async () => expect(await session()).toBe("Established"));
  expect((await cluster.get(BGPSessionStatus, "worker0-tor"))?.status?.since).toBe(since);
});

test("an agent stopped right after an announcement leaves it in the boot file for restarted daemons", async () => {
  await cluster.service("last", { ip: "10.20.0.2" });
  await eventually(async () => expect(await node().vtysh("show running-config")).toContain("network 10.20.0.2/32"));
  await node().stopAgent();
  expect(await readFile(node().frr.bootFile, "utf8")).toContain("network 10.20.0.2/32");
  node().startAgent();
});

test("a state directory that cannot be written affects no announcement, and is reported until it can be", async () => {
  const condition = async () => (await cluster.get(ConfigurationState, "speaker-worker0"))?.status?.conditions?.[0];
  const stateEvents = async () => {
    const { items } = await cluster.client.resource(Event).list({ namespace: METALLB, signal });
    return items.filter(({ reason = "" }) => /^State(FileError|Usable)$/.test(reason)).map(({ reason, count = 1 }) => `${count} ${reason}`);
  };
  await eventually(async () => expect((await condition())?.reason).toBe("ConfigurationValid"));
  // A root user may write wherever a file can be.
  const inTheWay = join(node().hostOptions.stateDirectory, "loadbalancer.json.new");
  await mkdir(join(inTheWay, "something"), { recursive: true });
  await cluster.service("nearer", { ip: "192.168.50.201" });
  await eventually(async () => expect(await condition()).toMatchObject({ status: "True", reason: "StateFileError" }));
  expect((await condition())?.message).toContain("loadbalancer.json cannot be written");
  await eventually(async () => expect([await holds("192.168.50.201"), await stateEvents()]).toEqual([true, ["1 StateFileError"]]));
  await rm(inTheWay, { recursive: true });
  await eventually(async () => expect((await condition())?.reason).toBe("ConfigurationValid"));
  await eventually(async () => expect((await stateEvents()).sort()).toEqual(["1 StateFileError", "1 StateUsable"]));
});

test("a rebooted machine announces its last state while the API server is away", async () => {
  await node().stopAgent();
  await node().frr.stop();
  await node().ip("addr", "del", "192.168.50.200/32", "dev", "plumbline-vip");
  await eventually(async () => expect(await announced()).toBe(false));
  node().startAgent({ away: true });
  await goesOn();
  await node().stopAgent();
  const writes = await cluster.writesDuring(async () => {
    node().startAgent();
    await goesOn();
  }, 3_000);
  expect(writes.filter((write) => write.includes("service"))).toEqual([]);
});

test("killed daemons come back with their configuration", async () => {
  for (const daemon of ["bgpd", "zebra"]) {
    const pid = (await node().frrPid(daemon)) ?? 0;
    process.kill(pid, "SIGKILL");
    await eventually(async () => expect([undefined, pid]).not.toContain(await node().frrPid(daemon)));
    await goesOn();
    await eventually(async () => expect(await session()).toBe("Established"));
  }
});

test("manual changes in FRR are reverted", async () => {
  await node().vtysh("configure terminal", "router bgp 64513", "address-family ipv4 unicast", "network 10.66.0.0/24");
  await node().vtysh("configure terminal", "router bgp 64513", "address-family ipv4 unicast", "no network 10.20.0.1/32");
  // The next pass looks at all of it.
  await cluster.patch(BGPPeer, "tor", { spec: { holdTime: "90s", keepaliveTime: "30s" } });
  await eventually(async () => {
    const lines = await node().vtysh("show running-config");
    expect(lines).not.toContain("10.66.0.0/24");
    expect(lines).toContain("network 10.20.0.1/32");
  });
  await goesOn();
});

test("an API server outage changes nothing, and reports are updated afterwards", async () => {
  await eventually(async () => expect(await session()).toBe("Established"));
  await cluster.api.server.kill();
  await cluster.say("router bgp 64512", "neighbor 192.168.50.10 shutdown");
  await eventually(async () => expect(await announced()).toBe(false));
  expect(await holds("192.168.50.200")).toBe(true);
  await cluster.api.server.restart();
  await eventually(async () => expect(await session()).toMatch(/Idle|Active|Connect/));
  await cluster.say("router bgp 64512", "no neighbor 192.168.50.10 shutdown");
  await goesOn();
  await eventually(async () => expect(await session()).toBe("Established"));
});

test("reports of an agent that stopped become Unknown, and current again when it is back", async () => {
  const reports: Reference[] = [
    [ConfigurationState, "speaker-worker0", METALLB],
    [BGPSessionStatus, "worker0-tor", METALLB],
    [ServiceBGPStatus, "web-worker0", "shop"],
    [ServiceL2Status, "near", "shop"],
  ];
  const statusOf = async ([kind, name, namespace]: Reference) => (await cluster.get<Reported>(kind, name, namespace))?.status ?? {};
  const isUnknown = async (report: Reference) => {
    const { conditions = [] } = await statusOf(report);
    return conditions.length > 0 && conditions.every(({ status, reason }) => status === "Unknown" && reason === "AgentNotReporting");
  };
  // Soon worried about agents that renew their Lease every ten seconds.
  await using controller = startController(accessAs("controller", cluster.api.access), { silenceMs: 13_000 });
  await node().stopAgent();
  await eventually(async () => expect(await Promise.all(reports.map(isUnknown))).toEqual([true, true, true, true]));
  expect(await cluster.get(ConfigurationState, "speaker-worker0")).toMatchObject({ status: { result: "Unknown" } });
  expect(await session()).toBe("Unknown");
  node().startAgent();
  await eventually(async () => expect(await Promise.all(reports.map(isUnknown))).toEqual([false, false, false, false]));
  await eventually(async () => expect(await session()).toBe("Established"));
  expect(await cluster.get(ConfigurationState, "speaker-worker0")).toMatchObject({ status: { result: "Valid" } });
  expect(controller).toBeDefined();
});
