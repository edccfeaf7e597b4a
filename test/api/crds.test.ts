import { execFile } from "node:child_process";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { silent } from "../../lab/progress.ts";
import { CustomResourceDefinition, crdOf } from "../../src/api/crds/crd.ts";
import { apiVersionOf } from "../../src/api/kind.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import type { Schema } from "../../src/api/schema.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { SampleKind } from "./fixtures.ts";

const CRDS = join(import.meta.dirname, "../../deploy/crds");

const { signal } = new AbortController();
let api: SuiteApiServer;
let client: KubeClient;
let kubectl: (...args: string[]) => Promise<{ stdout: string; stderr: string }>;

beforeAll(async () => {
  api = await apiServer("crds");
  client = new KubeClient(api.access);
  const [program, ...leading] = (await kubeBinaries(silent)).command("kubectl") ?? ["kubectl"];
  const kubeconfig = await api.server.kubeconfig("admin");
  kubectl = (...args) =>
    promisify(execFile)(program, [...leading, "--kubeconfig", kubeconfig, "--cache-dir", join(api.server.directory, "cache"), ...args]);

  const crds = client.resource(CustomResourceDefinition);
  const files = await Promise.all((await readdir(CRDS)).map((name) => readFile(join(CRDS, name), "utf8")));
  for (const file of files) await crds.create(parse(file) as CustomResourceDefinition, { signal });
  await crds.create(crdOf(SampleKind), { signal });
  for (const kind of [...CUSTOM_KINDS, SampleKind])
    await vi.waitFor(() => client.resource(kind).list({ signal }), { timeout: 60_000, interval: 50 });
  for (const name of ["openperouter-system", "metallb-system"]) await kubectl("create", "namespace", name);
});

afterAll(async () => {
  client.close();
  await api.stop();
});

test.each([...CUSTOM_KINDS, SampleKind].map((kind) => [kind.kind, kind] as const))(
  "a real API server accepts and serves the schema of %s unchanged",
  async (_, kind) => {
    const wanted = crdOf(kind);
    const crd = await client.resource(CustomResourceDefinition).get(wanted.metadata.name, { signal });
    expect(Object.fromEntries((crd.status?.conditions ?? []).map(({ type, status }) => [type, status]))).toEqual({
      NamesAccepted: "True",
      Established: "True",
    });
    expect(crd.spec).toEqual(wanted.spec);
  },
);

test.each([...CUSTOM_KINDS, SampleKind].map((kind) => [kind.kind, kind] as const))(
  "the field descriptions of %s are published",
  async (_, kind) => {
    const read = () =>
      client.request<{ components: { schemas: Record<string, Published> } }>("GET", `/openapi/v3/apis/${apiVersionOf(kind)}`, { signal });
    const published = await vi.waitFor(async () => {
      const schema = Object.entries((await read()).components.schemas).find(([name]) => name.endsWith(`.${kind.kind}`))?.[1];
      return schema ?? Promise.reject(new Error(`${kind.kind} is not published yet`));
    }, 300_000);
    expect(undocumented(kind.schema, published, "")).toEqual([]);
  },
);

test("kubectl explain prints our field descriptions", async () => {
  const { stdout } = await kubectl("explain", "l3vni.spec.hostsession.hostasn");
  expect(stdout).toContain("FIELD: hostasn <integer>");
  expect(stdout.replaceAll(/\s+/g, " ")).toContain("The AS number of the host, the node's own BGP speaker. It must differ from asn.");
});

test("the example statuses of the specification are stored completely and listed as there", async () => {
  const at = "2025-01-15T10:30:00Z";
  const condition = (type: string, status: "True" | "False", reason: string) => ({
    type,
    status,
    reason,
    message: "",
    lastTransitionTime: at,
  });
  const statuses = {
    "worker-1": {
      lastUpdateTime: at,
      conditions: [condition("Ready", "True", "ConfigurationSuccessful"), condition("Degraded", "False", "ConfigurationSuccessful")],
    },
    "worker-2": {
      lastUpdateTime: at,
      failedResources: [
        {
          kind: "L2VNI" as const,
          name: "tenant-network-a",
          reason: "ValidationFailed" as const,
          message: "Interface eth2 not present on node",
        },
        {
          kind: "L3VNI" as const,
          name: "tenant-l3",
          reason: "DependencyFailed" as const,
          message: "No healthy L2VNI exists for VRF 'tenant'",
        },
      ],
      conditions: [condition("Ready", "False", "ConfigurationFailed"), condition("Degraded", "True", "ConfigurationFailed")],
    },
  };
  const namespace = "openperouter-system";
  const resource = client.resource(RouterNodeConfigurationStatus);
  for (const [name, status] of Object.entries(statuses)) {
    const created = await resource.create({ metadata: { name, namespace } }, { signal });
    expect((await resource.replaceStatus({ ...created, status }, { signal })).status).toEqual(status);
  }
  const { stdout } = await kubectl("get", "routernodeconfigurationstatus", "--namespace", namespace);
  expect(columns(stdout)).toEqual([
    ["NAME", "READY", "DEGRADED", "AGE"],
    ["worker-1", "True", "False", expect.any(String)],
    ["worker-2", "False", "True", expect.any(String)],
  ]);
});

