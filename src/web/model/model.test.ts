import { expect, test } from "vitest";
import { Node } from "../../api/core/node.ts";
import { Service } from "../../api/core/service.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { announcement, node, modelOf, routerStatus, service } from "../testing/fixtures.ts";
import type { ChangeEvent, Rows, ViewName } from "../api.ts";
import type { DashboardModel } from "./model.ts";
import type { StoredRow } from "./row-store.ts";

const all = (stored: StoredRow) => stored.text;

function rowsOf<V extends ViewName>(model: DashboardModel, view: V): Rows[V][] {
  model.refresh();
  return JSON.parse(model.rows.snapshot(view, all)) as Rows[V][];
}

function changesIn(model: DashboardModel, view: ViewName, since: number): { upsert: string[]; remove: readonly string[] } {
  model.refresh();
  const change = JSON.parse(model.rows.since(since, view, all) ?? "{}") as NonNullable<ChangeEvent["views"][ViewName]>;
  return { upsert: (change.upsert ?? []).map(({ key }) => key), remove: change.remove ?? [] };
}

test("a row is sent again only if its content changed", () => {
  const model = modelOf();
  model.put(Service, service("shop", "web"));
  model.put(Service, service("shop", "mail"));
  model.refresh();
  const before = model.rows.revision;
  model.put(ServiceBGPStatus, announcement("shop", "web", "n1"));
  expect(changesIn(model, "loadbalancer", before)).toEqual({ upsert: ["service/shop/web"], remove: [] });
  const after = model.rows.revision;
  model.put(ServiceBGPStatus, { ...announcement("shop", "web", "n1"), metadata: { name: "web-n1", namespace: "shop", uid: "other" } });
  expect(changesIn(model, "loadbalancer", after)).toEqual({ upsert: [], remove: [] });
  expect(model.rows.revision).toBe(after);
});

test("a removal is sent to clients that had the row, unless it is back", () => {
  const model = modelOf();
  model.put(Service, service("shop", "web"));
  model.put(Service, service("shop", "mail"));
  model.refresh();
  const before = model.rows.revision;
  model.drop(Service, service("shop", "web"));
  model.drop(Service, service("shop", "mail"));
  model.refresh();
  model.put(Service, service("shop", "mail"));
  expect(changesIn(model, "loadbalancer", before)).toEqual({ upsert: ["service/shop/mail"], remove: ["service/shop/web"] });
  expect(changesIn(model, "loadbalancer", model.rows.revision)).toEqual({ upsert: [], remove: [] });
});

test("a session that goes down is in the row of its node and a cause with symptoms, until it is back", () => {
  const model = modelOf();
  model.put(Node, node("n1"));
  model.put(RouterNodeConfigurationStatus, routerStatus("n1", "Active"));
  const health = () => rowsOf(model, "overview").flatMap((row) => (row.type === "node" ? row.cells.router?.health : []));
  const causes = () => rowsOf(model, "overview").flatMap((row) => (row.type === "cause" ? row : []));
  expect(health()).toEqual(["Down"]);
  expect(causes()).toMatchObject([
    { verdict: { id: "Session/192.168.11.1@n1" }, health: "Down", symptomCount: expect.any(Number) as number },
  ]);
  expect(causes()[0]?.key).not.toContain("n1");
  const before = model.rows.revision;
  const [{ key } = { key: "" }] = causes();
  model.put(RouterNodeConfigurationStatus, routerStatus("n1"));
  expect(changesIn(model, "overview", before).remove).toEqual([key]);
  expect(health()).toEqual(["Healthy"]);
});

test("listeners are notified of a change once until the next refresh", () => {
  const model = modelOf();
  model.refresh();
  let rings = 0;
  model.onStale(() => (rings += 1));
  model.put(Node, node("n1"));
  model.put(Node, node("n2"));
  expect(rings).toBe(1);
  model.refresh();
  model.put(Node, node("n3"));
  expect(rings).toBe(2);
});
