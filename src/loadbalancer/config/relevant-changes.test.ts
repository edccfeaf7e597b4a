import { expect, test } from "vitest";
import type { Node } from "../../api/core/node.ts";
import type { Change } from "../../kube/cache/cache.ts";
import { stripNode, stripService, stripSlice } from "../services/transforms.ts";
import { relevantChangesOf } from "./changes.ts";

const node = (resourceVersion: string, heartbeat: string, labels: Record<string, string> = {}): Node =>
  stripNode({
    metadata: { name: "a", uid: "u1", resourceVersion, labels, annotations: { heartbeat } },
    spec: { taints: [{ key: heartbeat, effect: "NoSchedule" }] },
    status: {
      addresses: [
        { type: "Hostname", address: "a" },
        { type: "InternalIP", address: "192.0.2.1" },
      ],
      conditions: [
        { type: "Ready", status: "True", lastTransitionTime: heartbeat },
        { type: "NetworkUnavailable", status: "False", reason: heartbeat },
      ],
    },
  });

function heard(...changes: Change<Node>[]): string[] {
  const keys: string[] = [];
  const cache = {
    subscribe(listener: (change: Change<Node>) => void) {
      for (const change of changes) listener(change);
      return () => undefined;
    },
    waitForSync: () => Promise.resolve(),
  };
  relevantChangesOf(cache, ({ metadata }) => Object.keys(metadata.labels ?? {})).subscribe((key) => keys.push(key));
  return keys;
}

test("a Node heartbeat is no change, and a label change notifies the keys of the old and the new label", () => {
  expect(heard({ type: "updated", old: node("1", "then"), object: node("2", "now") })).toEqual([]);
  expect(heard({ type: "updated", old: node("1", "then", { one: "" }), object: node("2", "now", { two: "" }) })).toEqual(["one", "two"]);
  expect(heard({ type: "added", object: node("1", "then", { one: "" }), initial: true })).toEqual(["one"]);
  expect(heard({ type: "deleted", object: node("1", "then", { one: "" }) })).toEqual(["one"]);
});

test("the cache keeps only the fields of Services and EndpointSlices that announcing reads", () => {
  expect(
    stripService({
      metadata: {
        name: "web",
        namespace: "shop",
        uid: "u",
        annotations: { big: "x", "metallb.io/allow-shared-ip": "key" },
        labels: { a: "b" },
      },
      spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", ports: [{ port: 80, protocol: "TCP" }], selector: { app: "web" } },
      status: { loadBalancer: { ingress: [{ ip: "10.0.0.1", ipMode: "VIP" }, { hostname: "x" }] }, conditions: [] },
    }),
  ).toEqual({
    metadata: { name: "web", namespace: "shop", uid: "u", annotations: { "metallb.io/allow-shared-ip": "key" }, labels: { a: "b" } },
    spec: { type: "LoadBalancer", externalTrafficPolicy: "Local" },
    status: { loadBalancer: { ingress: [{ ip: "10.0.0.1" }] } },
  });
  expect(
    stripSlice({
      metadata: { name: "web-1", namespace: "shop", labels: { "kubernetes.io/service-name": "web", other: "x" } },
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.1.0.1"], conditions: { ready: true, terminating: false }, nodeName: "a", zone: "z" }],
      ports: [{ port: 80 }],
    }),
  ).toEqual({
    metadata: { name: "web-1", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [{ addresses: [""], conditions: { ready: true }, nodeName: "a" }],
  });
});
