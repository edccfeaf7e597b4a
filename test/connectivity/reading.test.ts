import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { metaTime } from "../../src/api/time.ts";
import { plumbline } from "../support/command-line.ts";
import { type CommandLineServer, embeddedServer, realServer } from "../support/servers.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const EXAMPLES = ["address", "name"].map((name) => join(import.meta.dirname, "testdata", `spec-example-${name}.yaml`));
const own = "plumbline-system";
type Check = PodNetworkConnectivityCheck;
type Status = NonNullable<Check["status"]>;

/** Set when a server is up: what is printed tells how long ago things were. */
let begun = Date.now();
const ago = (seconds: number) => metaTime(new Date(begun - seconds * 1000));
const done = (endpoint: string, seconds: number) => ({
  time: ago(seconds),
  success: true,
  reason: "ConnectDone",
  message: `Connected to ${endpoint}`,
  latency: `${(seconds % 7) + 1}ms`,
});
const failed = (endpoint: string, seconds: number) => ({
  time: ago(seconds),
  success: false,
  reason: "ConnectError",
  message: `Failed connect to ${endpoint}; Connection timed out`,
  latency: "5s",
});

function well(endpoint: string): Status {
  const message = `Connected to ${endpoint}`;
  return {
    successes: [10, 70, 130, 190].map((seconds) => done(endpoint, seconds)),
    conditions: [{ type: "Reachable", status: "True", reason: "ConnectDone", message, lastTransitionTime: ago(190) }],
  };
}

/** Not reached for six minutes. */
function broken(endpoint: string): Status {
  const { message } = failed(endpoint, 0);
  return {
    successes: [420, 480].map((seconds) => done(endpoint, seconds)),
    failures: [60, 360].map((seconds) => failed(endpoint, seconds)),
    outages: [
      {
        start: ago(360),
        startedAfter: ago(420),
        endedAfter: ago(60),
        startLogs: [failed(endpoint, 360)],
        endLogs: [failed(endpoint, 60)],
        message: `Connectivity outage detected at ${ago(360)}`,
      },
    ],
    conditions: [{ type: "Reachable", status: "False", reason: "ConnectError", message, lastTransitionTime: ago(360) }],
  };
}

/** Times are different each time, and so is the room that they take in a table. */
const timeless = (text: string) =>
  text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ to (\S+T)?\d\d:\d\d:\d\dZ/g, "WINDOW")
    .replaceAll(/\b\d+m(\d+s)? so far/g, "LONG so far")
    .replaceAll(/^.*(?:BROKE|WINDOW).*$/gm, (line) => line.replaceAll(/(?<=\S) {3,}/g, " | "));

test("lint accepts the corrected examples of the specification", async () => {
  expect(await plumbline(["lint", "-f", ...EXAMPLES])).toEqual({ code: 0, stdout: "2 objects, no problems\n", stderr: "" });
});

let real: Awaited<ReturnType<typeof realServer>>;
beforeAll(async () => {
  real = await realServer("reading");
});
afterAll(() => real.stop());

