import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessAs } from "../../lab/kube/identities.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { Service } from "../../src/api/core/service.ts";
import type { Kind } from "../../src/api/kind.ts";
import { BFDProfile } from "../../src/api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { Community } from "../../src/api/metallb/community.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../src/api/metallb/configuration-status.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../src/api/metallb/l2-advertisement.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../src/api/metallb/service-l2-status.ts";
import { speakerPolls } from "../../src/loadbalancer/metrics.ts";
import { startController } from "../support/controller.ts";
import { eventually, METALLB, SpeakerCluster } from "../support/speaker-cluster.ts";

// Everything that reports, at once: the controller and two speakers, with objects of every status kind. Whatever happens that changes nothing of
// what they say, not one of those objects is written, by the API server's own count.

const { signal } = new AbortController();
const STATUS_KINDS: readonly Kind[] = [ConfigurationState, ConfigurationStatus, BGPSessionStatus, ServiceBGPStatus, ServiceL2Status];
let cluster: SpeakerCluster;
let controller: AsyncDisposable;

const conditionsOf = async (name: string) => (await cluster.get(Service, name, "shop"))?.status?.conditions ?? [];
const polls = async () => (await speakerPolls.get()).values.reduce((sum, { value }) => sum + value, 0);

beforeAll(async () => {
  cluster = await SpeakerCluster.start("lb-rest", 2);
  for (const node of cluster.nodes) {
    await node.ip("link", "add", "eth1", "type", "veth", "peer", "name", `${node.netns}b`, "netns", cluster.tor.netns);
    await node.ip("link", "set", "eth1", "up");
    await cluster.torIp("link", "set", `${node.netns}b`, "up");
  }
  controller = startController(accessAs("controller", cluster.api.access));
  for (const node of cluster.nodes) node.startAgent();
  await cluster.greet("bfd");
  await cluster.create(BFDProfile, "slow", { receiveInterval: 2_000, transmitInterval: 2_000 });
  await cluster.create(Community, "aliases", { communities: [{ name: "vpn", value: "64512:1" }] });
  const basicAuth = { type: "kubernetes.io/basic-auth", data: { username: "", password: btoa("s3cret") } };
  await cluster.client.resource(Secret).create({ metadata: { name: "password", namespace: METALLB }, ...basicAuth }, { signal });
  const peer = { myASN: 64513, peerASN: 64512, connectTime: "1s" };
  await cluster.create(BGPPeer, "tor", { ...peer, peerAddress: "192.168.50.1", bfdProfile: "slow" });
  await cluster.create(BGPPeer, "nobody", { ...peer, peerAddress: "192.168.50.99", passwordSecret: { name: "password" } });
  await cluster.create(BGPPeer, "wrong", { ...peer, peerAddress: "192.168.50.98", bfdProfile: "missing" });
  await cluster.create(IPAddressPool, "routed", { addresses: ["10.20.0.0/24", "2001:db8::/64"] });
  await cluster.create(IPAddressPool, "segment", { addresses: ["192.168.50.200/32"], autoAssign: false });
  await cluster.create(BGPAdvertisement, "routed", { ipAddressPools: ["routed"], communities: ["vpn"] });
  await cluster.create(L2Advertisement, "segment", { ipAddressPools: ["segment"], interfaces: ["eth0", "eth1"] });
  const both = ["worker0", "worker1"];
  await cluster.service("web", { on: both });
  await cluster.service("near", { on: both, annotations: { "metallb.io/address-pool": "segment" } });
  await cluster.service("late", { on: both, annotations: { "metallb.io/address-pool": "segment" } });
});
afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  await cluster.stop();
});

/** What has a status of ours, by kind and name, with its version; Services and pools are only counted, because a person edits them here. */
async function versions(): Promise<string[]> {
  const all = STATUS_KINDS.map(async (kind) =>
    [...(await cluster.all(kind))].map(([name, { metadata }]) => `${kind.kind} ${name} ${metadata.resourceVersion}`),
  );
  return (await Promise.all(all)).flat().toSorted();
}

const reported = async () => (await versions()).filter((line) => !line.startsWith("Configuration"));
const names = async () => (await versions()).map((line) => line.replace(/ \d+$/, ""));

test("every kind of status exists", async () => {
  await eventually(async () =>
    expect(await names()).toEqual([
      "BGPSessionStatus metallb-system/worker0-nobody",
      "BGPSessionStatus metallb-system/worker0-tor",
      "BGPSessionStatus metallb-system/worker1-nobody",
      "BGPSessionStatus metallb-system/worker1-tor",
      "ConfigurationState metallb-system/controller",
      "ConfigurationState metallb-system/speaker-worker0",
      "ConfigurationState metallb-system/speaker-worker1",
      "ConfigurationStatus metallb-system/config-status",
      "ServiceBGPStatus shop/web-worker0",
      "ServiceBGPStatus shop/web-worker1",
      "ServiceL2Status shop/near",
    ]),
  );
  await eventually(async () => {
    const near = (await cluster.get(ServiceL2Status, "near", "shop"))?.status;
    expect(near?.interfaces).toEqual([{ name: "eth0" }, { name: "eth1" }]);
    expect(near?.conditions).toContainEqual(expect.objectContaining({ type: "Announced", status: "True" }));
    expect(near?.eligibleNodes).toHaveLength(2);
    for (const index of [0, 1]) {
      const session = (await cluster.get(BGPSessionStatus, `worker${index}-tor`))?.status;
      expect([session?.bgpStatus, session?.bfdStatus]).toEqual(["Established", "Up"]);
      const state = (await cluster.get(ConfigurationState, `speaker-worker${index}`))?.status;
      expect([state?.result, state?.lastError]).toEqual(["Invalid", "peer wrong referencing non existing bfd profile missing"]);
    }
    expect((await cluster.get(IPAddressPool, "segment"))?.status).toMatchObject({ assignedIPV4: 1, availableIPV4: 0 });
    // Each waits up to ten seconds for its turn.
    expect(await conditionsOf("web")).toMatchObject([{ status: "True", message: "BGP: 2 nodes announce it" }]);
    expect(await conditionsOf("near")).toMatchObject([{ status: "True", message: expect.stringContaining("1 on standby") as string }]);
    expect(await conditionsOf("late")).toMatchObject([{ status: "False" }]);
  });
  await cluster.atRest();
});

