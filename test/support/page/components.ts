import type { Component } from "../../../src/api/health.ts";
import { componentId } from "../../../src/api/health.ts";
import type { PathNode, ComponentHealth } from "../../../src/explain/answer.ts";
import type { CheckRow, RouterRow, DetailAnswer, TreeNode, WhyAnswer } from "../../../src/web/api.ts";
import { causeRow, SPINES } from "./rows.ts";
import type { PageFixture } from "./fixtures.ts";
import { ago, linkOf, ROUTER_NAMESPACE, sessionOf, underlayOf, componentHealth } from "./health.ts";

export function detailAnswer(id: string, rows: PageFixture["rows"]): DetailAnswer {
  const router = rows.router.find((row) => row.id === id);
  if (router) return { component: { ...routerComponent(router), row: router } };
  for (const row of rows.loadbalancer) {
    if (row.type !== "service" || row.id !== id) continue;
    const announcements = row.bgp.nodes.map((node, at) => ({
      node,
      protocol: "BGP" as const,
      health: at === 1 && row.health !== "Healthy" ? ("Down" as const) : ("Healthy" as const),
      peers: SPINES.slice(0, 2).map((name) => ({
        name,
        bgp: at === 1 && row.health !== "Healthy" ? "Active" : "Established",
        health: at === 1 && row.health !== "Healthy" ? ("Down" as const) : ("Healthy" as const),
      })),
      advertisements: ["edge"],
      ...(at === 1 && row.health !== "Healthy" && { message: "No session of this node is up, so nobody hears it" }),
    }));
    const conditions = [{ type: "metallb.io/Announced", status: "True", reason: "Announced", message: "", since: ago(900) }];
    return {
      component: { type: "service", key: row.key, row, conditions, announcements, eligible: [], endpoints: { ready: 3, total: 3 } },
    };
  }
  const check = rows.connectivity.find((row) => row.type === "check" && row.id === id);
  if (check?.type === "check") return { component: checkComponent(check) };
  const policy = rows.failover.find((row) => row.id === id);
  if (policy) return { component: { type: "policy", key: policy.key, row: policy, conditions: [], resources: [] } };
  for (const row of rows.topology) {
    const session = row.type === "router" ? row.sessions.find((one) => one.id === id) : undefined;
    if (row.type !== "router" || !session) continue;
    const { health, neighbor, state, since } = session;
    const component = { kind: "Session", name: neighbor, node: row.node };
    const message = `BGP session with ${neighbor} is ${state}`;
    return { component: { type: "plain", key: id, verdict: { id, component, domain: "router", health, message, since: since ?? ago(4) } } };
  }
  return { missing: `${id} is not in the fixture.` };
}

function checkComponent(row: CheckRow): Extract<DetailAnswer, { component: unknown }>["component"] {
  const actions = Array.from({ length: 40 }, (_, at) => {
    const failed = row.health === "Down" && at > 34;
    return {
      time: ago((40 - at) * 0.7),
      success: !failed,
      reason: failed ? "ConnectError" : "ConnectDone",
      message: failed ? "connect ETIMEDOUT" : "tcp connection succeeded",
      ...(!failed && { latencyMs: 0.6 + ((at * 37) % 11) / 9 }),
    };
  });
  return {
    type: "check",
    key: row.key,
    row,
    ...(row.health === "Down" && { message: "connect ETIMEDOUT 10.0.0.2:8080" }),
    actions,
    outages: row.outages,
  };
}

function routerComponent(row: RouterRow) {
  const bad = row.health !== "Healthy";
  const node = (kind: string, name: string, children: TreeNode[] = [], failed = false): TreeNode => ({
    id: componentId({ kind, namespace: ROUTER_NAMESPACE, name, node: row.node }),
    kind,
    name,
    state: failed ? "KeptPrevious" : "Applied",
    health: failed ? "Degraded" : kind === "Underlay" && bad ? "Down" : "Healthy",
    ...(failed && { reason: "ValidationFailed", message: "VNI 200 is held by L3VNI red", field: "spec.vni" }),
    children,
  });
  const tree = [
    node("Underlay", "underlay", [
      node("L3VNI", "red", [node("L2VNI", "red-web"), node("L2VNI", "red-db")]),
      node("L3VNI", "blue", [node("L2VNI", "blue-web")], bad),
    ]),
  ];
  const sessions = ["192.168.11.2", "192.168.12.2", "192.168.13.2"].map((neighbor, at) => ({
    id: componentId({ kind: "Session", name: neighbor, node: row.node }),
    vrf: "default",
    neighbor,
    state: bad && at < 2 ? "Active" : "Established",
    health: bad && at < 2 ? ("Down" as const) : ("Healthy" as const),
    since: ago(bad && at < 2 ? 4 : 2_000),
  }));
  const vnis = [100, 200, 1100, 1200].map((vni, at) => ({
    vni,
    type: at < 2 ? ("L3" as const) : ("L2" as const),
    vrf: at % 2 === 0 ? "red" : "blue",
    state: bad && at % 2 === 1 ? "Down" : "Up",
    health: bad && at % 2 === 1 ? ("Down" as const) : ("Healthy" as const),
    macs: 40 + at,
    vteps: 2,
    prefixes: 12 * (at + 1),
  }));
  const conditions = [
    { type: "Ready", status: bad ? "False" : "True", reason: bad ? "Failed" : "Applied", message: row.message ?? "", since: ago(4) },
  ];
  return { type: "router" as const, key: row.key, conditions, tree, sessions, vnis };
}

export function whyAnswer(id: string, bad: readonly string[], services: number): WhyAnswer {
  const [guilty] = bad;
  const about = /@(.+)$/.exec(id)?.[1] ?? (id.startsWith("Node/") ? id.slice(5) : guilty);
  const [kind = "", ...rest] = id.split("@")[0]?.split("/") ?? [];
  const component: Component = {
    kind,
    ...(rest.length > 1 && { namespace: rest[0] ?? "" }),
    name: rest.at(-1) ?? "",
    ...(id.includes("@") && { node: about ?? "" }),
  };
  if (about === undefined || !bad.includes(about))
    return { answer: { path: { id, component, domain: "cluster", health: "Healthy", cause: false, dependencies: [] }, causes: [] } };
  const link = linkOf(about);
  const chain = step(sessionOf(about), [step(underlayOf(about), [step(link, [], true)])]);
  const own: ComponentHealth = {
    id,
    component,
    domain: "loadbalancer",
    health: "Degraded",
    message: "Announced by some of its nodes only",
    since: ago(3.7),
  };
  const path =
    id === link.id
      ? step(link, [], true)
      : id === underlayOf(about).id
        ? step(underlayOf(about), [step(link, [], true)])
        : step(own, [
            step(
              componentHealth(
                { ...component, kind: "BGPPeer", name: "spine-a", node: about },
                "loadbalancer",
                "Down",
                "Session is Active, last reset: interface down",
                3.8,
              ),
              [chain],
            ),
          ]);
  const { symptoms } = causeRow(about, services);
  return { answer: { path, causes: [{ ...link, symptoms }] } };
}

const step = (verdict: ComponentHealth, dependencies: PathNode[] = [], cause = false): PathNode => ({ ...verdict, cause, dependencies });
