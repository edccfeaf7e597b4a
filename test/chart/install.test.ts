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
import { crdOf, CustomResourceDefinition } from "../../src/api/crd.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { CUSTOM_KINDS } from "../../src/api/kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { ValidatingWebhookConfiguration } from "../../src/kube/webhook/configuration.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { LAUNCHER } from "../support/command-line.ts";
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
  // For those of the variations that are installed elsewhere, or where somebody else has made the namespace.
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

test("the identities are those of the release's namespace", async () => {
  const answers = [
    may("agent", "patch routernodeconfigurationstatuses --subresource=status -n openperouter-system"),
    may("agent", "create leases -n edge-system"),
    may("agent", "patch services --subresource=status -n default"),
    may("controller", "patch services --subresource=status -n default"),
  ];
  expect(await Promise.all(answers)).toEqual(["yes", "yes", "no", "yes"]);
});

test("kubectl finds its plugin, which speaks to the same cluster", async () => {
  expect(await kubectl(["plumbline", "get", "namespace", "openperouter-system", "-o", "name"])).toBe("namespace/openperouter-system\n");
  expect(await kubectl(["plugin", "list", "--name-only"])).toContain("kubectl-plumbline");
});

test("where Prometheus' operator is, an upgrade brings it what to watch; and it leaves alone what the controller wrote", async () => {
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

test.each(VARIATIONS)("the API server takes all of the chart %s to the letter", async (_how, values) => {
  // The definitions are there already, and many.
  const text = await template({ ...values, "crds.install": false });
  const flags = ["--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict"];
  const said = await kubectl(["apply", ...flags, "-f", "-"], text);
  expect(said.trim().split("\n").length).toBeGreaterThan(20);
});

test("who removes the release keeps the definitions and what people have configured", async () => {
  await helm(["uninstall", "plumbline", "--namespace", "edge-system"], env);
  const definitions = await client.resource(CustomResourceDefinition).list({ signal: soon() });
  expect(definitions.items.filter(({ spec }) => spec.group === "metallb.io")).toHaveLength(
    CUSTOM_KINDS.filter(({ group }) => group === "metallb.io").length,
  );
  expect((await client.resource(Namespace).get("metallb-system", { signal: soon() })).metadata.deletionTimestamp).toBeUndefined();
  expect((await kubectl(["get", "deployments,daemonsets,clusterroles", "-A", "-o", "name"])).includes("plumbline")).toBe(false);
});
