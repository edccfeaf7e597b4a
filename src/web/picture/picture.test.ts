import { expect, test } from "vitest";
import { Node } from "../../api/core/node.ts";
import { Service } from "../../api/core/service.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { announcement, node, pictureOf, routerStatus, service } from "../testing/fixtures.ts";
import type { ChangeEvent, Rows, ViewName } from "../api.ts";
import type { Picture } from "../model/model.ts";
import type { Held } from "../model/row-store.ts";

const all = (held: Held) => held.text;

function rowsOf<V extends ViewName>(picture: Picture, view: V): Rows[V][] {
  picture.refresh();
  return JSON.parse(picture.rows.snapshot(view, all)) as Rows[V][];
}

function changesIn(picture: Picture, view: ViewName, since: number): { upsert: string[]; remove: readonly string[] } {
  picture.refresh();
  const change = JSON.parse(picture.rows.since(since, view, all) ?? "{}") as NonNullable<ChangeEvent["views"][ViewName]>;
  return { upsert: (change.upsert ?? []).map(({ key }) => key), remove: change.remove ?? [] };
}

test("a row is sent again when anything that it shows has changed, and only then", () => {
  const picture = pictureOf();
  picture.put(Service, service("shop", "web"));
  picture.put(Service, service("shop", "mail"));
  picture.refresh();
  const before = picture.rows.revision;
  picture.put(ServiceBGPStatus, announcement("shop", "web", "n1"));
  expect(changesIn(picture, "loadbalancer", before)).toEqual({ upsert: ["service/shop/web"], remove: [] });
  const after = picture.rows.revision;
  picture.put(ServiceBGPStatus, { ...announcement("shop", "web", "n1"), metadata: { name: "web-n1", namespace: "shop", uid: "other" } });
  expect(changesIn(picture, "loadbalancer", after)).toEqual({ upsert: [], remove: [] });
  expect(picture.rows.revision).toBe(after);
});

test("what is gone is told to those who have seen it, and what has come back is not", () => {
  const picture = pictureOf();
  picture.put(Service, service("shop", "web"));
  picture.put(Service, service("shop", "mail"));
  picture.refresh();
  const before = picture.rows.revision;
  picture.drop(Service, service("shop", "web"));
  picture.drop(Service, service("shop", "mail"));
  picture.refresh();
  picture.put(Service, service("shop", "mail"));
  expect(changesIn(picture, "loadbalancer", before)).toEqual({ upsert: ["service/shop/mail"], remove: ["service/shop/web"] });
  expect(changesIn(picture, "loadbalancer", picture.rows.revision)).toEqual({ upsert: [], remove: [] });
});

test("a session that falls shows in the node's row and as a cause with its symptoms, and both clear when it is back", () => {
  const picture = pictureOf();
  picture.put(Node, node("n1"));
  picture.put(RouterNodeConfigurationStatus, routerStatus("n1", "Active"));
  const health = () => rowsOf(picture, "overview").flatMap((row) => (row.type === "node" ? row.cells.router?.health : []));
  const causes = () => rowsOf(picture, "overview").flatMap((row) => (row.type === "cause" ? row : []));
  expect(health()).toEqual(["Down"]);
  expect(causes()).toMatchObject([
    { verdict: { id: "Session/192.168.11.1@n1" }, health: "Down", symptomCount: expect.any(Number) as number },
  ]);
  expect(causes()[0]?.key).not.toContain("n1");
  const before = picture.rows.revision;
  const [{ key } = { key: "" }] = causes();
  picture.put(RouterNodeConfigurationStatus, routerStatus("n1"));
  expect(changesIn(picture, "overview", before).remove).toEqual([key]);
  expect(health()).toEqual(["Healthy"]);
});

test("who wants to hear of changes hears once, and again after it was painted", () => {
  const picture = pictureOf();
  picture.refresh();
  let rings = 0;
  picture.onStale(() => (rings += 1));
  picture.put(Node, node("n1"));
  picture.put(Node, node("n2"));
  expect(rings).toBe(1);
  picture.refresh();
  picture.put(Node, node("n3"));
  expect(rings).toBe(2);
});
