import { expect, test } from "vitest";
import { journalDirectory } from "./in-pod.ts";

test("pods that share a directory of the host have separate journals", () => {
  const pods = [
    { namespace: "kube-system", name: "kube-apiserver-n1" },
    { namespace: "kube-system", name: "etcd-n1" },
    { namespace: "shop", name: "etcd-n1" },
  ];
  expect(new Set(pods.map((pod) => journalDirectory(pod, "/state"))).size).toBe(3);
  expect(journalDirectory({ namespace: "shop", name: "web-0" }, "/state")).toBe("/state/connectivity/shop/web-0");
});
