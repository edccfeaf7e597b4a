import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { CauseGraph } from "../explain/graph.ts";
import { edges } from "./explain.ts";

const namespace = "openperouter-system";
const SINCE = "2026-11-16T12:00:00Z";
type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;

const session = (state: string) => ({ vrf: "default", neighbor: "192.168.11.2", state, since: SINCE });
const nodeStatus = (node: string, status: Status): RouterNodeConfigurationStatus => ({
  metadata: { name: node, namespace },
  status: { sessions: [session("Established")], links: [{ name: "eth1", state: "Up", since: SINCE }], ...status },
});

function graphOf(...statuses: RouterNodeConfigurationStatus[]): CauseGraph {
  const graph = new CauseGraph(edges({ routerNamespace: namespace }));
  for (const status of statuses) graph.put(RouterNodeConfigurationStatus, status);
  return graph;
}

function causesOf(graph: CauseGraph): string[] {
  return graph.causes().map(({ id, reason }) => `${id} ${reason}`);
}

const failingPath = (node: string, reason: "NoAnswerInVNI" | "NoEVPNRoute" = "NoAnswerInVNI") => ({
  node,
  reason,
  vnis: "110",
  message: `frames do not arrive at ${node}`,
});
/** What a node reports that fails to reach these nodes, and reaches so many others. */
const overlay = (nodes: readonly string[], reached = 0, reason?: "NoAnswerInVNI" | "NoEVPNRoute"): Status => ({
  conditions: [
    { type: "Ready", status: "True", reason: "x", message: "x", lastTransitionTime: SINCE },
    { type: "OverlayReachable", status: nodes.length > 0 ? "False" : "True", reason: "x", message: "x", lastTransitionTime: SINCE },
  ],
  overlay: { vtep: "100.65.0.1", probed: 4, reached, failing: nodes.map((node) => failingPath(node, reason)) },
});
const BETWEEN = "VNI 110: frames do not arrive between node2 and node1, node3; the underlay carries small packets";

test("the node whose paths to all others fail is the cause, not the nodes at the other ends", () => {
  const graph = graphOf(
    nodeStatus("node1", overlay(["node2"], 1)),
    nodeStatus("node2", overlay(["node1", "node3"])),
    nodeStatus("node3", overlay(["node2"], 1)),
  );
  expect(causesOf(graph)).toEqual(["Overlay/node2@node2 NoAnswerInVNI"]);
  expect(graph.causes()[0]).toMatchObject({
    message: BETWEEN,
    health: "Down",
    fix: { text: expect.stringMatching(/^check on node2 what/) },
  });
});

test("a node that cannot report is found by what the others report of it", () => {
  const graph = graphOf(
    nodeStatus("node1", overlay(["node2"], 1)),
    nodeStatus("node2", overlay([], 2)),
    nodeStatus("node3", overlay(["node2"], 1)),
  );
  expect(causesOf(graph)).toEqual(["Overlay/node2@node2 NoAnswerInVNI"]);
});

test.each(["NoAnswerInVNI", "NoEVPNRoute"] as const)(
  "the first node that reports %s is not the cause if it reaches others; the fix names both ends",
  (reason) => {
    const graph = graphOf(
      nodeStatus("node1", overlay(["node2"], 1, reason)),
      nodeStatus("node2", overlay([], 2)),
      nodeStatus("node3", overlay([], 2)),
    );
    expect(causesOf(graph)).toEqual([`Overlay/node2@node2 ${reason}`]);
    expect(graph.causes()[0]?.message).toContain("between node2 and node1");
    expect(graph.causes()[0]?.fix?.text).toContain("node2, node1");
  },
);

test("a node that lacks the routes of all others is the cause", () => {
  const graph = graphOf(
    nodeStatus("node1", overlay([], 2)),
    nodeStatus("node2", overlay(["node1", "node3"], 0, "NoEVPNRoute")),
    nodeStatus("node3", overlay([], 2)),
  );
  expect(causesOf(graph)).toEqual(["Overlay/node2@node2 NoEVPNRoute"]);
});

