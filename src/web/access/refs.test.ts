import { expect, test } from "vitest";
import type { Component } from "../../api/health.ts";
import type { Cause, ComponentHealth } from "../../explain/answer.ts";
import { RowStore } from "../model/row-store.ts";
import { causeRow } from "../rows/overview.ts";
import { CONFIG_NAMESPACES } from "../testing/fixtures.ts";
import { RowReferences } from "./refs.ts";

const verdict = (component: Component): ComponentHealth => ({
  id: component.name,
  component,
  domain: "loadbalancer",
  health: "Down",
});
const service = (namespace: string, name: string) => verdict({ kind: "Service", namespace, name });

function hold(rows: RowStore, cause: Cause): void {
  rows.begin();
  rows.set("overview", `cause/${cause.id}`, causeRow(cause, `cause/${cause.id}`), [], cause);
}

test("the references of a view contain each object once, including those of fixes, and change with the rows", () => {
  const rows = new RowStore();
  const behind = new RowReferences(rows, CONFIG_NAMESPACES);
  const refText = () => behind.of("overview").map(({ kind, namespace }) => `${kind.plural} in ${namespace}`);
  expect(refText()).toEqual([]);
  const change = { component: { kind: "BGPAdvertisement", namespace: "metallb-system", name: "edge" } };
  const symptoms = [service("shop", "web"), service("shop", "mail"), service("blog", "web")];
  hold(rows, { ...verdict({ kind: "IPAddressPool", namespace: "metallb-system", name: "edge" }), fix: { text: "", change }, symptoms });
  const first = ["ipaddresspools in metallb-system", "bgpadvertisements in metallb-system", "services in shop", "services in blog"];
  expect(refText()).toEqual(first);
  expect(behind.of("overview")).toBe(behind.of("overview"));
  hold(rows, { ...service("bank", "web"), symptoms: [] });
  expect(refText()).toEqual([...first, "services in bank"]);
});
