import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { silent } from "../../lab/progress.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { createLog } from "../../src/kube/log.ts";
import { WriteBudget } from "../../src/kube/status/budget.ts";
import { StatusWriter } from "../../src/kube/status/status-writer.ts";
import type { Failure } from "../../src/resilience/failure.ts";
import { type PassOutcome, report, setLastUpdateTime } from "../../src/router/report.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";

const NAMESPACE = "openperouter-system";
const EVENTUALLY = { timeout: 60_000, interval: 100 };
const { signal } = new AbortController();
let api: SuiteApiServer;
let client: KubeClient;
let directory: string;
let kubeconfig: string;
let kubectl: string;

const failing = (owner: string, reason: Failure["reason"], message: string): Failure => {
  const [kind = "", name = ""] = owner.split("/");
  return { kind, name, namespace: NAMESPACE, reason, field: "", message, class: "Permanent" };
};

const fine: PassOutcome = { selected: [], failures: [], live: new Map() };
const underlayFailed = failing("Underlay/production-underlay", "ValidationFailed", "Interface eth0 not present on node");

/** The nodes of the spec's examples, and one more that is fine. */
const outcomes: Record<string, PassOutcome> = {
  "worker-1": fine,
  "worker-2": {
    ...fine,
    selected: [
      { kind: "Underlay", name: "u", generation: 1 },
      ...(["a", "b", "c"].map((name) => ({ kind: "L2VNI", name, generation: 1 })) as []),
    ],
    failures: [
      failing("L2VNI/tenant-network-a", "ValidationFailed", "Interface eth2 not present on node"),
      failing("L2VNI/tenant-network-b", "ValidationFailed", "VNI 100 conflicts with L3VNI production-l3"),
      failing("L3VNI/tenant-l3", "DependencyFailed", "No healthy L2VNI exists for VRF 'tenant'"),
    ],
  },
  "worker-3": { ...fine, failures: [underlayFailed], stopped: underlayFailed },
  "control-1": fine,
};

beforeAll(async () => {
  api = await apiServer("status-queries");
  directory = await mkdtemp(join(tmpdir(), "plumbline-queries-"));
  client = new KubeClient(api.access);
  kubeconfig = await api.server.kubeconfig("admin");
  const command = (await kubeBinaries(silent)).command("kubectl");
  if (!command) throw new Error("The binaries in KUBEBUILDER_ASSETS bring no kubectl; unset it to use our own build");
  kubectl = [...command, "--cache-dir", join(directory, "cache"), "--namespace", NAMESPACE].join(" ");
  await client.resource(Namespace).create({ metadata: { name: NAMESPACE } }, { signal });
  await installCrds(client, [RouterNodeConfigurationStatus], signal);
  await reportAll();
});

afterAll(async () => {
  client.close();
  await api.stop();
  await rm(directory, { recursive: true });
});

/** As the agents of these nodes do. */
async function reportAll(): Promise<void> {
  const stop = new AbortController();
  const log = createLog({ level: "error" });
  const cache = new Cache(client, RouterNodeConfigurationStatus, { namespace: NAMESPACE, log });
  cache.start(stop.signal);
  const writer = new StatusWriter<RouterNodeConfigurationStatus>({
    client,
    cache,
    kind: RouterNodeConfigurationStatus,
    budget: new WriteBudget(),
    log,
    stamp: setLastUpdateTime,
  });
  const ended = writer.run(stop.signal);
  for (const [name, outcome] of Object.entries(outcomes)) {
    const { metadata } = await client.resource(Node).create({ metadata: { name }, spec: {} }, { signal });
    const owner = { apiVersion: "v1", kind: "Node", name, uid: metadata.uid ?? "" };
    const status = report(outcome, { sessions: [], vnis: [] });
    writer.set(`${NAMESPACE}/${name}`, { status, create: { metadata: { ownerReferences: [owner] } } });
  }
  await vi.waitFor(async () => {
    const { items } = await client.resource(RouterNodeConfigurationStatus).list({ namespace: NAMESPACE, signal });
    expect(items.filter(({ status }) => status?.conditions)).toHaveLength(4);
  }, EVENTUALLY);
  stop.abort();
  await ended;
}

/** Runs a line of the spec unchanged. */
async function shell(line: string): Promise<string> {
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  return (await promisify(execFile)("bash", ["-c", `set -euo pipefail; kubectl() { ${kubectl} "$@"; }; ${line}`], { env })).stdout;
}

