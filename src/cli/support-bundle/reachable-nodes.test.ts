import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { KubeClient } from "../../kube/client/client.ts";
import { clusterNodes } from "./reachable-nodes.ts";

// A cluster with kubelets, which `kubectl exec` needs, does not run here: kubectl prints its arguments.

const { signal } = new AbortController();
let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-kubectl-"));
  await writeFile(join(directory, "kubectl"), '#!/bin/sh\necho "$@"\n');
  await chmod(join(directory, "kubectl"), 0o755);
  vi.stubEnv("PATH", `${directory}:${process.env["PATH"]}`);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

const pod = (name: string, nodeName: string, phase = "Running", deletionTimestamp?: string) => ({
  metadata: { name, ...(deletionTimestamp && { deletionTimestamp }) },
  spec: { nodeName },
  status: { phase },
});

test("commands run in the FRR pod of each node that has one, with the user's kubeconfig and context", async () => {
  const list = vi.fn<() => Promise<{ items: ReturnType<typeof pod>[] }>>(() =>
    Promise.resolve({
      items: [pod("frr-a", "node1"), pod("frr-b", "node2", "Pending"), pod("frr-c", "node3", "Running", "2026-01-01T00:00:00Z")],
    }),
  );
  const client = { resource: () => ({ list }) } as unknown as KubeClient;
  const nodes = await clusterNodes(client, { namespace: "edge", kubeconfig: "/k", context: "c" }, signal);
  expect(list).toHaveBeenCalledWith(
    expect.objectContaining({ namespace: "edge", labelSelector: "app.kubernetes.io/name=plumbline,app.kubernetes.io/component=frr" }),
  );
  expect(nodes.map(({ name }) => name)).toEqual(["node1"]);
  expect(await nodes[0]?.run(["vtysh", "-c", "show version"])).toEqual({
    code: 0,
    stdout: "--kubeconfig /k --context c exec -n edge frr-a -c frr -- vtysh -c show version\n",
    stderr: "",
  });
});
