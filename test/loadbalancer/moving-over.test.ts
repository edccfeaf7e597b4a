import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { silent } from "../../lab/progress.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { LAUNCHER } from "../support/command-line.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const namespace = "metallb-system";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
let api: SuiteApiServer;
let client: KubeClient;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-moving-"));
  api = await apiServer("lb-moving");
  client = new KubeClient(api.access);
  await client.request("POST", "/api/v1/namespaces", { body: { metadata: { name: namespace } }, signal });
});
afterAll(async () => {
  client.close();
  await api.stop();
  await rm(directory, { recursive: true });
});

const whatever = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const version = (name: string, storage: boolean) => {
  const properties = { spec: whatever, status: whatever };
  return { name, served: true, storage, subresources: { status: {} }, schema: { openAPIV3Schema: { type: "object", properties } } };
};

/** A definition as a cluster with MetalLB has it, written by whoever installed that. */
async function definition(kind: string, versions: readonly object[], more: object = {}): Promise<void> {
  const plural = `${kind.toLowerCase()}s`;
  const names = { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() };
  const body = { metadata: { name: `${plural}.metallb.io` }, spec: { group: "metallb.io", names, scope: "Namespaced", versions, ...more } };
  await client.request("POST", DEFINITIONS, { body, query: { fieldManager: "kubectl-client-side-apply" }, signal });
}

/** The commands that the guide tells to type, each after a `$`. */
async function guide(): Promise<string[]> {
  const text = await readFile(join(import.meta.dirname, "../../docs/loadbalancer.md"), "utf8");
  const [, moving = ""] = text.split("\n## Moving over from MetalLB\n");
  return moving.split("\n").flatMap((line) => /^ *\$ (.*(?:patch crd|plumbline crds).*)$/.exec(line)?.[1] ?? []);
}

/** With the kubectl and the plumbline of this checkout. */
async function type(command: string): Promise<string> {
  const kubectl = (await kubeBinaries(silent)).command("kubectl");
  if (!kubectl) throw new Error("The binaries in KUBEBUILDER_ASSETS bring no kubectl; unset it to use our own build");
  const words = [...kubectl, "--kubeconfig", await api.server.kubeconfig("admin"), "--cache-dir", directory];
  const script = `kubectl() { ${words.map((word) => `'${word}'`).join(" ")} "$@"; }\nplumbline() { '${LAUNCHER}' "$@"; }\n${command}`;
  return (await promisify(execFile)("bash", ["-o", "pipefail", "-c", script], { maxBuffer: 1 << 24 })).stdout;
}

test("what the guide says turns the definitions of MetalLB into ours, and every object stays", async () => {
  const webhook = { clientConfig: { url: "https://127.0.0.1:1/convert" }, conversionReviewVersions: ["v1beta1", "v1beta2"] };
  await definition("IPAddressPool", [version("v1beta1", true)]);
  await definition("BGPPeer", [version("v1beta1", false), version("v1beta2", true)], { conversion: { strategy: "Webhook", webhook } });
  const pool = { metadata: { name: "edge", namespace }, spec: { addresses: ["192.0.2.0/24"], autoAssign: true, avoidBuggyIPs: false } };
  const peer = { metadata: { name: "tor", namespace }, spec: { myASN: 64512, peerASN: 64513, peerAddress: "192.0.2.1", peerPort: 179 } };
  const created = () => client.resource(IPAddressPool).create(pool, { signal });
  await vi.waitFor(created, { timeout: 60_000, interval: 100 });
  await vi.waitFor(() => client.resource(BGPPeer).create(peer, { signal }), { timeout: 60_000, interval: 100 });
  const counters = { assignedIPv4: 1, assignedIPv6: 0, availableIPv4: 255, availableIPv6: 0 };
  await client.resource(IPAddressPool).patchStatus(pool.metadata, { status: counters }, { signal });

  const commands = await guide();
  expect(commands).toHaveLength(2);
  for (const command of commands) await type(command);

  await vi.waitFor(
    async () => {
      const { spec, status = {} } = await client.resource(IPAddressPool).get("edge", { namespace, signal });
      expect(spec).toEqual(pool.spec);
      expect(Object.keys(status)).toEqual([]);
    },
    { timeout: 60_000, interval: 100 },
  );
  expect((await client.resource(BGPPeer).get("tor", { namespace, signal })).spec).toEqual(peer.spec);
  const old = { ...BGPPeer, version: "v1beta1" };
  expect((await client.resource<BGPPeer>(old).get("tor", { namespace, signal })).spec).toEqual(peer.spec);
});
