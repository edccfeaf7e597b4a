import { expect, test } from "vitest";
import type { Node } from "../api/core/node.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { ownIndex } from "./node-index.ts";

const node = (name: string, index?: string): Node => ({
  metadata: { name, ...(index !== undefined && { annotations: { "openpe.io/nodeindex": index } }) },
  spec: {},
});

const clusterOf = (...nodes: Node[]) => ({ resource: () => ({ list: () => Promise.resolve({ items: nodes }) }) }) as unknown as KubeClient;

const signal = new AbortController().signal;

test("a new index is used", async () => {
  const own = node("n1", "3");
  expect(await ownIndex(own, undefined, clusterOf(own, node("n2", "4"), node("n3")), signal)).toBe(3);
});

test("an index of another Node is not used; the current one is kept", async () => {
  const own = node("n1", "3");
  const cluster = clusterOf(own, node("n2", "3"));
  expect(await ownIndex(own, undefined, cluster, signal)).toBeUndefined();
  expect(await ownIndex(own, 7, cluster, signal)).toBe(7);
});

test("the current index is kept also when another Node gets it", async () => {
  const own = node("n1", "3");
  expect(await ownIndex(own, 3, clusterOf(own, node("n2", "3")), signal)).toBe(3);
});

test.each([undefined, "", "-1", "1.5", "one", "99999999999"])("annotation %j is not an index", async (text) => {
  expect(await ownIndex(node("n1", text), undefined, clusterOf(), signal)).toBeUndefined();
  expect(await ownIndex(node("n1", text), 2, clusterOf(), signal)).toBe(2);
});
