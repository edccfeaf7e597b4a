import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { endpointsFor, peerFor, topologyManifests, underlayFor } from "./topology-manifests.ts";
import { DEFAULT_TOPOLOGY, topologyOf } from "./topology.ts";

const { nodes, tors } = DEFAULT_TOPOLOGY;
const [tor] = tors;

test.each([
  ["manifests/underlay.yaml", [underlayFor(tors)]],
  ["manifests/loadbalancer/endpoints.yaml", endpointsFor(nodes)],
  ["kube/manifests/peer.yaml", tor ? [peerFor(tor)] : []],
])("the generated default equals %s", async (file, objects) => {
  const text = await readFile(join(import.meta.dirname, "..", file), "utf8");
  const documents = parseAllDocuments(text).map((document): unknown => document.toJS());
  expect(documents.slice(0, objects.length)).toEqual(objects);
});

test.each([true, false])("nothing is generated for the default (kube %s)", (kube) => {
  expect(topologyManifests(DEFAULT_TOPOLOGY, { kube, routers: true })).toEqual(new Map());
  expect(topologyManifests(DEFAULT_TOPOLOGY, { kube, routers: false })).toEqual(new Map());
});

test("with two ToRs the Underlay has both NICs and both neighbors", () => {
  expect(underlayFor(topologyOf({ nodes: 3, tors: 2 }).tors)).toMatchObject({
    spec: {
      nics: ["eth1", "eth2"],
      neighbors: [
        { asn: 64512, address: "192.168.11.2" },
        { asn: 64513, address: "192.168.12.2" },
      ],
    },
  });
});

test("without routers the load balancers peer with the second ToR too", () => {
  const generated = topologyManifests(topologyOf({ nodes: 3, tors: 2 }), { kube: true, routers: false });
  expect([...generated]).toMatchObject([["more-peers.yaml", [{ kind: "BGPPeer", spec: { peerASN: 64513, peerAddress: "192.168.12.2" } }]]]);
});

test("services have an endpoint on every node, where there are no pods", () => {
  const five = topologyOf({ nodes: 5, tors: 1 });
  const [web] = topologyManifests(five, { kube: false, routers: true }).get("loadbalancer/endpoints.yaml") ?? [];
  expect(web).toMatchObject({ endpoints: five.nodes.map((nodeName) => ({ nodeName })) });
  expect(topologyManifests(five, { kube: true, routers: true })).toEqual(new Map());
});
