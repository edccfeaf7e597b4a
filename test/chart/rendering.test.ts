import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { KUBERNETES_VERSION } from "../../lab/kube/binary.ts";
import { CHART, containersOf, helm, rendered, settings, template, VARIATIONS } from "../support/chart.ts";
import { understood } from "../support/parse-command-line.ts";

describe.each(VARIATIONS)("the chart %s", (_how, values) => {
  const objects = rendered(values);

  test("lints", async () => {
    const output = await helm(["lint", "--strict", "--kube-version", KUBERNETES_VERSION, CHART, ...settings(values)]);
    expect(output).toContain("1 chart(s) linted, 0 chart(s) failed");
  });

  test("has each object once, and uses only the given namespaces", async () => {
    const names = (await objects).map(({ kind, metadata: { name, namespace = "" } }) => `${kind} ${namespace}/${name}`);
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
    const known = new Set(["", "plumbline-system", "openperouter-system", "metallb-system", "edge"]);
    expect((await objects).filter(({ metadata: { namespace = "" } }) => !known.has(namespace))).toEqual([]);
  });

  test("starts every container with a valid command line", async () => {
    const containers = containersOf(await objects);
    expect(containers.size).toBeGreaterThan(1);
    for (const { args = [] } of containers.values()) await expect(understood(args)).resolves.toBe(true);
  });

  test("grants nothing by wildcard", async () => {
    const roles = (await objects).filter(({ kind }) => kind === "Role" || kind === "ClusterRole");
    expect(roles.length).toBeGreaterThan(5);
    expect(roles.filter(({ rules }) => JSON.stringify(rules).includes('"*"'))).toEqual([]);
  });

  test("has read-only root file systems, and only the container that creates the namespace is privileged", async () => {
    const containers = [...containersOf(await objects)];
    expect(containers.filter(([, { securityContext }]) => securityContext?.readOnlyRootFilesystem !== true)).toEqual([]);
    const mayAll = containers.filter(([, { securityContext }]) => securityContext?.capabilities?.drop?.[0] !== "ALL");
    expect(mayAll.map(([name]) => name).filter((name) => name !== "plumbline-frr/namespace")).toEqual([]);
    expect(containers.filter(([name, { securityContext }]) => securityContext?.privileged && name !== "plumbline-frr/namespace")).toEqual(
      [],
    );
  });
});

test("the health port of the agent is on the internal addresses of the node, which kubelet and Service use", async () => {
  const agent = (await rendered({})).find(({ kind, metadata }) => kind === "DaemonSet" && metadata.name === "plumbline-agent");
  const text = JSON.stringify(agent);
  expect(text).toContain('"--health-address=[$(HOST_IPS)]:8081"');
  expect(text).toContain('{"name":"HOST_IPS","valueFrom":{"fieldRef":{"fieldPath":"status.hostIPs"}}}');
  expect(text).toContain('"hostNetwork":true');
});

async function ingress(values: Record<string, unknown>): Promise<object[]> {
  const policy = (await rendered(values)).find(({ kind }) => kind === "NetworkPolicy") as unknown as { spec: { ingress: object[] } };
  return policy.spec.ingress;
}

test("the network policy allows all, or for each port only the named peers", async () => {
  expect(await ingress({})).toEqual(["metrics", "webhook", "page"].map((port) => ({ ports: [{ port }] })));
  const from = [{ ipBlock: { cidr: "192.0.2.0/24" } }];
  expect(await ingress({ "networkPolicy.from.webhook": from })).toEqual([
    { ports: [{ port: "metrics" }] },
    { ports: [{ port: "webhook" }], from },
    { ports: [{ port: "page" }] },
  ]);
});

test("an unknown flag is detected", async () => {
  await expect(understood(["agent", "--no-such-flag"])).rejects.toThrow("unknown option '--no-such-flag'");
  await expect(understood(["frr", "walk"])).rejects.toThrow("unknown command 'walk'");
});

test.each([
  [{ "router.enabeld": true }, "at '/router': additional properties 'enabeld' not allowed"],
  [{ "image.pullPolicy": "Sometimes" }, "at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"],
  [{ "namespaces.create": "yes" }, "at '/namespaces/create': got string, want boolean"],
  [{ "namespaces.router": "Edge" }, "at '/namespaces/router'"],
  [{ "agent.healthPort": 80_810 }, "at '/agent/healthPort': maximum"],
  [{ "controller.replicas": 0 }, "at '/controller/replicas': minimum"],
  [{ "connectivity.checkInterval": "1 minute" }, "at '/connectivity/checkInterval'"],
  [{ "connectivity.allowTargets": ["link-local"] }, "at '/connectivity/allowTargets/0'"],
  [{ "connectivity.externalChecks.sourcesPerTarget": 0 }, "at '/connectivity/externalChecks/sourcesPerTarget': minimum"],
  [{ "monitoring.rules": true }, "at '/monitoring/rules': value must be one of 'on', 'off', 'auto'"],
  [{ "monitoring.runbooks": "https://wiki.example.com/" }, "at '/monitoring/runbooks'"],
  [{ "agent.resources": { limit: { memory: "1Gi" } } }, "at '/agent/resources': additional properties 'limit' not allowed"],
])("a wrong value is rejected with its path: %o", async (values, message) => {
  await expect(template(values)).rejects.toThrow(message);
});