test("the example pool of the specification is accepted, counted and listed", async () => {
  const resource = client.resource(IPAddressPool);
  const metadata = { name: "example", namespace: "metallb-system" };
  const addresses = ["192.168.10.0/24", "192.168.9.1-192.168.9.5", "fc00:f853:0ccd:e799::/124"];
  const created = await resource.create({ metadata, spec: { addresses } as IPAddressPool["spec"] }, { signal });
  expect(created.spec).toEqual({ addresses, autoAssign: true, avoidBuggyIPs: false });
  const status = { availableIPV4: 45, availableIPV6: 145, assignedIPV4: 5, assignedIPV6: Number.MAX_SAFE_INTEGER };
  expect((await resource.replaceStatus({ ...created, status }, { signal })).status).toEqual(status);
  const { stdout } = await kubectl("get", "ipaddresspools", "--all-namespaces", "--no-headers", "--output", "wide");
  expect(columns(stdout)[0]?.slice(0, 4)).toEqual(["metallb-system", "example", "true", "false"]);
  expect(stdout).toContain("9007199254740991");
});

test("an L3VNI with every field is accepted without a warning", async () => {
  const manifest = `
    apiVersion: openpe.openperouter.github.io/v1alpha1
    kind: L3VNI
    metadata: { name: red, namespace: openperouter-system }
    spec:
      vrf: red
      vni: 100
      vxlanport: 4789
      hostsession:
        asn: 64514
        hostasn: 64515
        localcidr: { ipv4: 192.0.2.0/24, ipv6: "2001:db8::/64" }
      exportRTs: ["64514:100"]
      importRTs: ["64514:100", "192.0.2.1:100"]
      nodeSelector:
        matchLabels: { zone: a }
        matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: [worker-1, worker-2] }]
  `;
  const file = join(api.server.directory, "l3vni.yaml");
  await writeFile(file, manifest);
  const { stdout, stderr } = await kubectl("apply", "--validate=strict", "--filename", file);
  expect({ stdout, stderr }).toEqual({ stdout: "l3vni.openpe.openperouter.github.io/red created\n", stderr: "" });
});

test("a deprecated version is served with the same schema and a warning", async () => {
  const file = join(api.server.directory, "specimen.yaml");
  await writeFile(
    file,
    "{ apiVersion: specimen.plumbline.dev/v1, kind: Specimen, metadata: { name: old, namespace: default }, spec: { name: ab } }",
  );
  const { stderr } = await kubectl("create", "--filename", file);
  expect(stderr).toContain("specimen.plumbline.dev/v1 is old; use v2");
  expect((await client.resource(SampleKind).get("old", { namespace: "default", signal })).spec).toEqual({
    name: "ab",
    mode: "on",
    limits: { low: 10, soft: true },
  });
});

interface Published {
  description?: string;
  properties?: Record<string, Published>;
  items?: Published;
  additionalProperties?: Published;
}

/** The fields whose description is not what we wrote. */
function undocumented(schema: Schema, published: Published | undefined, path: string): string[] {
  const own = published?.description === schema.doc ? [] : [path];
  if (schema.type === "list") return own.concat(undocumented(schema.items, published?.items, `${path}[]`));
  if (schema.type === "map") return own.concat(undocumented(schema.values, published?.additionalProperties, `${path}{}`));
  if (schema.type !== "object") return own;
  return own.concat(
    Object.entries(schema.properties).flatMap(([name, field]) => undocumented(field, published?.properties?.[name], `${path}.${name}`)),
  );
}

const columns = (table: string) =>
  table
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