const touch = (value: string) => ({ metadata: { annotations: { touched: value }, labels: { touched: value } } });
const configuration: readonly [Kind, string][] = [
  [BGPPeer, "tor"],
  [BGPPeer, "wrong"],
  [BFDProfile, "slow"],
  [Community, "aliases"],
  [IPAddressPool, "routed"],
  [IPAddressPool, "segment"],
  [BGPAdvertisement, "routed"],
  [L2Advertisement, "segment"],
];

interface Disturbance {
  /** After it, a moment in which everything that is going to be written is. */
  readonly afterMs?: number;
  readonly happens: () => Promise<void>;
}

const disturbances: Record<string, Disturbance> = {
  "configuration is rewritten with the same meaning": {
    happens: async () => {
      for (const value of ["one", "two", "three"]) {
        for (const [kind, name] of configuration) await cluster.patch(kind, name, touch(value));
      }
    },
  },
  "endpoints change on nodes that keep some": {
    happens: async () => {
      for (const name of ["web", "near", "late"]) {
        await cluster.endpoints(name, ["worker0", "worker1", "worker0"]);
        await cluster.endpoints(name, ["worker1", "worker0"], { ready: true, serving: true, terminating: false });
      }
    },
  },
  "nodes renew their heartbeats": {
    happens: async () => {
      for (const second of [1, 2, 3]) {
        for (const { name } of cluster.nodes) {
          const lastHeartbeatTime = `2026-11-16T05:00:0${second}Z`;
          const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime, lastTransitionTime: "2026-11-16T05:00:00Z" }];
          await cluster.client.resource(Node).patchStatus({ name }, { status: { conditions } }, { signal });
        }
      }
      await cluster.client.resource(Node).patch({ name: "worker0" }, touch("yes"), { signal });
    },
  },
  "FRR is polled and returns the same": {
    afterMs: 500,
    happens: async () => {
      const before = await polls();
      await eventually(async () => expect(await polls()).toBeGreaterThan(before + 20));
    },
  },
  "unrelated Secrets, ConfigMaps, Namespaces and Services change": {
    happens: async () => {
      const metadata = { name: "unrelated", namespace: METALLB };
      await cluster.client.resource(Secret).create({ metadata, data: { password: btoa("x") } }, { signal });
      await cluster.client.resource(Secret).patch(metadata, { data: { password: btoa("y") } }, { signal });
      await cluster.patch(Secret, "password", { data: { username: btoa("someone") } });
      await cluster.client.resource(ConfigMap).create({ metadata, data: {} }, { signal });
      await cluster.client.resource(Namespace).create({ metadata: { name: "unrelated" } }, { signal });
      for (const name of ["shop", METALLB]) await cluster.client.resource(Namespace).patch({ name }, touch("yes"), { signal });
      await cluster.create(IPAddressPool, "elsewhere", { addresses: ["10.99.0.0/24"] }, "unrelated");
      const ports = [{ port: 80, protocol: "TCP" as const }];
      await cluster.client
        .resource(Service)
        .create({ metadata: { name: "inside", namespace: "shop" }, spec: { type: "ClusterIP", ports } }, { signal });
      await cluster.patch(Service, "web", touch("yes"), "shop");
    },
  },
  "the speakers restart": {
    afterMs: 4_000,
    happens: async () => {
      for (const node of cluster.nodes) {
        await node.stopAgent();
        node.startAgent();
      }
    },
  },
  "the controller restarts": {
    afterMs: 4_000,
    happens: async () => {
      await controller[Symbol.asyncDispose]();
      controller = startController(accessAs("controller", cluster.api.access));
    },
  },
};

describe("no status is written when", () => {
  test.each(Object.entries(disturbances))("%s", async (_, { happens, afterMs = 2_000 }) => {
    const before = await versions();
    expect(await cluster.writesDuring(happens, afterMs)).toEqual([]);
    expect(await versions()).toEqual(before);
  });

  test("interfaces are listed in another order, apart from the observedGeneration", async () => {
    const before = await reported();
    const reorder = () => cluster.patch(L2Advertisement, "segment", { spec: { interfaces: ["eth1", "eth0"] } });
    expect((await cluster.writesDuring(reorder, 1_500, 2)).toSorted()).toEqual([
      "patch configurationstates/status metallb-system/speaker-worker0",
      "patch configurationstates/status metallb-system/speaker-worker1",
    ]);
    expect(await reported()).toEqual(before);
  });
});

test("a change is written once by each component whose report differs", async () => {
  const change = () => cluster.remove(BGPPeer, "nobody");
  const writes = await cluster.writesDuring(change, 3_000, 6);
  const each = [0, 1].flatMap((index) => [
    `delete bgpsessionstatuses metallb-system/worker${index}-nobody`,
    `patch configurationstates/status metallb-system/speaker-worker${index}`,
    `patch servicebgpstatuses/status shop/web-worker${index}`,
  ]);
  expect(writes.toSorted()).toEqual(each.toSorted());
});
