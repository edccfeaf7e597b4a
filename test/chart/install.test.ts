import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { applyCrds } from "../../lab/kube/install-crds.ts";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { silent } from "../../lab/progress.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { crdOf, CustomResourceDefinition } from "../../src/api/crds/crd.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { Service } from "../../src/api/core/service.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../src/api/metallb/configuration-status.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { createLog } from "../../src/kube/log.ts";
import { heartbeat } from "../../src/kube/members/heartbeat.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { ValidatingWebhookConfiguration } from "../../src/kube/webhook/configuration.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { LAUNCHER, plumbline } from "../support/command-line.ts";
import { CHART, helm, template, VARIATIONS } from "../support/chart.ts";

let api: SuiteApiServer;
let client: KubeClient;
let env: Record<string, string>;

beforeAll(async () => {
  // As every installer of clusters sets it.
  api = await apiServer("chart", { flags: ["--allow-privileged=true"] });
  client = new KubeClient(api.access);
  env = { KUBECONFIG: await api.server.kubeconfig("admin") };
  await helm(["install", "plumbline", CHART, "--namespace", "edge-system", "--create-namespace"], env);
  // For variations in another namespace, or in one that the chart does not create.
  const namespaces = client.resource(Namespace);
  for (const name of ["plumbline-system", "edge"]) await namespaces.create({ metadata: { name } }, { signal: soon() });
});
afterAll(async () => {
  client.close();
  await api.stop();
});

function soon(): AbortSignal {
  return AbortSignal.timeout(60_000);
}

/** `kubectl plumbline`: the program under the name by which kubectl looks for it. */
const plugins = await mkdtemp(join(tmpdir(), "plumbline-plugins-"));
await symlink(LAUNCHER, join(plugins, "kubectl-plumbline"));
afterAll(() => rm(plugins, { recursive: true }));

async function kubectl(args: readonly string[], input = ""): Promise<string> {
  const [program = "", ...before] = (await kubeBinaries(silent)).command("kubectl") ?? [];
  const running = promisify(execFile)(program, [...before, ...args], {
    env: { ...process.env, ...env, PATH: `${plugins}:${process.env["PATH"]}` },
    maxBuffer: 1 << 26,
  });
  running.child.stdin?.end(input);
  return (await running).stdout;
}

