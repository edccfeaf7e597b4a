import { expect, test } from "vitest";
import { ConnectivityMesh } from "../api/connectivity/connectivity-mesh.ts";
import { PodNetworkConnectivityCheck } from "../api/connectivity/pod-network-connectivity-check.ts";
import { EndpointSlice, serviceNameLabel } from "../api/core/endpoint-slice.ts";
import { Node } from "../api/core/node.ts";
import { Service } from "../api/core/service.ts";
import type { Condition, ConditionStatus } from "../api/kind.ts";
import { dependenciesOf, statementsFrom, type FakeObject, unhealthyIn } from "../api/testing/fake-reader.ts";
import { edges } from "./explain.ts";
import { ago, check, failing, reachableCheck } from "./testing/checks.ts";

const explain = (...objects: FakeObject[]) => statementsFrom(edges(), ...objects);
const at = (node: string) => `10.0.0.${node.slice(1)}:8081`;

/** A check of one node by another. */
function between(from: string, to: string, status: NonNullable<PodNetworkConnectivityCheck["status"]>): PodNetworkConnectivityCheck {
  return check(from, at(to), status, {
    "plumbline.dev/node": from,
    "plumbline.dev/mesh": "nodes",
    "plumbline.dev/target": `node/${to}`,
    "plumbline.dev/target-node": to,
  });
}

const NODES = ["n1", "n2", "n3", "n4"];

function mesh(fails: (from: string, to: string) => boolean): PodNetworkConnectivityCheck[] {
  return NODES.flatMap((from) =>
    NODES.filter((to) => to !== from).map((to) => between(from, to, fails(from, to) ? failing(at(to), ago(5)) : reachableCheck(at(to)))),
  );
}

function unknown(reason: string, message: string, status: ConditionStatus = "Unknown"): { conditions: Condition[] } {
  return { conditions: [{ type: "Reachable", status, reason, message, lastTransitionTime: ago(3) }] };
}

test("checks that fail together have one cause, with its scope and start time", () => {
  const statements = explain([PodNetworkConnectivityCheck, ...mesh((_from, to) => to === "n2")]);
  const causes = statements.filter(({ component }) => component.kind === "Target");
  expect(new Set(causes.map(({ component }) => component.name))).toEqual(new Set(["10.0.0.2:8081"]));
  expect(causes[0]).toMatchObject({ health: "Down", reason: "NotReached", since: ago(5) });
  expect(causes[0]?.message).toMatch(/^10\.0\.0\.2:8081 \(node n2\) is unreachable: all 3 checks fail/);
  expect(dependenciesOf(statements, "Target/10.0.0.2:8081")).toContain("Agent/n2");
  expect(dependenciesOf(statements, "PodNetworkConnectivityCheck/shop/n1-to-10-0-0-2-8081")).toEqual(["Target/10.0.0.2:8081"]);
  expect(dependenciesOf(statements, "ConnectivityMesh/shop/nodes")).toContain("part PodNetworkConnectivityCheck/shop/n1-to-10-0-0-2-8081");
});

test("a source that reaches nothing is the cause", () => {
  const statements = explain([PodNetworkConnectivityCheck, ...mesh((from) => from === "n3")]);
  expect(new Set(unhealthyIn(statements).filter((line) => !line.includes("PodNetwork")))).toEqual(
    new Set(["Down Source/node/n3 ReachesNothing"]),
  );
});

test("a check that fails alone is its own cause, with a command for details", () => {
  const statements = explain([PodNetworkConnectivityCheck, ...mesh((from, to) => from === "n1" && to === "n2")]);
  expect(unhealthyIn(statements)).toEqual(["Down PodNetworkConnectivityCheck/shop/n1-to-10-0-0-2-8081 ConnectError"]);
  const own = statements.find(({ health }) => health === "Down");
  expect(dependenciesOf(statements, "PodNetworkConnectivityCheck/shop/n1-to-10-0-0-2-8081")).toEqual(["Agent/n2"]);
  expect(own?.fix?.command).toBe("plumbline describe podnetworkconnectivitycheck n1-to-10-0-0-2-8081 -n shop");
});

test("a source that does not reach some targets is one cause, which depends on their agents", () => {
  const statements = explain([PodNetworkConnectivityCheck, ...mesh((from, to) => from === "n1" && to !== "n4")]);
  expect(new Set(unhealthyIn(statements).filter((line) => !line.includes("PodNetwork")))).toEqual(
    new Set(["Down Path/node/n1 to some PartlyReached"]),
  );
  expect(new Set(dependenciesOf(statements, "Path/node/n1 to some"))).toEqual(new Set(["Agent/n2", "Agent/n3"]));
});