const EXTERNAL = {
  "connectivity.externalChecks.enabled": true,
  "connectivity.externalChecks.selector": { matchLabels: { tier: "front" } },
};

async function meshes(values: Record<string, unknown>): Promise<object[]> {
  const known = ["--api-versions", "plumbline.dev/v1alpha1/ConnectivityMesh"];
  return (await rendered(values, known)).filter(({ kind }) => kind === "ConnectivityMesh");
}

test("external checks are a mesh of every announced Service, on request and if its kind exists", async () => {
  await expect(template(EXTERNAL)).rejects.toThrow("needs the kind ConnectivityMesh in the cluster");
  expect(await meshes({})).toEqual([]);
  expect(await meshes({ ...EXTERNAL, "loadbalancer.enabled": false })).toEqual([]);
  expect(await meshes(EXTERNAL)).toMatchObject([
    {
      metadata: { name: "announced-services", namespace: "plumbline-system" },
      spec: { sources: { nodes: {} }, targets: [{ announced: { selector: { matchLabels: { tier: "front" } } } }], sourcesPerTarget: 3 },
    },
  ]);
});

test.each(["namespaces.router", "namespaces.loadbalancer"])(
  "the release must not be in a namespace whose Secrets agents may read: %s",
  async (value) => {
    await expect(template({ [value]: "plumbline-system" })).rejects.toThrow(
      "Plumbline needs a namespace of its own: agents may read every Secret in plumbline-system, where configuration is",
    );
  },
);

test("namespaces may swap their default names", async () => {
  const objects = await rendered({ "namespaces.router": "metallb-system", "namespaces.loadbalancer": "pools" });
  const roles = objects.filter(({ kind }) => kind === "Role").map(({ metadata }) => `${metadata.name} ${metadata.namespace}`);
  expect(roles).toEqual(expect.arrayContaining(["plumbline-router-agent metallb-system", "plumbline-loadbalancer-agent pools"]));
});

/** What each container may beyond what anyone may. */
async function rights(values: Record<string, unknown>): Promise<Record<string, readonly string[]>> {
  const containers = containersOf(await rendered(values));
  return Object.fromEntries(containers.entries().map(([name, { securityContext }]) => [name, securityContext?.capabilities?.add ?? []]));
}

test("permissions cover only the enabled parts", async () => {
  const frr = ["SYS_ADMIN", "NET_ADMIN", "NET_RAW", "NET_BIND_SERVICE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID", "KILL"];
  expect(await rights({})).toEqual({
    "plumbline-controller/controller": [],
    "plumbline-agent/agent": ["SYS_ADMIN", "NET_ADMIN", "NET_RAW"],
    "plumbline-frr/namespace": [],
    "plumbline-frr/frr": frr,
  });
  expect(await rights({ "router.enabled": false })).toEqual({
    "plumbline-controller/controller": [],
    "plumbline-agent/agent": ["NET_ADMIN", "NET_RAW"],
    "plumbline-frr/frr": frr,
  });
});

test("roles of disabled parts are not bound", async () => {
  const names = (await rendered({ "router.enabled": false })).map(({ metadata }) => metadata.name);
  expect(names).toContain("plumbline-loadbalancer-agent");
  expect(names).not.toContain("plumbline-router-agent");
});

function controllerOf(objects: Awaited<ReturnType<typeof rendered>>): readonly string[] | undefined {
  return containersOf(objects).get("plumbline-controller/controller")?.args;
}

test("without failover the controller has no permission to switch anything, and ignores policies", async () => {
  const on = await rendered({ "failover.namespaces": ["platform", "dr"] });
  expect(on.filter(({ metadata }) => metadata.name === "plumbline-failover-controller").map(({ kind }) => kind)).toEqual([
    "ClusterRole",
    "ClusterRoleBinding",
  ]);
  expect(controllerOf(on)).toContain("--failover-namespaces=platform,dr");
  expect(controllerOf(on)).not.toContain("--no-failover");

  const off = await rendered({ "failover.enabled": false });
  expect(off.filter(({ metadata }) => metadata.name === "plumbline-failover-controller")).toEqual([]);
  expect(controllerOf(off)).toContain("--no-failover");
  const rules = off.filter(({ kind }) => kind === "ClusterRole").map(({ rules: all }) => JSON.stringify(all));
  expect(rules.filter((text) => /"(statefulsets|deployments|volumereplications)"/.test(text) && text.includes('"patch"'))).toEqual([]);
});

test("metrics of a policy keep its namespace, and every sample has its node", async () => {
  const objects = await rendered({ "monitoring.serviceMonitor": "on" });
  const monitor = objects.find(({ kind }) => kind === "ServiceMonitor") as unknown as { spec: { endpoints: object[] } };
  const relabelings = [{ sourceLabels: ["__meta_kubernetes_pod_node_name"], targetLabel: "node" }];
  expect(monitor.spec.endpoints).toEqual([{ port: "metrics", honorLabels: true, relabelings }]);
});

test("the chart has the version of the program", async () => {
  const chart = parse(await readFile(join(CHART, "Chart.yaml"), "utf8")) as { version: string; appVersion: string };
  const { version } = JSON.parse(await readFile(join(CHART, "../../package.json"), "utf8")) as { version: string };
  expect([chart.version, chart.appVersion]).toEqual([version, version]);
});
