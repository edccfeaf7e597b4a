import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { accessAs, installIdentities } from "../../lab/kube/identities.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Service } from "../../src/api/core/service.ts";
import { CustomResourceDefinition, crdOf } from "../../src/api/crds/crd.ts";
import { NETWORK_KINDS } from "../../src/api/crds/kinds.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { NetworkL2VNI } from "../../src/api/network/l2vni.ts";
import { NetworkUnderlay } from "../../src/api/network/underlay.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { plumbline } from "../support/command-line.ts";
import { startController } from "../support/controller.ts";

// A cluster as MetalLB leaves it: its definitions, objects, programs and what it wrote, moved over with the commands of docs/migrate.md.

const { signal } = new AbortController();
const namespace = "metallb-system";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const POOL = { addresses: ["192.0.2.0/24"], autoAssign: true, avoidBuggyIPs: false };
const PEER = { myASN: 64512, peerASN: 64513, peerAddress: "192.0.2.1", peerPort: 179 };
const eventually = <T>(check: () => Promise<T>) => vi.waitFor(check, { timeout: 60_000, interval: 100 });
let api: SuiteApiServer;
let client: KubeClient;
let kubeconfig: string;

beforeAll(async () => {
  api = await apiServer("moving-over");
  client = new KubeClient(api.access);
  kubeconfig = await api.server.kubeconfig("admin");
  for (const name of [namespace, "shop"]) await client.resource(Namespace).create({ metadata: { name } }, { signal });
  await installMetalLb();
});
afterAll(async () => {
  client.close();
  await api.stop();
});

const post = (path: string, body: object) => client.request("POST", path, { body, query: { fieldManager: "kubectl" }, signal });
const whatever = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** A definition of theirs, with versions of which the last is stored. */
async function definition(kind: string, plural: string, versions: readonly string[], status: object, more: object = {}): Promise<void> {
  const group = "metallb.io";
  const names = { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: whatever, status } } };
  const each = versions.map((name) => ({ name, served: true, storage: name === versions.at(-1), subresources: { status: {} }, schema }));
  const spec = { group, names, scope: "Namespaced", versions: each, ...more };
  await post(DEFINITIONS, { metadata: { name: `${plural}.${group}` }, spec });
}

async function installMetalLb(): Promise<void> {
  const text = { type: "string" };
  const webhook = { clientConfig: { url: "https://127.0.0.1:1/convert" }, conversionReviewVersions: ["v1beta1", "v1beta2"] };
  await definition("IPAddressPool", "ipaddresspools", ["v1beta1"], whatever);
  await definition("BGPPeer", "bgppeers", ["v1beta1", "v1beta2"], whatever, { conversion: { strategy: "Webhook", webhook } });
  const properties = { node: text, serviceName: text, serviceNamespace: text };
  await definition("ServiceL2Status", "servicel2statuses", ["v1beta1"], { type: "object", properties });
  await eventually(() => client.resource(IPAddressPool).create({ metadata: { name: "edge", namespace }, spec: POOL }, { signal }));
  await eventually(() => client.resource(BGPPeer).create({ metadata: { name: "tor", namespace }, spec: PEER }, { signal }));
  const theirs = { apiVersion: "metallb.io/v1beta1", kind: "ServiceL2Status", metadata: { name: "l2-x7k2p" } };
  await eventually(() => post(`/apis/metallb.io/v1beta1/namespaces/${namespace}/servicel2statuses`, theirs));
  const counters = { assignedIPv4: 1, assignedIPv6: 0, availableIPv4: 255, availableIPv6: 0 };
  await client.resource(IPAddressPool).patchStatus({ name: "edge", namespace }, { status: counters }, { signal });

  const selector = { matchLabels: { app: "metallb" } };
  const template = (image: string, env: object[]) => ({
    metadata: { labels: selector.matchLabels },
    spec: { containers: [{ name: "main", image, env }] },
  });
  const speaker = template("quay.io/metallb/speaker:v0.16.1", [{ name: "METALLB_BGP_TYPE", value: "frr" }]);
  await post(`/apis/apps/v1/namespaces/${namespace}/daemonsets`, { metadata: { name: "speaker" }, spec: { selector, template: speaker } });
  const controller = template("quay.io/metallb/controller:v0.16.1", []);
  await post(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    metadata: { name: "controller" },
    spec: { selector, template: controller },
  });
  await post(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name: "metallb-memberlist" }, stringData: { secretkey: "s3cret" } });

  const spec = { type: "LoadBalancer" as const, allocateLoadBalancerNodePorts: false, ports: [{ protocol: "TCP" as const, port: 80 }] };
  const annotations = { "metallb.io/ip-allocated-from-pool": "edge" };
  await client.resource(Service).create({ metadata: { name: "web", namespace: "shop", annotations }, spec }, { signal });
  const status = { loadBalancer: { ingress: [{ ip: "192.0.2.77" }] } };
  await client.resource(Service).patchStatus({ name: "web", namespace: "shop" }, { status }, { signal });
}

const migrate = (...args: string[]) => plumbline(["migrate", ...args, "--kubeconfig", kubeconfig]);

interface Found {
  items: { class: string; kind: string; name: string; field: string; message: string }[];
}