test("a single failing path has one cause, with both ends", () => {
  const graph = graphOf(nodeStatus("node1", overlay(["node2"])), nodeStatus("node2", overlay(["node1"])));
  expect(causesOf(graph)).toEqual(["Overlay/node1@node1 NoAnswerInVNI"]);
  expect(graph.causes()[0]?.fix?.text).toContain("check on node1, node2");
});

test("a node names only those ends that are not causes themselves", () => {
  const graph = graphOf(
    nodeStatus("node1", overlay(["node2", "node4"], 1)),
    nodeStatus("node2", overlay(["node1", "node3", "node4"])),
    nodeStatus("node3", overlay(["node2"], 2)),
    nodeStatus("node4", overlay(["node1", "node2"], 1)),
  );
  expect(causesOf(graph).toSorted()).toEqual(["Overlay/node1@node1 NoAnswerInVNI", "Overlay/node2@node2 NoAnswerInVNI"]);
  expect(graph.causes().find(({ id }) => id.includes("node1"))?.message).toContain("between node1 and node4;");
});

/** Truth: a pair fails if one of its nodes or the link between is faulty. Each node has reported all of its pairs, or nothing yet. */
test("for any faults and reports, every cause is a faulty node or has both ends of a failing path", () => {
  const faults = fc.record({
    count: fc.integer({ min: 2, max: 6 }),
    nodes: fc.uniqueArray(fc.nat(5), { maxLength: 3 }),
    links: fc.array(fc.tuple(fc.nat(5), fc.nat(5)), { maxLength: 3 }),
    reported: fc.array(fc.nat(5), { minLength: 1, maxLength: 12 }),
  });
  fc.assert(
    fc.property(faults, ({ count, nodes, links, reported }) => {
      const fails = (a: number, b: number) =>
        nodes.includes(a) || nodes.includes(b) || links.some(([x, y]) => (x === a && y === b) || (x === b && y === a));
      const all = Array.from({ length: count }, (_, index) => index);
      const reports = (from: number) => all.filter((to) => to !== from && fails(from, to));
      const graph = graphOf(...all.map((node) => nodeStatus(`node${node}`, overlay([], count - 1))));
      const failingNodes = new Set<string>();
      for (const node of reported.filter((index) => index < count)) {
        const failing = reports(node);
        graph.put(
          RouterNodeConfigurationStatus,
          nodeStatus(
            `node${node}`,
            overlay(
              failing.map((to) => `node${to}`),
              count - 1 - failing.length,
            ),
          ),
        );
        for (const to of failing) failingNodes.add(`node${node}`).add(`node${to}`);
        for (const { component, message = "", fix } of graph.causes()) {
          const named = Number(component.node?.slice(4));
          const ends = [...message.matchAll(/node(\d)/g)].map(([, index]) => Number(index)).filter((index) => index !== named);
          expect(ends.length).toBeGreaterThan(0);
          for (const end of ends) expect(fails(named, end)).toBe(true);
          // A fix for one node alone names a faulty node: it reaches no other.
          const isOneNode = !fix?.text.includes(`node${ends[0]}`);
          expect(!isOneNode || nodes.includes(named) || all.every((to) => to === named || fails(named, to))).toBe(true);
        }
        expect(graph.causes().length > 0).toBe(failingNodes.size > 0);
      }
    }),
    { numRuns: 500 },
  );
});

test("once all have reported, a faulty node among healthy ones is the only cause", () => {
  fc.assert(
    fc.property(fc.integer({ min: 3, max: 8 }), fc.nat(7), fc.infiniteStream(fc.nat()), (count, fault, order) => {
      const all = Array.from({ length: count }, (_, index) => index);
      const bad = fault % count;
      const others = all.filter((index) => index !== bad);
      const graph = graphOf(...all.map((node) => nodeStatus(`node${node}`, overlay([], count - 1))));
      const key = new Map(all.map((index) => [index, order.next().value ?? 0]));
      for (const node of all.toSorted((a, b) => (key.get(a) ?? 0) - (key.get(b) ?? 0))) {
        const failing = node === bad ? others : [bad];
        graph.put(
          RouterNodeConfigurationStatus,
          nodeStatus(
            `node${node}`,
            overlay(
              failing.map((to) => `node${to}`),
              count - 1 - failing.length,
            ),
          ),
        );
        expect(causesOf(graph)).toEqual([`Overlay/node${bad}@node${bad} NoAnswerInVNI`]);
      }
    }),
  );
});