/** As Prometheus' operator brings them, as far as an API server without it goes. */
function monitoringKind(kind: string, plural: string): CustomResourceDefinition {
  const spec: CustomResourceDefinition["spec"] = {
    group: "monitoring.coreos.com",
    scope: "Namespaced",
    names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
    conversion: { strategy: "None" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  };
  return { ...crdOf(IPAddressPool), metadata: { name: `${plural}.monitoring.coreos.com` }, spec };
}

async function may(who: string, what: string): Promise<string> {
  const question = ["auth", "can-i", ...what.split(" "), `--as=system:serviceaccount:edge-system:plumbline-${who}`];
  return (await kubectl(question).catch((error: { stdout: string }) => error.stdout)).trim();
}

test("the ServiceAccounts are in the namespace of the release", async () => {
  const answers = [
    may("agent", "patch routernodeconfigurationstatuses --subresource=status -n openperouter-system"),
    may("agent", "create leases -n edge-system"),
    may("agent", "patch services --subresource=status -n default"),
    may("controller", "patch services --subresource=status -n default"),
  ];
  expect(await Promise.all(answers)).toEqual(["yes", "yes", "no", "yes"]);
});

test("kubectl finds its plugin, which uses the same cluster", async () => {
  expect(await kubectl(["plumbline", "get", "namespace", "openperouter-system", "-o", "name"])).toBe("namespace/openperouter-system\n");
  expect(await kubectl(["plugin", "list", "--name-only"])).toContain("kubectl-plumbline");
});

test("an upgrade adds the objects for the Prometheus operator, and keeps what the controller wrote", async () => {
  const webhooks = client.resource(ValidatingWebhookConfiguration);
  const { webhooks: hooks = [] } = await webhooks.get("plumbline-webhook", { signal: soon() });
  for (const one of hooks) one.clientConfig.caBundle = "b3Vycw==";
  await webhooks.patch({ name: "plumbline-webhook" }, { webhooks: hooks }, { signal: soon() });
  const kinds = [monitoringKind("ServiceMonitor", "servicemonitors"), monitoringKind("PrometheusRule", "prometheusrules")];
  await applyCrds(client, kinds, soon());

  await helm(["upgrade", "plumbline", CHART, "--namespace", "edge-system"], env);
  const names = (await kubectl(["get", "servicemonitors,prometheusrules", "-n", "edge-system", "-o", "name"])).trim().split("\n");
  expect(names).toEqual(["servicemonitor.monitoring.coreos.com/plumbline", "prometheusrule.monitoring.coreos.com/plumbline"]);
  const after = (await webhooks.get("plumbline-webhook", { signal: soon() })).webhooks ?? [];
  expect(after.map(({ clientConfig }) => clientConfig.caBundle)).toEqual(hooks.map(() => "b3Vycw=="));
});

test.each(VARIATIONS)("the API server accepts all objects of the chart %s in strict mode", async (_how, values) => {
  // The definitions are there already, and many.
  const text = await template({ ...values, "crds.install": false });
  const flags = ["--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict"];
  const output = await kubectl(["apply", ...flags, "-f", "-"], text);
  expect(output.trim().split("\n").length).toBeGreaterThan(20);
});

test("an uninstall keeps the CRDs and the configuration of users", async () => {
  await helm(["uninstall", "plumbline", "--namespace", "edge-system"], env);
  const definitions = await client.resource(CustomResourceDefinition).list({ signal: soon() });
  expect(definitions.items.filter(({ spec }) => spec.group === "metallb.io")).toHaveLength(
    CUSTOM_KINDS.filter(({ group }) => group === "metallb.io").length,
  );
  expect((await client.resource(Namespace).get("metallb-system", { signal: soon() })).metadata.deletionTimestamp).toBeUndefined();
  expect((await kubectl(["get", "deployments,daemonsets,clusterroles", "-A", "-o", "name"])).includes("plumbline")).toBe(false);
});

test('afterwards "plumbline clean --statuses" removes all our statuses, and nothing while an agent runs', async () => {
  const at = new Date().toISOString();
  const condition = (type: string) => ({ type, status: "True", reason: "Fine", message: "", lastTransitionTime: at });
  const annotations = { "plumbline.dev/node": "n1" };
  const put = async <T extends KubeObject>(kind: Kind<T>, metadata: object, fields: object, status: object) => {
    const { metadata: made } = await client.resource(kind).create({ metadata, ...fields } as never, { signal: soon() });
    await client.resource(kind).patchStatus(made, { status }, { signal: soon() });
  };
  const [routers, metallb] = [{ namespace: "openperouter-system" }, { namespace: "metallb-system" }];
  await put(RouterNodeConfigurationStatus, { name: "n1", ...routers, annotations }, {}, { conditions: [condition("Ready")] });
  await put(RouterNodeConfigurationStatus, { name: "of-others", ...routers }, {}, { conditions: [condition("Ready")] });
  await put(ConfigurationState, { name: "speaker-n1", ...metallb, annotations }, {}, { result: "Valid", lastError: "" });
  await put(ConfigurationState, { name: "controller", ...metallb }, {}, { result: "Valid", lastError: "" });
  await put(ConfigurationStatus, { name: "config-status", ...metallb }, {}, { validConfig: true });
  await put(BGPSessionStatus, { name: "n1-tor", ...metallb, annotations }, {}, { bgpStatus: "Established" });
  const ports = { spec: { ports: [{ port: 80 }] } };
  const conditions = [condition("metallb.io/Announced"), condition("example.com/Theirs")];
  await put(Service, { name: "web", namespace: "default" }, ports, { conditions });

  const stop = new AbortController();
  const agent = { client, namespace: "edge-system", node: "n1", nodeUid: () => undefined, log: createLog({ level: "silent" }) };
  const beating = heartbeat({ ...agent, durationMs: 1_000, renewMs: 200 }).run(stop.signal);
  await expect.poll(() => leases(), { timeout: 30_000 }).toEqual(["agent-n1"]);
  const clean = (...flags: string[]) => plumbline(["clean", "--statuses", "--namespace", "edge-system", ...flags], env);
  const rejected = await clean();
  expect([rejected.code, rejected.stderr]).toEqual([1, expect.stringContaining("The agent on node n1 is running and would report again")]);
  stop.abort();
  await beating;

  const cleaned = [
    "RouterNodeConfigurationStatus openperouter-system/n1 deleted",
    "ConfigurationState metallb-system/controller deleted",
    "ConfigurationState metallb-system/speaker-n1 deleted",
    "ConfigurationStatus metallb-system/config-status deleted",
    "BGPSessionStatus metallb-system/n1-tor deleted",
    "Service default/web condition metallb.io/Announced removed",
    "Lease edge-system/agent-n1 deleted",
  ];
  const dryRun = await clean("--dry-run", "-o", "json");
  const { kind, items } = JSON.parse(dryRun.stdout) as { kind: string; items: { name: string; done: boolean }[] };
  expect([dryRun.code, kind, items.length, items.every(({ done }) => !done)]).toEqual([0, "CleanedStatus", cleaned.length, true]);
  expect(await clean()).toMatchObject({ code: 0, stdout: cleaned.map((line) => `${line}\n`).join("") });
  const reports = await client.resource(RouterNodeConfigurationStatus).list({ ...routers, signal: soon() });
  expect(reports.items.map(({ metadata }) => metadata.name)).toEqual(["of-others"]);
  const { status } = await client.resource(Service).get("web", { namespace: "default", signal: soon() });
  expect(status?.conditions?.map(({ type }) => type)).toEqual(["example.com/Theirs"]);
  expect(await leases()).toEqual([]);
  expect(await clean()).toMatchObject({ code: 0, stdout: "No Plumbline reports found in this cluster.\n", stderr: "" });
  expect((await plumbline(["clean"], env)).code).toBe(2);
});

async function leases(): Promise<string[]> {
  return (await client.resource(Lease).list({ namespace: "edge-system", signal: soon() })).items.map(({ metadata }) => metadata.name);
}
