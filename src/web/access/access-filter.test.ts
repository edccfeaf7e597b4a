import { expect, test } from "vitest";
import { Node } from "../../api/core/node.ts";
import { Service } from "../../api/core/service.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import type { Answer } from "../../explain/answer.ts";
import type { KindInNamespace } from "../rows/row-builder.ts";
import { announcement, node, modelOf, CONFIG_NAMESPACES, routerStatus, service, session } from "../testing/fixtures.ts";
import type { Rows, ViewName } from "../api.ts";
import { AccessFilter } from "./access-filter.ts";
import type { Viewer } from "./viewer.ts";

/** Someone who may list these: `services in shop`, `nodes`. */
function viewer(...allowed: string[]): Viewer {
  const may = ({ kind, namespace }: KindInNamespace) =>
    allowed.includes(kind.plural) || (namespace !== undefined && allowed.includes(`${kind.plural} in ${namespace}`));
  return { user: "someone", login: true, seesAll: false, version: 0, isIncomplete: false, learn: () => Promise.resolve(), may };
}

const SHOP = ["services in shop", "servicebgpstatuses in shop", "servicel2statuses in shop"];

function model() {
  const painted = modelOf();
  painted.put(Node, node("n1"));
  painted.put(RouterNodeConfigurationStatus, routerStatus("n1", "Active"));
  for (const namespace of ["shop", "vault"]) {
    painted.put(Service, service(namespace, "web"));
    painted.put(ServiceBGPStatus, announcement(namespace, "web", "n1"));
  }
  painted.put(BGPSessionStatus, session("n1", "tor", "Active"));
  painted.refresh();
  return painted;
}

function visible<V extends ViewName>(view: V, by: Viewer): Rows[V][] {
  return JSON.parse(model().rows.snapshot(view, new AccessFilter(by, CONFIG_NAMESPACES).filter)) as Rows[V][];
}

test("rows that a viewer may not list are omitted, including their names", () => {
  const inShop = viewer(...SHOP);
  expect(visible("loadbalancer", inShop).map(({ key }) => key)).toEqual(["service/shop/web"]);
  expect(visible("router", inShop)).toEqual([]);
  expect(JSON.stringify([visible("overview", inShop), visible("loadbalancer", inShop)])).not.toMatch(/vault|tor|192\.168/);
  expect(visible("loadbalancer", viewer("services in shop"))).toEqual([]);
});

test("a forbidden cause is shown without its name if it affects visible components, and omitted otherwise", () => {
  const causes = visible("overview", viewer(...SHOP)).filter(({ type }) => type === "cause");
  expect(causes).toMatchObject([
    { health: "Down", symptoms: [{ id: "Service/shop/web@n1" }, { id: "Service/shop/web" }], symptomCount: 2 },
  ]);
  expect(causes[0]).not.toHaveProperty("verdict");
  expect(visible("overview", viewer())).toEqual([]);
});

const visibleCells = (by: Viewer) =>
  visible("overview", by).flatMap((row) => (row.type === "node" ? [[Object.keys(row.cells), row.health]] : []));

test("a node shows only the domains that the viewer may list, and does not report the others as healthy", () => {
  expect(visibleCells(viewer("nodes"))).toEqual([[["cluster"], "Degraded"]]);
  expect(visibleCells(viewer("nodes", "routernodeconfigurationstatuses"))).toEqual([[["router", "cluster"], "Down"]]);
});

test("the kinds that the viewer may not list are reported", () => {
  const painted = model();
  painted.set("sync", { type: "sync", key: "sync", complete: true, lost: [], hidden: [] });
  const rows = JSON.parse(
    painted.rows.snapshot("sync", new AccessFilter(viewer("nodes", "services"), CONFIG_NAMESPACES).filter),
  ) as Rows["sync"][];
  expect(rows[0]?.hidden).toEqual([
    "RouterNodeConfigurationStatus",
    "IPAddressPool",
    "BGPSessionStatus",
    "ServiceBGPStatus",
    "ServiceL2Status",
    "FailoverPolicy",
    "PodNetworkConnectivityCheck",
    "Event",
  ]);
});

function depth(step: Answer["path"]): number {
  return 1 + Math.max(0, ...step.dependencies.map(depth));
}

test("an answer replaces forbidden components with placeholders, and a question about one has no answer", () => {
  const painted = model();
  const answer = painted.why("Service/shop/web");
  const access = new AccessFilter(viewer(...SHOP), CONFIG_NAMESPACES);
  const visible = answer && access.answer(answer);
  expect(visible && depth(visible.path)).toBe(answer && depth(answer.path));
  expect(JSON.stringify(visible)).toContain('"kind":"Hidden"');
  expect(JSON.stringify(visible)).not.toMatch(/vault|tor/);
  const other = painted.why("Service/vault/web");
  expect(other && access.answer(other)).toBeUndefined();
});

test("removals are not sent to viewers who never had the rows", () => {
  const painted = model();
  const before = painted.rows.revision;
  for (const namespace of ["shop", "vault"]) painted.drop(Service, service(namespace, "web"));
  painted.refresh();
  const change = painted.rows.since(before, "loadbalancer", new AccessFilter(viewer(...SHOP), CONFIG_NAMESPACES).filter);
  expect(change).toBe('{"remove":["service/shop/web"]}');
});