const unobserved = (...nodes: string[]): Status => ({
  conditions: [
    { type: "Ready", status: "True", reason: "x", message: "x", lastTransitionTime: SINCE },
    { type: "OverlayReachable", status: "Unknown", reason: "NotObserved", message: "x", lastTransitionTime: SINCE },
  ],
  overlay: { vtep: "100.65.0.1", probed: 4, reached: 0, ...(nodes.length > 0 && { unobserved: nodes }) },
});

test("a node whose paths nobody observes is Unknown, and not those at the other ends", () => {
  const graph = graphOf(
    nodeStatus("node1", unobserved("node2")),
    nodeStatus("node2", unobserved("node1", "node3")),
    nodeStatus("node3", unobserved("node2")),
  );
  expect(causesOf(graph)).toEqual(["Overlay/node2@node2 NotObserved"]);
  expect(graph.causes()[0]).toMatchObject({
    health: "Unknown",
    since: SINCE,
    message: "Some paths between node2 and node1, node3 have not been observed for a minute, although the agents are alive",
  });
});

test("what is not observed yet, or for a moment, is no fault", () => {
  expect(causesOf(graphOf(nodeStatus("node1", unobserved()), nodeStatus("node2", unobserved())))).toEqual([]);
});

test("a failing path says since when it fails", () => {
  const failing = [{ ...failingPath("node2"), since: "2026-11-16T11:00:00Z" }];
  const status = overlay(["node2"]);
  const graph = graphOf(nodeStatus("node1", { ...status, overlay: { ...status.overlay, failing } }));
  expect(graph.causes()[0]?.since).toBe("2026-11-16T11:00:00Z");
});

test("a lost session explains the overlay that fails with it", () => {
  const lost = { ...overlay(["node1", "node3"]), sessions: [session("Active")] };
  const graph = graphOf(nodeStatus("node1", overlay(["node2"], 1)), nodeStatus("node2", lost), nodeStatus("node3", overlay(["node2"], 1)));
  expect(causesOf(graph)).toEqual(["Session/192.168.11.2@node2 SessionDown"]);
});

test("a foreign object in the router's namespace is the cause while the overlay of the node fails, and is reported otherwise too", () => {
  const rule = { object: "rule", namespace: "router", text: "32765: from all ipproto udp dport 4789 blackhole" } as const;
  const graph = graphOf(
    nodeStatus("node1", overlay(["node2"], 1)),
    nodeStatus("node2", { ...overlay(["node1", "node3"]), foreign: [rule] }),
    nodeStatus("node3", overlay(["node2"], 1)),
  );
  expect(causesOf(graph)).toEqual(["DataPath/node2@node2 ForeignObjects"]);
  expect(graph.causes()[0]).toMatchObject({
    message: 'May block packets: ip rule "32765: from all ipproto udp dport 4789 blackhole" in the router\'s namespace',
    symptoms: expect.arrayContaining([expect.objectContaining({ id: "Overlay/node2@node2", health: "Down" })]),
    fix: { text: "remove it on node2 unless it is wanted there", command: "ip netns exec perouter ip rule" },
  });
  const alone = graphOf(nodeStatus("node1", overlay([], 1)), nodeStatus("node2", { ...overlay([], 1), foreign: [rule] }));
  expect(causesOf(alone)).toEqual(["DataPath/node2@node2 ForeignObjects"]);
});

test("an object on a link of the host does not explain why frames are lost between the routers", () => {
  const qdisc = { object: "qdisc", namespace: "host", interface: "host-110", text: "qdisc netem 1: dev host-110 root loss 100%" } as const;
  const graph = graphOf(
    nodeStatus("node1", overlay(["node2"], 1)),
    nodeStatus("node2", { ...overlay(["node1", "node3"]), foreign: [qdisc] }),
    nodeStatus("node3", overlay(["node2"], 1)),
  );
  expect(causesOf(graph).toSorted()).toEqual(["DataPath/node2@node2 ForeignObjects", "Overlay/node2@node2 NoAnswerInVNI"]);
});
