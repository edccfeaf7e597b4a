import { expect, test } from "vitest";
import { Namespace } from "../../api/core/namespace.ts";
import { Node } from "../../api/core/node.ts";
import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { Community } from "../../api/metallb/community.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { ClusterConfig } from "./cluster-config.ts";

function holding<T extends KubeObject>(kind: Kind<T>, objects: T[] = []) {
  return { kind, list: () => objects, subscribe: () => () => undefined, waitForSync: () => Promise.resolve() };
}

const excluded: Node = { metadata: { name: "n1", labels: { "node.kubernetes.io/exclude-from-external-load-balancers": "" } }, spec: {} };
const sources = {
  pools: holding(IPAddressPool),
  peers: holding(BGPPeer),
  bfdProfiles: holding(BFDProfile),
  bgpAdvertisements: holding(BGPAdvertisement),
  l2Advertisements: holding(L2Advertisement),
  communities: holding(Community),
  namespaces: holding(Namespace),
  nodes: holding(Node, [excluded]),
};

const routers = { passthroughs: holding(L3Passthrough), l3vnis: holding(L3VNI), reports: holding(RouterNodeConfigurationStatus) };

test.each([true, false])("the exclude label of a node counts as on the speakers: ignoreExclude %s", (ignoreExclude) => {
  const view = new ClusterConfig(sources, {
    ignoreExclude,
    states: holding(ConfigurationState),
    sessions: holding(BGPSessionStatus),
    routers,
  });
  view.load(["n1"]);
  expect(view.landscape?.nodes).toMatchObject([{ name: "n1", excluded: !ignoreExclude }]);
});

test("the cluster is unknown until the live members are, and loading the same again is no change", () => {
  const view = new ClusterConfig(sources, {
    ignoreExclude: false,
    states: holding(ConfigurationState),
    sessions: holding(BGPSessionStatus),
    routers,
  });
  view.load(undefined);
  expect(view.landscape).toBeUndefined();
  expect([view.load(["n1"]), view.load(["n1"]), view.load([])]).toEqual([true, false, true]);
});

const stateOf = (node: string, result: "Valid" | "Invalid" | "Unknown"): ConfigurationState => ({
  metadata: { name: `speaker-${node}`, annotations: { "plumbline.dev/node": node } },
  status: { result },
});

test("live nodes whose speaker reports invalid or unreadable configuration are in doubt until it reports otherwise", () => {
  const states: ConfigurationState[] = [];
  const view = new ClusterConfig(sources, {
    ignoreExclude: false,
    states: holding(ConfigurationState, states),
    sessions: holding(BGPSessionStatus),
    routers,
  });
  view.load(["n1", "n2"]);
  states.push(stateOf("n1", "Invalid"), stateOf("n2", "Valid"), stateOf("dead", "Invalid"), {
    metadata: { name: "controller" },
    status: { result: "Invalid" },
  });
  expect([view.load(["n1", "n2"]), view.landscape?.doubtful]).toEqual([true, new Set(["n1"])]);
  expect(view.load(["n1", "n2"])).toBe(false);
  const valid = (reason: string): ConfigurationState => {
    const conditions = [{ type: "Valid", status: "True" as const, reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }];
    return { ...stateOf("n1", "Valid"), status: { result: "Valid", conditions } };
  };
  states[0] = valid("SecretsUnreadable");
  expect([view.load(["n1", "n2"]), view.landscape?.doubtful]).toEqual([false, new Set(["n1"])]);
  states[0] = valid("Starting");
  expect([view.load(["n1", "n2"]), view.landscape?.doubtful]).toEqual([true, new Set()]);
  states[0] = stateOf("n1", "Invalid");
  view.load(["n1", "n2"]);
  states[0] = valid("ConfigurationValid");
  expect([view.load(["n1", "n2"]), view.landscape?.doubtful]).toEqual([true, new Set()]);
});
