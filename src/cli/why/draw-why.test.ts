import { describe, expect, test } from "vitest";
import { componentId, type Component } from "../../api/health.ts";
import type { Answer, Cause, ComponentHealth } from "../../explain/answer.ts";
import { plain } from "../print/color.ts";
import { clusterStatus, drawStatus } from "./draw-status.ts";
import { drawAnswer, drawCauses } from "./draw-why.ts";
import { exitCodeFor } from "./options.ts";

const NOW = Date.parse("2026-11-16T12:02:00Z");
const since = "2026-11-16T12:00:00Z";

function verdict(component: Component, more: Partial<ComponentHealth> = {}): ComponentHealth {
  return { id: componentId(component), component, domain: "router", health: "Down", since, ...more };
}

const healthy = (component: Component) => verdict(component, { health: "Healthy" });

const link: ComponentHealth = verdict(
  { kind: "Link", name: "eth1", node: "node2" },
  { reason: "NoCarrier", message: "The other end is down", fix: { text: "check the cable", command: "ip link show eth1" } },
);
const session: ComponentHealth = verdict({ kind: "Session", name: "192.168.11.2", node: "node2" }, { message: "It is Connect" });
const vni: ComponentHealth = verdict({ kind: "L3VNI", namespace: "router", name: "red" }, { health: "Degraded" });
const cause: Cause = { ...link, symptoms: [session, vni] };

test("an answer goes from the symptom to the cause and ends with the fix", () => {
  const answer: Answer = {
    path: {
      ...vni,
      cause: false,
      dependencies: [{ ...session, cause: false, dependencies: [{ ...link, cause: true, dependencies: [] }] }],
    },
    causes: [cause],
  };
  expect(drawAnswer(answer, NOW, plain)).toEqual([
    "L3VNI router/red is degraded for 2m",
    "└─ node2: session 192.168.11.2 is down for 2m: It is Connect",
    "   └─ node2: link eth1 is down (no carrier) for 2m: The other end is down  ← cause",
    "",
    "Cause:  link eth1 on node2",
    "Fix:    check the cable",
    "Run:    ip link show eth1",
  ]);
});

test.each<[Component, Partial<ComponentHealth>, string]>([
  [{ kind: "Link", name: "eth1", node: "node2" }, { reason: "NoCarrier" }, "node2: link eth1 is down (no carrier) for 2m"],
  [{ kind: "Session", name: "10.0.0.1", node: "node2" }, { reason: "SessionDown" }, "node2: session 10.0.0.1 is down for 2m"],
  [{ kind: "Agent", name: "node2" }, { health: "Unknown", reason: "AgentNotReporting" }, "node2: agent is unknown (not reporting) for 2m"],
  [{ kind: "Agents", name: "loadbalancer" }, { health: "Unknown", reason: "NoAgent" }, "load balancer agent is unknown (no agent) for 2m"],
  [{ kind: "FRR", name: "lb", node: "node2" }, { reason: "FRRUnavailable" }, "node2: FRR lb is down (unavailable) for 2m"],
  [{ kind: "Node", name: "node2" }, { reason: "NodeNotReady" }, "Node node2 is down (not ready) for 2m"],
  [{ kind: "L2VNI", namespace: "r", name: "a", node: "node2" }, { reason: "VniDown" }, "node2: L2VNI r/a is down (VNI down) for 2m"],
  [{ kind: "BGPPeer", namespace: "m", name: "a", node: "node2" }, { reason: "BFDDown" }, "node2: BGPPeer m/a is down (BFD down) for 2m"],
  [{ kind: "Service", namespace: "shop", name: "web" }, { health: "Degraded" }, "Service shop/web is degraded for 2m"],
  [{ kind: "Address", name: "10.30.0.100" }, { reason: "AddressInUse" }, "address 10.30.0.100 is down (in use) for 2m"],
])("a component is one line: node, kind, name, state, reason, duration (%#)", (component, more, line) => {
  expect(drawCauses([{ ...verdict(component, more), symptoms: [] }], NOW, plain)).toEqual([line]);
});

test("a healthy component gets one line", () => {
  const path = { ...verdict({ kind: "Node", name: "node1" }, { health: "Healthy" }), cause: false, dependencies: [] };
  expect(drawAnswer({ path, causes: [] }, NOW, plain)).toEqual(["Node node1 is healthy for 2m"]);
});

