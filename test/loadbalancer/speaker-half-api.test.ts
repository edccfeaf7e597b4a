import { afterAll, beforeAll, expect, test } from "vitest";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../src/api/metallb/l2-advertisement.ts";
import { eventually, METALLB, SpeakerCluster } from "../support/speaker-cluster.ts";

// A rebooted machine whose agent can read all kinds but one: nothing can be decided, and the last live state stays.

type Role = KubeObject & { rules: { resources: string[] }[] };
const ROLE: Kind<Role> = { group: "rbac.authorization.k8s.io", version: "v1", kind: "Role", plural: "roles", scope: "Namespaced" };
const role = { name: "plumbline-loadbalancer-agent", namespace: METALLB };
const { signal } = new AbortController();
let cluster: SpeakerCluster;

beforeAll(async () => {
  cluster = await SpeakerCluster.start("lb-half-api", 1);
  await cluster.greet();
  await cluster.create(BGPPeer, "tor", { myASN: 64513, peerASN: 64512, peerAddress: "192.168.50.1", connectTime: "1s" });
  await cluster.create(IPAddressPool, "pool", { addresses: ["10.20.0.0/24", "192.168.50.128/25"] });
  await cluster.create(BGPAdvertisement, "ad");
  await cluster.create(L2Advertisement, "ad");
  await cluster.service("web", { ip: "10.20.0.1" });
  await cluster.service("near", { ip: "192.168.50.200" });
  cluster.node(0).startAgent();
});
afterAll(() => cluster.stop());

const node = () => cluster.node(0);
const holds = async (ip: string) => (await node().ip("-o", "addr", "show")).includes(`${ip}/32`);
const announced = async () => (await cluster.show("bgp ipv4 unicast")).includes("10.20.0.1/32");
const goesOn = () => eventually(async () => expect([await announced(), await holds("192.168.50.200")]).toEqual([true, true]));
const session = async () => (await cluster.get(BGPSessionStatus, "worker0-tor"))?.status?.bgpStatus;

test("the last live state stays until everything can be read, then the cluster's state applies without a session reset", async () => {
  await goesOn();
  await eventually(async () => expect(await session()).toBe("Established"));
  await node().stopAgent();
  await node().frr.stop();
  await node().ip("addr", "del", "192.168.50.200/32", "dev", "plumbline-vip");
  await eventually(async () => expect(await announced()).toBe(false));

  const roles = cluster.client.resource(ROLE);
  const { rules } = await roles.get(role.name, { namespace: METALLB, signal });
  const fewer = rules.map((rule) => ({ ...rule, resources: rule.resources.filter((one) => one !== "communities") }));
  await roles.patch(role, { rules: fewer }, { signal });
  // Meanwhile something has changed that the agent does not get to know.
  await cluster.service("late", { ip: "10.20.0.9" });
  node().startAgent({ restoreAfterMs: 1_000 });
  await goesOn();
  const established = async () => JSON.stringify(/"connectionsEstablished":\d+/.exec(await cluster.show("bgp neighbors json")));
  const before = await established();
  expect(await cluster.show("bgp ipv4 unicast")).not.toContain("10.20.0.9/32");

  await roles.patch(role, { rules }, { signal });
  await eventually(async () => expect(await cluster.show("bgp ipv4 unicast")).toContain("10.20.0.9/32"));
  await eventually(async () => expect(await session()).toBe("Established"));
  expect((await cluster.get(ConfigurationState, "speaker-worker0"))?.status?.result).toBe("Valid");
  await goesOn();
  expect(await established()).toBe(before);
});
