import { expect, test } from "vitest";
import type { FabricSession, PeersRow, TopologyRow } from "../../api.ts";
import { fabricOf, inRanges, OTHER_NEIGHBORS } from "./fabric.ts";

const session = (neighbor: string, node: string): FabricSession => ({
  id: `Session/${neighbor}@${node}`,
  neighbor,
  state: "Established",
  health: "Healthy",
});
const router = (node: string, neighbors: readonly string[], overlay?: TopologyRow["overlay"]): TopologyRow => ({
  type: "router",
  key: `router/${node}`,
  id: `Router/${node}`,
  node,
  health: "Healthy",
  sessions: neighbors.map((neighbor) => session(neighbor, node)),
  vnis: "",
  ...(overlay && { overlay }),
});
const peers = (node: string, neighbors: readonly string[]): PeersRow => ({
  type: "peers",
  key: `peers/${node}`,
  node,
  sessions: neighbors.map((neighbor) => session(neighbor, node)),
});
const path = (node: string, reason: string, since: string): TopologyRow["overlay"] => ({
  health: "Down",
  probed: 1,
  since,
  failing: [{ node, reason, vnis: "110", message: `no answer from ${node}` }],
});
const torsOf = (rows: readonly (TopologyRow | PeersRow)[]) =>
  fabricOf(rows).nodes.map(({ name, sessions }) => [name].concat(sessions.map(({ tor }) => tor)));

test("a neighbor of several nodes is a switch, and many neighbors of one node each are combined", () => {
  expect(torsOf([router("node10", ["10.0.0.1"]), router("node2", ["10.0.0.1"])])).toEqual([
    ["node2", "10.0.0.1"],
    ["node10", "10.0.0.1"],
  ]);
  const links = Array.from({ length: 9 }, (_, at) => router(`node${at}`, ["10.0.0.1", `10.1.${at}.1`]));
  expect(torsOf(links).slice(0, 2)).toEqual([
    ["node0", "10.0.0.1", OTHER_NEIGHBORS],
    ["node1", "10.0.0.1", OTHER_NEIGHBORS],
  ]);
});

test("sessions of the load balancer with the router of its node are not drawn, also before the router reports", () => {
  const routed = [router("a", ["tor"]), peers("a", ["192.169.10.1", "tor"])];
  expect(torsOf([...routed, peers("b", ["192.169.10.1", "tor", "other"]), peers("c", ["192.169.10.1"])])).toEqual([
    ["a", "tor", "tor"],
    ["b", "other", "tor"],
  ]);
  expect(torsOf([peers("c", ["192.169.10.1"])])).toEqual([["c", "192.169.10.1"]]);
});

test("a failure that both ends report is one pair, with both messages and the earlier time", () => {
  const rows = [
    router("node10", ["tor"], path("node2", "NoPath", "2026-11-16T12:00:09Z")),
    router("node2", ["tor"], path("node10", "NoAnswerInVNI", "2026-11-16T12:00:03Z")),
  ];
  expect(fabricOf(rows).pairs).toEqual([
    {
      key: "node2 node10",
      from: "node2",
      to: "node10",
      reasons: ["NoPath", "NoAnswerInVNI"],
      vnis: "110",
      messages: ["no answer from node2", "no answer from node10"],
      since: "2026-11-16T12:00:03Z",
    },
  ]);
});

test("finds a number in ranges", () => {
  expect([99, 100, 104, 105, 110].map((vni) => inRanges("100-104,110", vni))).toEqual([false, true, true, false, true]);
  expect([inRanges("", 0), inRanges(undefined, 1)]).toEqual([false, false]);
});