describe.each<[string, () => Promise<CommandLineServer>]>([
  ["a real API server", () => Promise.resolve({ ...real, stop: () => Promise.resolve() })],
  ["the embedded API", embeddedServer],
])("on %s", (_name, start) => {
  let server: CommandLineServer;
  beforeAll(async () => {
    server = await start();
    for (const name of ["openshift-kube-apiserver", "openshift-apiserver"])
      await server.client.resource(Namespace).create({ metadata: { name } }, { signal });
    begun = Date.now();
  });
  afterAll(() => server.stop());

  async function check(
    source: string,
    targetEndpoint: string,
    what: string,
    status: Status,
    more: Record<string, string> = {},
  ): Promise<void> {
    const annotations = { "plumbline.dev/node": source, "plumbline.dev/mesh": "nodes", "plumbline.dev/target": what, ...more };
    const name = `${source}-to-${targetEndpoint.replaceAll(/[^a-z0-9]+/g, "-")}`;
    const metadata = { name, namespace: own, annotations, labels: { "plumbline.dev/mesh": "nodes" } };
    const checks = server.client.resource(PodNetworkConnectivityCheck);
    await checks.create({ metadata, spec: { sourcePod: source, targetEndpoint } }, { signal });
    await checks.patchStatus({ name, namespace: own }, { status }, { signal });
  }

  test("without checks there is nothing to report", async () => {
    expect(await server.plumbline("connectivity")).toEqual({
      code: 3,
      stdout: "",
      stderr: "plumbline: No checks found: create a ConnectivityMesh\n",
    });
  });

  test("the corrected examples of the specification apply, and their results of 2020 are outdated", async () => {
    expect(await server.plumbline("apply", "-f", ...EXAMPLES)).toMatchObject({ code: 0, stderr: "" });
    for (const file of EXAMPLES) {
      const { apiVersion, metadata, status } = parse(await readFile(file, "utf8")) as Check;
      const path = `/apis/${apiVersion}/namespaces/${metadata.namespace}/podnetworkconnectivitychecks/${metadata.name}/status`;
      const written = await server.client.request<Check>("PATCH", path, {
        signal,
        body: { status },
        contentType: "application/merge-patch+json",
        query: { fieldValidation: "Strict" },
      });
      expect(written.status).toEqual(status);
    }
    const { code, stdout } = await server.plumbline("connectivity");
    expect({ code, stdout }).toEqual({
      code: 3,
      stdout: `2 sources, 2 targets, 2 checks: 0 reached, 2 without result

                                                                                        1 2
pod openshift-apiserver/apiserver-db674d48d-cxj9p                                         ?
pod openshift-kube-apiserver/kube-apiserver-ip-10-0-135-158.us-west-1.compute.internal  ?

1  10.0.134.23:2379
2  etcd.openshift-etcd.svc:2379 (Service openshift-etcd/etcd)

? no result   empty: not tried

Not known:
  Pod openshift-apiserver/apiserver-db674d48d-cxj9p and pod openshift-kube-apiserver/kube-apiserver-ip-10-0-135-158.us-west-1.compute.internal no longer report (2 checks): the results are unknown
`,
    });
  });

  test("the first of them is described with its outages", async () => {
    const { stdout } = await server.plumbline("describe", "pncc", "-n", "openshift-kube-apiserver");
    expect(stdout).toContain(`Latency:
  connect   ▁▁x   min 200ms, median 200ms, max 200ms of 2 since 2020-04-20T12:11:18Z
`);
    expect(stdout.replaceAll(/(?<=\S) {3,}/g, " | ")).toContain(`Outages:
  BROKE | RESTORED | LASTED | WHY | MESSAGE
  by 2020-04-20T14:11:18Z | no report since 2020-04-20T14:11:18Z | at least 0s | ConnectError
  by 2020-03-20T12:10:00Z | 2020-03-20T12:10:00Z to 12:12:00Z | at least 0s | ConnectError
`);
  });

  test("draws a mesh and describes its failures in one sentence", async () => {
    for (const [name, zone] of [
      ["n1", "a"],
      ["n2", "a"],
      ["n3", "b"],
    ] as const) {
      await server.client
        .resource(Node)
        .create({ metadata: { name, labels: { "topology.kubernetes.io/zone": zone } }, spec: {} }, { signal });
      await check(name, "10.96.0.5:80", "service/shop/web", broken("10.96.0.5:80"));
      await check(name, "10.1.1.1:80", "endpoint/shop/web", well("10.1.1.1:80"), { "plumbline.dev/target-node": "n1" });
    }
    const { code, stdout, stderr } = await server.plumbline("connectivity", "-n", own, "--mesh", "nodes");
    expect({ code, stderr, stdout: timeless(stdout) }).toEqual({
      code: 1,
      stderr: "",
      stdout: `3 sources, 2 targets, 6 checks: 3 reached, 3 not reached

         1 2
node n1  . X
node n2  . X
node n3  . X

1  10.1.1.1:80 (endpoint of Service shop/web on node n1)
2  10.96.0.5:80 (Service shop/web)

. reached   X not reached

Why:
  Service shop/web is unreachable at its address: all 3 checks fail, from 3 sources (Connection timed out), while its endpoints are reachable (3 of 3 checks): the pods work

Outages now:
  # | BROKE | RESTORED | LASTED | WHAT | FROM | WHY | OVERLAPS
  1 | WINDOW | still open | LONG so far | 10.96.0.5:80 (Service shop/web) | node n1, node n2 and node n3 | Connection timed out
`,
    });
  });

  test("-o json has the same content", async () => {
    const { code, stdout } = await server.plumbline("connectivity", "-n", own, "-o", "json");
    const { apiVersion, kind, items } = JSON.parse(stdout) as {
      apiVersion: string;
      kind: string;
      items: [{ checks: object[]; blame: object[]; outages: object[] }];
    };
    expect({ code, apiVersion, kind, length: items.length }).toEqual({
      code: 1,
      apiVersion: "plumbline.dev/cli/v1",
      kind: "Connectivity",
      length: 1,
    });
    const [{ checks, blame, outages }] = items;
    expect(checks).toContainEqual({
      check: `${own}/n1-to-10-96-0-5-80`,
      source: { kind: "node", name: "n1", node: "n1", zone: "a" },
      target: { endpoint: "10.96.0.5:80", host: "10.96.0.5", port: "80", hostType: "IPv4", what: "service/shop/web" },
      verdict: "failed",
      reason: "ConnectError",
      message: "Failed connect to 10.96.0.5:80; Connection timed out",
      why: "Connection timed out",
      since: ago(360),
    });
    expect(blame).toMatchObject([
      {
        cause: { scope: "address", names: ["shop/web"], way: "any" },
        checks: ["n1", "n2", "n3"].map((node) => `${own}/${node}-to-10-96-0-5-80`),
        sentence: expect.stringMatching(/^Service shop\/web is unreachable at its address: /) as string,
      },
    ]);
    expect(outages).toMatchObject([{ state: "open", brokenAfter: ago(420), brokenBy: ago(360) }]);
  });

  test("lists outages with their known bounds, as far back as requested", async () => {
    const { code, stdout, stderr } = await server.plumbline("outages", "-n", own);
    expect({ code, stdout: timeless(stdout), stderr }).toEqual({
      code: 0,
      stdout: `# | BROKE | RESTORED | LASTED | WHAT | FROM | WHY | OVERLAPS
1 | WINDOW | still open | LONG so far | 10.96.0.5:80 (Service shop/web) | node n1, node n2 and node n3 | Connection timed out

Likely causes:
  1: Service shop/web is unreachable at its address: all 3 checks fail, from 3 sources (Connection timed out); no other target is checked, so the target may not be the cause
`,
      stderr: "",
    });
    const { stdout: none, stderr: warning } = await server.plumbline("outages", "-n", "openshift-kube-apiserver", "--since", "7d");
    expect([none, warning]).toEqual([
      "No outage in the last 7d, by 1 check\n",
      "Warning: 1 check without a current result: plumbline connectivity says why\n",
    ]);
    const json = await server.plumbline("outages", "-n", "openshift-kube-apiserver", "--since", "9999d", "-o", "json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      kind: "Outage",
      items: [
        { state: "unknown", overlaps: [] },
        { state: "over", restoredBy: "2020-03-20T12:12:00Z" },
      ],
    });
    expect(await server.plumbline("outages", "--since", "tomorrow")).toEqual({
      code: 2,
      stdout: "",
      stderr: "plumbline: --since tomorrow is not a duration: use 90m, 24h or 7d\n",
    });
  });

  test("reports a mesh that does not exist and a namespace without checks", async () => {
    expect(await server.plumbline("connectivity", "--mesh", "none")).toMatchObject({
      code: 3,
      stderr: "plumbline: No checks found of ConnectivityMesh none\n",
    });
    expect(await server.plumbline("outages", "-n", "default")).toMatchObject({
      code: 3,
      stderr: "plumbline: No checks found in namespace default\n",
    });
  });
});