const WEB = "10.96.0.80:80";
const WEB_NAME = "web.shop.svc.cluster.local:80";

/** Of Service shop/web. */
function endpointsOn(...nodes: string[]): EndpointSlice {
  const endpoints = nodes.map((nodeName, nth) => ({ addresses: [`10.244.${nth}.2`], nodeName, conditions: { ready: true } }));
  return { metadata: { name: "web-x", namespace: "shop", labels: { [serviceNameLabel]: "web" } }, addressType: "IPv4", endpoints };
}

/** Checks of Service shop/web at its address and by its name, from each of these nodes. */
function toWeb(fails: (from: string, endpoint: string) => boolean, from = ["n1", "n3", "n4"]): PodNetworkConnectivityCheck[] {
  return from.flatMap((node) =>
    [WEB, WEB_NAME].map((endpoint) =>
      check(node, endpoint, fails(node, endpoint) ? failing(endpoint, ago(5)) : reachableCheck(endpoint), {
        "plumbline.dev/node": node,
        "plumbline.dev/target": endpoint === WEB ? "service/shop/web" : "host",
      }),
    ),
  );
}

const TO_N2 = "Target/10.0.0.2:8081";

test.each([
  ["at its address", WEB, "PodNetworkConnectivityCheck/shop/n1-to-10-96-0-80-80"],
  ["by its name", WEB_NAME, "PodNetworkConnectivityCheck/shop/n1-to-web-shop-svc-cluster-local-80"],
])("a Service that one source does not reach %s depends on the unreachable node of an endpoint", (_how, endpoint, name) => {
  const checks = [...mesh((_from, to) => to === "n2"), ...toWeb((from, to) => from === "n1" && to === endpoint)];
  const statements = (...nodes: string[]) => explain([PodNetworkConnectivityCheck, ...checks], [EndpointSlice, endpointsOn(...nodes)]);
  expect(dependenciesOf(statements("n2", "n3"), name)).toEqual([TO_N2]);
  expect(dependenciesOf(statements("n3", "n4"), name)).toEqual([]);
});

test("a Service that is unreachable at its address depends on the unreachable node of an endpoint", () => {
  const checks = [...mesh((_from, to) => to === "n2"), ...toWeb((_from, to) => to === WEB)];
  const statements = (...nodes: string[]) => explain([PodNetworkConnectivityCheck, ...checks], [EndpointSlice, endpointsOn(...nodes)]);
  expect(dependenciesOf(statements("n2", "n3"), "Target/service/shop/web")).toEqual([TO_N2]);
  expect(dependenciesOf(statements("n3"), "Target/service/shop/web")).toEqual([]);
});

test("a Service that some sources do not reach depends on the unreachable node of an endpoint", () => {
  const checks = [...mesh((_from, to) => to === "n2"), ...toWeb((from, to) => from !== "n4" && to === WEB)];
  const statements = explain([PodNetworkConnectivityCheck, ...checks], [EndpointSlice, endpointsOn("n2", "n3")]);
  expect(dependenciesOf(statements, `Path/some to ${WEB}`)).toEqual([TO_N2]);
});

test("a Service does not depend on a node on which another target is reached", () => {
  const agents = mesh((_from, to) => to === "n2");
  const pod = check("n1", "10.244.0.2:8080", reachableCheck("10.244.0.2:8080"), {
    "plumbline.dev/node": "n1",
    "plumbline.dev/target": "endpoint/shop/web",
    "plumbline.dev/target-node": "n2",
  });
  const checks = [...agents, pod, ...toWeb((from, to) => from === "n1" && to === WEB)];
  const statements = explain([PodNetworkConnectivityCheck, ...checks], [EndpointSlice, endpointsOn("n2", "n3")]);
  expect(dependenciesOf(statements, "PodNetworkConnectivityCheck/shop/n1-to-10-96-0-80-80")).toEqual([]);
});

const ANNOUNCED = "192.0.2.7:80 from router";

/** Checks of the announced address of a Service, from the routers of two nodes. */
function announced(status: "True" | "False", fails: (node: string) => boolean): FakeObject[] {
  const checks = ["n1", "n2"].map((from) => {
    const annotations = { "plumbline.dev/node": from, "plumbline.dev/target": "external/shop/web", "plumbline.dev/probe": FROM_ROUTER };
    const result = fails(from) ? failing(ANNOUNCED, ago(5)) : reachableCheck(ANNOUNCED);
    return check(from, "192.0.2.7:80", result, annotations);
  });
  const condition = { type: "metallb.io/Announced", status, reason: "x", message: "", lastTransitionTime: ago(600) } as const;
  const service = { metadata: { namespace: "shop", name: "web" }, spec: { type: "LoadBalancer" }, status: { conditions: [condition] } };
  return [
    [PodNetworkConnectivityCheck, ...checks, ...mesh(() => false)],
    [Service, service],
    [EndpointSlice, endpointsOn("n3")],
  ] as FakeObject[];
}
const FROM_ROUTER = '{"type":"TCP","from":"Router"}';