const stream = (text: string): unknown[] =>
  JSON.parse(
    `[${text
      .trim()
      .replaceAll(/^\}\n\{/gm, "},\n{")
      .replaceAll(/"\n"/g, '","')}]`,
  ) as unknown[];

test("kubectl lists the nodes with READY, DEGRADED and AGE", async () => {
  const rows = (await shell("kubectl get routernodeconfigurationstatus")).trimEnd().split("\n");
  expect(rows[0]).toMatch(/^NAME +READY +DEGRADED +AGE$/);
  expect(rows.slice(1).map((row) => row.split(/ +/).slice(0, 3).join(" "))).toEqual([
    "control-1 True False",
    "worker-1 True False",
    "worker-2 False True",
    "worker-3 False True",
  ]);
});

test("kubectl shows one node by its name", async () => {
  expect(await shell("kubectl get routernodeconfigurationstatus worker-1 --no-headers")).toMatch(/^worker-1 +True +False +\d+s\n$/);
});

test("the query for monitoring returns each node and whether it is Ready", async () => {
  const query = `kubectl get routernodeconfigurationstatus -o json | jq '.items[] | {name: .metadata.name, ready: (.status.conditions[] | select(.type=="Ready") | .status)}'`;
  expect(stream(await shell(query))).toEqual([
    { name: "control-1", ready: "True" },
    { name: "worker-1", ready: "True" },
    { name: "worker-2", ready: "False" },
    { name: "worker-3", ready: "False" },
  ]);
});

test("the query for failed configurations returns the nodes with failures and their messages", async () => {
  const query = String.raw`kubectl get routernodeconfigurationstatus -o json | jq '.items[] | select(.status.failedResources | length > 0) | {node: .metadata.name, failed: [.status.failedResources[] | "\(.kind)/\(.name): \(.message)"]}'`;
  expect(stream(await shell(query))).toEqual([
    {
      node: "worker-2",
      failed: [
        "L2VNI/tenant-network-a: Interface eth2 not present on node",
        "L2VNI/tenant-network-b: VNI 100 conflicts with L3VNI production-l3",
        "L3VNI/tenant-l3: No healthy L2VNI exists for VRF 'tenant'",
      ],
    },
    { node: "worker-3", failed: ["Underlay/production-underlay: Interface eth0 not present on node"] },
  ]);
});

interface Listed {
  node: string | null;
  kind: string;
  name: string;
  reason: string;
}
const listed = async (query: string) => {
  const all = JSON.parse(await shell(`kubectl get routernodeconfigurationstatus -o json | jq '${query}'`)) as Listed[];
  return all.map(({ node, kind, name, reason }) => `${node} ${kind}/${name} ${reason}`);
};

test("the query for all failed resources returns one list for all nodes", async () => {
  // Where the spec asks for the node, jq already looks at the failed resource, which has none.
  expect(await listed("[.items[] | .status.failedResources[]? | {node: .metadata.name, kind, name, reason, message}]")).toEqual([
    "null L2VNI/tenant-network-a ValidationFailed",
    "null L2VNI/tenant-network-b ValidationFailed",
    "null L3VNI/tenant-l3 DependencyFailed",
    "null Underlay/production-underlay ValidationFailed",
  ]);
});

test("the same query with the node kept in a variable names the nodes too", async () => {
  const query = "[.items[] | .metadata.name as $node | .status.failedResources[]? | {node: $node, kind, name, reason, message}]";
  expect(await listed(query)).toEqual([
    "worker-2 L2VNI/tenant-network-a ValidationFailed",
    "worker-2 L2VNI/tenant-network-b ValidationFailed",
    "worker-2 L3VNI/tenant-l3 DependencyFailed",
    "worker-3 Underlay/production-underlay ValidationFailed",
  ]);
});

test("the query for Underlay failures names the node", async () => {
  const query = `kubectl get routernodeconfigurationstatus -o json | jq '.items[] | select(.status.failedResources[]? | .kind == "Underlay") | .metadata.name'`;
  expect(await shell(query)).toBe('"worker-3"\n');
});

test("the owner reference is the Node with exactly four fields", async () => {
  const { metadata } = await client.resource(RouterNodeConfigurationStatus).get("worker-2", { namespace: NAMESPACE, signal });
  const node = await client.resource(Node).get("worker-2", { signal });
  expect(metadata.ownerReferences).toEqual([{ apiVersion: "v1", kind: "Node", name: "worker-2", uid: node.metadata.uid }]);
});