test("shows the checks of a namespace to a user who may read nothing else", async () => {
  const { api, client } = real;
  const rules = [{ apiGroups: ["controlplane.operator.openshift.io"], resources: ["podnetworkconnectivitychecks"], verbs: ["list"] }];
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
  await client.request("POST", `${rbac}/roles`, { signal, body: { metadata: { name: "reader" }, rules } });
  const subjects = [{ kind: "User", name: "plumbline:unprivileged", apiGroup: "rbac.authorization.k8s.io" }];
  const roleRef = { kind: "Role", name: "reader", apiGroup: "rbac.authorization.k8s.io" };
  await client.request("POST", `${rbac}/rolebindings`, { signal, body: { metadata: { name: "reader" }, subjects, roleRef } });
  const checks = client.resource(PodNetworkConnectivityCheck);
  const spec = { sourcePod: "kas", targetEndpoint: "10.0.0.1:80" };
  await checks.create({ metadata: { name: "one", namespace: "default" }, spec }, { signal });
  await checks.patchStatus({ name: "one", namespace: "default" }, { status: well("10.0.0.1:80") }, { signal });

  const env = { KUBECONFIG: await api.server.kubeconfig("unprivileged"), PLUMBLINE_DIR: "" };
  // The authorizer learns of a new role with a delay.
  await vi.waitFor(async () => {
    const { code, stdout, stderr } = await plumbline(["connectivity", "-n", "default"], env);
    expect({ code, stderr, head: stdout.split("\n")[0] }).toEqual({
      code: 0,
      stderr: "",
      head: "1 source, 1 target, 1 check: 1 reached",
    });
  }, 300_000);
  const all = await plumbline(["connectivity"], env);
  expect(all).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("forbidden") as string });
});