test("an announced Service that no router reaches is affected by it, with the evidence", () => {
  const statements = explain(...announced("True", () => true));
  const target = "Target/external/shop/web";
  expect(dependenciesOf(statements, "Service/shop/web")).toContain(`part ${target}`);
  expect(dependenciesOf(statements, target)).toEqual([]);
  expect(statements.find(({ component }) => component.name === "external/shop/web")).toMatchObject({
    health: "Down",
    message: expect.stringMatching(
      /^Service shop\/web is unreachable at its announced address: both checks fail, from 2 sources/,
    ) as string,
    fix: { command: "plumbline routes web -n shop" },
  });
});

test("a Service that is not announced is the cause for its external checks", () => {
  const statements = explain(...announced("False", () => true));
  expect(dependenciesOf(statements, "Target/external/shop/web")).toEqual(["Service/shop/web"]);
  expect(dependenciesOf(statements, "Service/shop/web")).toEqual([]);
});

test("one external check that fails alone is part of its Service", () => {
  const statements = explain(...announced("True", (from) => from === "n1"));
  expect(dependenciesOf(statements, "Service/shop/web")).toEqual(["part PodNetworkConnectivityCheck/shop/n1-to-192-0-2-7-80"]);
});

/** A check of a name that could not be looked up. */
function lookup(from: string, host: string, why = "No such name"): PodNetworkConnectivityCheck {
  const message = `Failed to resolve ${host}; ${why}`;
  return check(from, `${host}:80`, {
    ...failing(`${host}:80`, ago(5)),
    failures: [{ time: ago(1), success: false, reason: "DNSError", message }],
    conditions: [{ type: "Reachable", status: "False", reason: "DNSError", message, lastTransitionTime: ago(5) }],
  });
}

test("a Service whose name one source cannot look up does not depend on the nodes of its endpoints", () => {
  const fromA = [lookup("a", "web.shop.svc.cluster.local"), check("a", "db.shop:80", reachableCheck("db.shop:80"))];
  const checks = [...mesh((_from, to) => to === "n2"), ...toWeb(() => false), ...fromA];
  const statements = explain([PodNetworkConnectivityCheck, ...checks], [EndpointSlice, endpointsOn("n2", "n3")]);
  expect(dependenciesOf(statements, "PodNetworkConnectivityCheck/shop/a-to-web-shop-svc-cluster-local-80")).not.toContain(TO_N2);
});

test("failing lookups of all sources are one cause", () => {
  const checks = ["a", "b"].flatMap((from) => ["web.shop", "db.shop"].map((host) => lookup(from, host)));
  const statements = explain([
    PodNetworkConnectivityCheck,
    ...checks,
    check("a", "10.0.0.1:80", reachableCheck("10.0.0.1:80")),
    check("b", "10.0.0.1:80", reachableCheck("10.0.0.1:80")),
  ]);
  expect(new Set(unhealthyIn(statements).filter((line) => !line.includes("PodNetwork")))).toEqual(
    new Set(["Down Names/everything NamesNotFound"]),
  );
});

test("a name server that does not answer is the cause for the first failing check", () => {
  const checks = [
    lookup("a", "web.shop", "the name server did not answer in time"),
    check("a", "db.shop:80", reachableCheck("db.shop:80")),
  ];
  expect(unhealthyIn(explain([PodNetworkConnectivityCheck, ...checks]))[0]).toBe("Down Names/pod/shop/a NamesNotFound");
});

test("a check of a node whose agent is silent depends on the agent, which is the cause", () => {
  const message = `Source n1 has not reported since ${ago(4)}; the rest of this status is its last report`;
  const statements = explain([PodNetworkConnectivityCheck, between("n1", "n2", unknown("Stale", message))]);
  expect(unhealthyIn(statements)).toEqual([
    "!Unknown Agent/n1 AgentNotReporting",
    "Unknown PodNetworkConnectivityCheck/shop/n1-to-10-0-0-2-8081 Stale",
  ]);
  expect(statements.find(({ component }) => component.kind === "Agent")?.since).toBe(ago(4));
});