test("each cause has its effects and its fix, and further effects are counted", () => {
  const many = Array.from({ length: 10 }, (_, at) => verdict({ kind: "Service", namespace: "shop", name: `s${at}` }));
  const change = { component: { kind: "L2VNI", namespace: "router", name: "shop" }, field: "spec.vni" };
  const own = verdict({ kind: "L2VNI", namespace: "router", name: "shop" }, { fix: { text: "choose another", change } });
  const lines = drawCauses(
    [
      { ...cause, symptoms: many },
      { ...own, symptoms: [] },
    ],
    NOW,
    plain,
  );
  expect(lines.slice(0, 3)).toEqual([
    "node2: link eth1 is down (no carrier) for 2m",
    "  The other end is down",
    "  → Service shop/s0 is down for 2m",
  ]);
  expect(lines.slice(10)).toEqual([
    "  → and 2 more",
    "  Fix:    check the cable",
    "  Run:    ip link show eth1",
    "",
    "L2VNI router/shop is down for 2m",
    "  Fix:    choose another",
    "  Change: L2VNI router/shop, spec.vni",
  ]);
  expect(drawCauses([], NOW, plain)).toEqual(["No problems found."]);
});

test("the status lists the domains, the worst nodes first, and the problems", () => {
  const all = [link, session, vni, healthy({ kind: "Node", name: "node1" }), healthy({ kind: "Link", name: "eth1", node: "node1" })];
  expect(drawStatus(clusterStatus(all, [cause]), NOW, plain)).toEqual([
    "Router   Down   1 L3VNI (1 unhealthy)",
    "",
    "NODE    ROUTER",
    "node2   Down",
    "node1   Healthy",
    "",
    "Problems:",
    "  node2: link eth1 is down (no carrier) for 2m: The other end is down (affects 2 more)",
    "",
    "Run `plumbline why` for fixes.",
  ]);
});

describe("a domain that no agent runs", () => {
  const agents = { kind: "Agents", name: "router" };
  const fix = { text: "run `plumbline up --router` as root" };
  const red = verdict({ kind: "L3VNI", namespace: "router", name: "red" }, { health: "Unknown" });
  const noAgent = verdict(agents, { health: "Unknown", reason: "NoAgent", message: "No agent runs the router: nothing is applied", fix });
  const drawn = (found: readonly ComponentHealth[], more: readonly Cause[] = []) =>
    drawStatus(clusterStatus([...found, noAgent], [{ ...noAgent, symptoms: [red] }, ...more]), NOW, plain);

  test("is off, and one line says what it needs", () => {
    expect(drawn([red])).toEqual([
      "Router   Off   1 L3VNI",
      "",
      "Off:",
      "  No agent runs the router: nothing is applied. Fix: run `plumbline up --router` as root",
    ]);
  });

  test("is not off while something else is wrong in it", () => {
    const other = verdict({ kind: "L2VNI", namespace: "router", name: "blue" }, { health: "Down", message: "The VNI is used twice" });
    expect(drawn([red, other], [{ ...other, symptoms: [] }])).toEqual([
      "Router   Down   1 Agents (1 unhealthy), 1 L2VNI (1 unhealthy), 1 L3VNI (1 unhealthy)",
      "",
      "Off:",
      "  No agent runs the router: nothing is applied. Fix: run `plumbline up --router` as root",
      "",
      "Problems:",
      "  L2VNI router/blue is down for 2m: The VNI is used twice",
      "",
      "Run `plumbline why` for fixes.",
    ]);
  });
});

test("one screen lists the worst of 500 nodes and counts the others", () => {
  const nodes = Array.from({ length: 500 }, (_, at) =>
    verdict({ kind: "Link", name: "eth1", node: `n${at}` }, { health: at === 321 ? "Down" : "Healthy" }),
  );
  const vnis = [verdict({ kind: "L3VNI", namespace: "router", name: "red" }, { health: "Degraded" })];
  const lines = drawStatus(clusterStatus([...nodes, ...vnis], []), NOW, plain);
  expect(lines[3]).toBe("n321   Down");
  expect(lines).toContain("and 488 more nodes, all healthy");
  expect(lines.length).toBeLessThan(24);
});

test('if some kinds could not be read, "no problems" is limited to the others', () => {
  expect(drawCauses([], NOW, plain)).toEqual(["No problems found."]);
  expect(drawCauses([], NOW, plain, false)).toEqual(["No problems found in what could be read."]);
  expect(drawStatus(clusterStatus([healthy({ kind: "L3VNI", name: "red" })], []), NOW, plain, false).at(-1)).toBe(
    "No problems found in what could be read.",
  );
  const unread = [{ kind: "BGPPeer", why: "forbidden" }];
  expect([exitCodeFor(false, { unread: [] }), exitCodeFor(true, { unread }), exitCodeFor(false, { unread })]).toEqual([0, 1, 3]);
});