async function found(...args: string[]): Promise<string[]> {
  const { items } = JSON.parse((await migrate("check", "-o", "json", ...args)).stdout) as Found;
  return items.map(({ class: what, kind, name, field }) => `${what} ${kind} ${name} ${field}`.trim());
}

const AFTERWARDS = [
  "Stop DaemonSet speaker spec.template",
  "Stop Deployment controller spec.replicas",
  "Differs DaemonSet speaker spec.template.spec.containers[main].env[METALLB_BGP_TYPE]",
  "Unused Secret metallb-memberlist",
];

test("before anything is done, it is told what differs, and reports of MetalLB are not replaced without being told so", async () => {
  const { code, stdout } = await migrate("check");
  expect(code).toBe(1);
  expect(stdout).toContain(
    "In the way:\n  CustomResourceDefinition servicel2statuses.metallb.io: spec.versions: Reports of another program",
  );
  expect(stdout).toMatch(/1 of \d+ differences are in the way\n$/);
  expect(stdout).not.toContain("s3cret");
  const rejected = await migrate("crds");
  expect([rejected.code, rejected.stdout]).toEqual([1, ""]);
  expect(rejected.stderr).toContain(
    "servicel2statuses.metallb.io defines reports of another program; replace them with --replace-status-crds",
  );
  const { stdout: unchanged } = await migrate("check");
  expect(unchanged).toBe(stdout);
});

test("the commands of the guide turn the definitions into ours, every object stays, and every Service keeps its address", async () => {
  const guide = await readFile(join(import.meta.dirname, "../../docs/migrate.md"), "utf8");
  const commands = [...guide.matchAll(/^ *\$ plumbline migrate ((?:check|crds).*)$/gm)].map(([, args = ""]) => args.split(" "));
  expect(commands.map(([name]) => name)).toEqual(["check", "check", "crds"]);
  for (const args of commands.slice(1)) expect([args, (await migrate(...args)).code]).toEqual([args, 0]);

  await eventually(async () => {
    const { spec, status = {} } = await client.resource(IPAddressPool).get("edge", { namespace, signal });
    expect([spec, Object.keys(status)]).toEqual([POOL, []]);
  });
  expect((await client.resource(BGPPeer).get("tor", { namespace, signal })).spec).toEqual(PEER);
  const old = { ...BGPPeer, version: "v1beta1" };
  expect((await client.resource<BGPPeer>(old).get("tor", { namespace, signal })).spec).toEqual(PEER);
  // Their report is there as well, with nothing in it.
  await client.request("GET", `/apis/metallb.io/v1beta1/namespaces/${namespace}/servicel2statuses/l2-x7k2p`, { signal });
  expect(await found()).toEqual(AFTERWARDS);

  await installIdentities(client, signal);
  await using controllers = new AsyncDisposableStack();
  controllers.use(startController(accessAs("controller", api.access)));
  await eventually(async () => {
    const { status } = await client.resource(IPAddressPool).get("edge", { namespace, signal });
    expect(status).toMatchObject({ assignedIPV4: 1, availableIPV4: 255 });
  });
  const web = await client.resource(Service).get("web", { namespace: "shop", signal });
  expect(web.status?.loadBalancer).toEqual({ ingress: [{ ip: "192.0.2.77", ipMode: "VIP" }] });
});

test("objects of OpenPERouter's main branch are in the way, with what their conversion loses", async () => {
  for (const kind of NETWORK_KINDS.filter(({ group }) => group === "network.openperouter.io")) {
    await client.resource(CustomResourceDefinition).create(crdOf(kind), { signal });
  }
  const interfaces = [{ type: "NetworkDevice" as const, networkDevice: { interfaceName: "eth1" } }];
  const neighbors = [{ type: "Internal" as const, listenRange: "192.168.11.0/24" }];
  const fabric = { asn: 64514, routerIDCIDR: "10.0.0.0/24", interfaces, neighbors };
  const metadata = { name: "fabric", namespace };
  await eventually(() => client.resource(NetworkUnderlay).create({ metadata, spec: fabric }, { signal }));
  const l2vni = { vni: 110, vxlanPort: 4789, gatewayIPs: ["10.1.0.1/24"] };
  const domain = { type: "L3VNI" as const, l3vni: { name: "red" } };
  await eventually(() => client.resource(NetworkL2VNI).create({ metadata, spec: { ...l2vni, routingDomain: domain } }, { signal }));
  await expect(client.resource(NetworkL2VNI).create({ metadata: { name: "b", namespace }, spec: l2vni }, { signal })).rejects.toThrow(
    "gatewayIPs requires routingDomain",
  );
  const { stdout, code } = await migrate("check");
  expect(code).toBe(1);
  for (const line of [
    "CustomResourceDefinition underlays.network.openperouter.io: spec.group: Plumbline does not read network.openperouter.io",
    `Underlay ${namespace}/fabric: spec.neighbors[0].listenRange: Lost in the conversion to v0.2`,
    `L2VNI ${namespace}/fabric: spec.routingDomain: Lost in the conversion to v0.2: L3VNI red is not among these objects`,
    "CustomResourceDefinition l2vnis.network.openperouter.io: 1 object of OpenPERouter's main branch",
  ])
    expect(stdout).toContain(line);
});