const nodes = (...names: string[]) => [Node, ...names.map((name) => ({ metadata: { name }, spec: {} }))] as FakeObject;

test("stale checks from a node that was removed are no problem, and those from a node that exists are", () => {
  const message = "Source n1 has not reported since 2026-11-16T09:34:02Z; the rest of this status is its last report";
  const stale = between("n1", "n2", unknown("Stale", message));
  expect(unhealthyIn(explain([PodNetworkConnectivityCheck, stale], nodes("n2", "n3")))).toEqual([]);
  expect(unhealthyIn(explain([PodNetworkConnectivityCheck, stale], nodes("n1", "n2")))).toContain("!Unknown Agent/n1 AgentNotReporting");
});

test("a check of a silent pod depends on the pod", () => {
  const message = `Source web-1 has not reported since ${ago(4)}; the rest of this status is its last report`;
  const statements = explain([PodNetworkConnectivityCheck, check("web-1", "10.0.0.1:80", unknown("Stale", message))]);
  expect(unhealthyIn(statements)[0]).toBe("Unknown Source/pod/shop/web-1 SourceSilent");
});

test("what no router of a node can observe is unknown, with one cause for the node, which is not its agent", () => {
  const message = "Not observed: VRF red has no address of its own on this node, and answers to 192.169.10.1 do not come back";
  const checks = ["n2", "n3"].map((to) => between("n1", to, unknown("NotObserved", message)));
  const statements = explain([PodNetworkConnectivityCheck, ...checks]);
  expect(new Set(unhealthyIn(statements))).toEqual(
    new Set([
      "Unknown Source/node/n1 NotObserved",
      "Unknown PodNetworkConnectivityCheck/shop/n1-to-10-0-0-2-8081 NotObserved",
      "Unknown PodNetworkConnectivityCheck/shop/n1-to-10-0-0-3-8081 NotObserved",
    ]),
  );
  expect(dependenciesOf(statements, "Source/node/n1")).toEqual([]);
  expect(statements.find(({ component }) => component.kind === "Source")).toMatchObject({
    message,
    fix: { text: expect.stringMatching(/^give the VRF an address of its own on each node/) as string },
  });
});

test("a forbidden target makes the check its own cause, with the field", () => {
  const statements = explain([PodNetworkConnectivityCheck, check("n1", "169.254.1.1:80", unknown("TargetRefused", "link-local"))]);
  expect(statements).toMatchObject([{ health: "Unknown", ownFault: true, fix: { change: { field: "spec.targetEndpoint" } } }]);
});

test("an invalid probe makes the check its own cause, with the annotation", () => {
  const statements = explain([PodNetworkConnectivityCheck, check("n1", "10.0.0.1:80", unknown("InvalidProbe", "not JSON"))]);
  expect(statements).toMatchObject([
    { health: "Unknown", ownFault: true, fix: { change: { field: "metadata.annotations[plumbline.dev/probe]" } } },
  ]);
});

test("a check without a result, with a reached target, or retired has no problem", () => {
  const retired = between("n1", "n2", failing(at("n2"), ago(5)));
  retired.metadata.annotations = { ...retired.metadata.annotations, "plumbline.dev/retired": ago(2) };
  const checks = [
    check("a", "10.0.0.1:80", {}),
    check("b", "10.0.0.1:80", unknown("NoResultYet", "")),
    check("c", "10.0.0.1:80", reachableCheck("10.0.0.1:80")),
    retired,
  ];
  expect(unhealthyIn(explain([PodNetworkConnectivityCheck, ...checks]))).toEqual([]);
});

function aMesh(status: ConditionStatus, reason: string): ConnectivityMesh {
  return {
    metadata: { name: "nodes", namespace: "shop" },
    spec: { sources: { nodes: {} }, targets: [{ nodes: { port: 80 } }], sourcesPerTarget: 3 },
    status: { conditions: [{ type: "Ready", status, reason, message: "Service shop/web does not exist", lastTransitionTime: ago(1) }] },
  };
}

test("an invalid mesh is its own cause, and a new one is healthy", () => {
  expect(unhealthyIn(explain([ConnectivityMesh, aMesh("False", "Incomplete")]))).toEqual([
    "!Degraded ConnectivityMesh/shop/nodes Incomplete",
  ]);
  expect(unhealthyIn(explain([ConnectivityMesh, aMesh("Unknown", "Unreadable")]))).toEqual([
    "!Unknown ConnectivityMesh/shop/nodes Unreadable",
  ]);
  expect(unhealthyIn(explain([ConnectivityMesh, aMesh("False", "Creating")]))).toEqual([]);
});
