import { describe, expect, test } from "vitest";
import type { Node } from "../api/core/node.ts";
import type { Secret } from "../api/core/secret.ts";
import type { L2VNI } from "../api/openpe/l2vni.ts";
import type { Underlay } from "../api/openpe/underlay.ts";
import type { Link } from "../hostnet/snapshot.ts";
import { type ObserveInput, updateSelection, observe } from "./observe.ts";
import type { RouterObjects } from "./model/observed.ts";
import type { SelectionRecord } from "./state.ts";

const none: RouterObjects = { underlays: [], l2vnis: [], l3vnis: [], passthroughs: [], rawConfigs: [] };
const node: Node = { metadata: { name: "n1", labels: { rack: "a" } }, spec: {} };
const now = new Date("2026-11-16T02:00:00Z");

const l2vni = (name: string, nodeSelector?: object) =>
  ({ metadata: { name, uid: `uid-${name}` }, spec: { vni: 1, nodeSelector } }) as unknown as L2VNI;
const rack = (name: string) => ({ matchLabels: { rack: name } });

const selectionAfter = (selector: object, before = new Map<string, SelectionRecord>()) =>
  updateSelection({ ...none, l2vnis: [l2vni("red", selector)] }, before, node, now).get("uid-red");

describe("the time since an object selects this node", () => {
  test("is unknown for an object that was never observed before: its recorded claim counts", () => {
    expect(selectionAfter(rack("a"))).toEqual({ selects: true });
  });

  test("is now for an object that did not select it before", () => {
    expect(selectionAfter(rack("a"), new Map([["uid-red", { selects: false }]]))).toEqual({ selects: true, since: now.toISOString() });
  });

  test("does not change while it selects the node", () => {
    const before = { selects: true, since: "2026-11-15T00:00:00.000Z" };
    expect(selectionAfter(rack("a"), new Map([["uid-red", before]]))).toEqual(before);
  });

  test("is dropped when it no longer selects the node", () => {
    expect(selectionAfter(rack("b"), new Map([["uid-red", { selects: true, since: "2026-11-15T00:00:00.000Z" }]]))).toEqual({
      selects: false,
    });
  });

  test("is not changed by an invalid selector", () => {
    const unusable = { matchExpressions: [{ key: "rack", operator: "Near", values: ["a"] }] };
    expect(selectionAfter(unusable, new Map([["uid-red", { selects: true }]]))).toEqual({ selects: true });
  });
});

test("deleted objects are dropped", () => {
  expect(updateSelection(none, new Map([["uid-red", { selects: true }]]), node, now).size).toBe(0);
});

const facts: ObserveInput = {
  node,
  index: 0,
  objects: none,
  secret: () => undefined,
  links: { host: new Map(), router: new Map() },
  towardsApi: new Set(),
  ovs: false,
  state: { lastGood: new Map(), selections: new Map() },
  now,
};

test("passwords are read from Secrets, and a missing one names what is missing", () => {
  const neighbors = ["good", "gone", "empty", "unread"].map((passwordSecret, nth) => ({
    address: `192.0.2.${nth}`,
    asn: 64512,
    passwordSecret,
  }));
  const underlay = { metadata: { name: "u" }, spec: { asn: 64514, neighbors } } as unknown as Underlay;
  const secrets: Record<string, Secret> = {
    good: { metadata: { name: "good" }, data: { password: Buffer.from("s3cret").toString("base64") } },
    empty: { metadata: { name: "empty" } },
  };
  const { passwords } = observe({
    ...facts,
    objects: { ...none, underlays: [underlay] },
    secret: (name) => (name === "unread" ? "unreadable" : secrets[name]),
  });
  expect(Object.fromEntries(passwords)).toEqual({
    good: { password: "s3cret" },
    gone: { problem: "Secret gone not found" },
    empty: { problem: "Secret empty has no key password" },
    unread: { problem: "Secret unread cannot be read: the API server does not answer or denies access" },
  });
});

test("returns objects that newly select the node with their time", () => {
  const before = new Map([["uid-red", { selects: true, since: now.toISOString() }]]);
  const { newlySelectedAt } = observe({
    ...facts,
    objects: { ...none, l2vnis: [l2vni("red"), l2vni("blue")] },
    state: { lastGood: new Map(), selections: before },
  });
  expect([...newlySelectedAt]).toEqual([["L2VNI/red", now]]);
});

const link = (name: string, type: string) => [name, { name, type, addresses: [{ text: "192.0.2.9/24" }] } as unknown as Link] as const;

test("interfaces of both namespaces are observed, physical ones without a type", () => {
  const { interfaces } = observe({ ...facts, links: { host: new Map([link("eth1", "")]), router: new Map([link("br", "bridge")]) } });
  expect(interfaces).toEqual({
    host: [{ name: "eth1", addresses: ["192.0.2.9/24"] }],
    router: [{ name: "br", addresses: ["192.0.2.9/24"], kind: "bridge" }],
  });
});
