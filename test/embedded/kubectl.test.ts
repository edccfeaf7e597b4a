import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { silent } from "../../lab/progress.ts";
import { startEmbedded, type Embedded } from "../../src/embedded/embedded.ts";
import { fixedAccess } from "../../src/kube/testing/fixed-access.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { createLog } from "../../src/kube/log.ts";

let directory: string;
let embedded: Embedded;
let command: readonly string[];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-kubectl-"));
  const site = join(directory, "site");
  await mkdir(site);
  embedded = await startEmbedded({ directory: site, listen: "127.0.0.1:0", log: createLog({ level: "error" }) });
  const kubectl = (await kubeBinaries(silent)).command("kubectl");
  if (!kubectl) throw new Error("The binaries in KUBEBUILDER_ASSETS bring no kubectl; unset it to use our own build");
  command = [...kubectl, "--kubeconfig", embedded.tcp?.kubeconfig ?? "", "--cache-dir", join(directory, "cache")];
});
afterAll(async () => {
  await embedded.stop();
  await rm(directory, { recursive: true });
});

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

function kubectl(...args: string[]): Promise<Ended> {
  const [program = "", ...first] = command;
  return new Promise((resolve) => {
    execFile(program, [...first, ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr });
    });
  });
}
const done = (stdout: string) => ({ code: 0, stdout, stderr: "" });
/** A table without its last column, the age, and without the padding. */
const rows = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.trim().split(/ {2,}/).slice(0, -1));

async function file(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}

const manifest = (vni: number, rest = "") => `apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L3VNI
metadata: {name: red}
spec: {vrf: red, vni: ${vni}${rest}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {vni: "${vni}"}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: LoadBalancer
  ports: [{name: http, port: 80}, {name: https, port: ${vni}}]
`;

test("only its owner can read the kubeconfig, and a client without its certificate is rejected", async () => {
  const { kubeconfig, url } = embedded.tcp ?? { kubeconfig: "", url: "" };
  expect(((await stat(kubeconfig)).mode & 0o777).toString(8)).toBe("600");
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  const known = await accessFromKubeconfig({ path: kubeconfig });
  const signal = AbortSignal.timeout(60_000);
  const owner = new KubeClient(known);
  expect(await owner.request("GET", "/version", { signal })).toMatchObject({ major: "1" });
  owner.close();
  const { ca } = await known.identity();
  const stranger = new KubeClient(fixedAccess(url, { ca }));
  await expect(stranger.request("GET", "/version", { signal })).rejects.toSatisfy((error) => isKubeError(error, "Certificate"));
  stranger.close();
});

test("api-resources and version", async () => {
  const { stdout } = await kubectl("api-resources", "--no-headers");
  const kinds = new Map(
    stdout
      .trim()
      .split("\n")
      .map((line) => [line.split(/\s+/)[0], line.trim().split(/\s+/).slice(1)]),
  );
  expect(kinds.get("routernodeconfigurationstatuses")).toEqual([
    "rncs",
    "openpe.openperouter.github.io/v1alpha1",
    "true",
    "RouterNodeConfigurationStatus",
  ]);
  expect(kinds.get("nodes")).toEqual(["no", "v1", "false", "Node"]);
  expect(await kubectl("version")).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("Server Version: v1.37.0+plumbline") as string,
  });
});

test("apply reports created, configured and unchanged; get prints it", async () => {
  const path = await file("a.yaml", manifest(100));
  expect(await kubectl("apply", "-f", path)).toEqual(
    done("l3vni.openpe.openperouter.github.io/red created\nconfigmap/settings created\nservice/web created\n"),
  );
  expect(await kubectl("apply", "-f", path)).toEqual(
    done("l3vni.openpe.openperouter.github.io/red unchanged\nconfigmap/settings unchanged\nservice/web unchanged\n"),
  );
  await file("a.yaml", manifest(200));
  expect(await kubectl("apply", "-f", path)).toEqual(
    done("l3vni.openpe.openperouter.github.io/red configured\nconfigmap/settings configured\nservice/web configured\n"),
  );
  expect(rows((await kubectl("get", "l3vni")).stdout)).toEqual([
    ["NAME", "VRF", "VNI"],
    ["red", "red", "200"],
  ]);
  expect(rows((await kubectl("get", "cm,svc", "-o", "wide")).stdout).flat()).toEqual(
    expect.arrayContaining(["configmap/settings", "service/web", "LoadBalancer", "<pending>", "80/TCP,200/TCP"]),
  );
  expect((await kubectl("get", "cm", "settings", "-o", "jsonpath={.data.vni}")).stdout).toBe("200");
  expect((await kubectl("get", "openperouter", "-o", "name")).stdout).toBe("l3vni.openpe.openperouter.github.io/red\n");
});

test("apply reports every invalid and every unknown field", async () => {
  const wrong = await kubectl("apply", "-f", await file("wrong.yaml", manifest(0).split("---")[0] ?? ""));
  expect(wrong).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("spec.vni: Invalid value: 0: spec.vni in body should be greater than or equal to 1") as string,
  });
  const unknown = await kubectl(
    "apply",
    "-f",
    await file("unknown.yaml", (manifest(5, ", vnii: 1").split("---")[0] ?? "").replace("red}", "new}")),
  );
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('strict decoding error: unknown field "spec.vnii"')]);
});

test("patch in all three ways, label, annotate, edit of the status", async () => {
  expect(await kubectl("patch", "l3vni", "red", "--type=merge", "-p", '{"spec":{"vni":300}}')).toEqual(
    done("l3vni.openpe.openperouter.github.io/red patched\n"),
  );
  expect(await kubectl("patch", "l3vni", "red", "--type=json", "-p", '[{"op":"replace","path":"/spec/vni","value":301}]')).toMatchObject({
    code: 0,
  });
  expect(await kubectl("patch", "svc", "web", "-p", '{"spec":{"ports":[{"port":80,"name":"plain"}]}}')).toEqual(
    done("service/web patched\n"),
  );
  expect((await kubectl("get", "svc", "web", "-o", "jsonpath={.spec.ports[*].name}")).stdout.split(" ").sort()).toEqual(["https", "plain"]);
  expect(await kubectl("label", "l3vni", "red", "a=b")).toMatchObject({ code: 0 });
  expect(await kubectl("annotate", "cm", "settings", "note=here")).toMatchObject({ code: 0 });
  expect((await kubectl("get", "l3vni", "-l", "a=b", "-o", "jsonpath={.items[0].spec.vni}")).stdout).toBe("301");
});

test("describe shows the object and its events", async () => {
  const { stdout: uid } = await kubectl("get", "l3vni", "red", "-o", "jsonpath={.metadata.uid}");
  const event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "red.1", namespace: "default" },
    involvedObject: { apiVersion: "openpe.openperouter.github.io/v1alpha1", kind: "L3VNI", name: "red", namespace: "default", uid },
    reason: "Kept",
    message: "the last good form stays",
    type: "Warning",
    source: { component: "plumbline" },
    firstTimestamp: new Date().toISOString(),
    lastTimestamp: new Date().toISOString(),
    count: 1,
  };
  await kubectl("create", "-f", await file("event.json", JSON.stringify(event)));
  const { code, stdout } = await kubectl("describe", "l3vni", "red");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Name: +red$/m);
  expect(stdout).toMatch(/^ +Vni: +301$/m);
  expect(stdout).toMatch(/Warning +Kept +\S+ +plumbline +the last good form stays/);
  const slice = { metadata: { name: "web-1", labels: { "kubernetes.io/service-name": "web" } }, addressType: "IPv4" };
  const endpoints = { endpoints: [{ addresses: ["10.1.0.10"] }], ports: [{ port: 80 }] };
  const behind = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", ...slice, ...endpoints };
  expect(await kubectl("create", "-f", await file("slice.json", JSON.stringify(behind)))).toMatchObject({ code: 0 });
  for (const what of [
    ["svc", "web"],
    ["cm", "settings"],
    ["ns", "default"],
  ])
    expect(await kubectl("describe", ...what)).toMatchObject({ code: 0 });
});

test("explain knows the fields", async () => {
  const { stdout } = await kubectl("explain", "l3vni.spec.hostsession.asn");
  expect(stdout).toContain("KIND:       L3VNI");
  expect(stdout).toContain("FIELD: asn <integer>");
  expect((await kubectl("explain", "rncs.status", "--recursive")).stdout).toMatch(/failedResources\s+<\[\]Object>/);
  expect(await kubectl("explain", "configmap.data")).toMatchObject({ code: 0 });
  expect((await kubectl("explain", "l3vni.spec.nonsense")).stderr).toContain('field "nonsense" does not exist');
});

test("get -w prints every change, and wait waits for a condition", async () => {
  await kubectl(
    "apply",
    "-f",
    await file(
      "n1.yaml",
      "apiVersion: openpe.openperouter.github.io/v1alpha1\nkind: RouterNodeConfigurationStatus\nmetadata: {name: n1}\n",
    ),
  );
  const [program = "", ...first] = command;
  const watch = spawn(program, [...first, "get", "rncs", "-w"], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: watch.stdout })[Symbol.asyncIterator]();
  const next = async () =>
    String((await lines.next()).value)
      .trim()
      .split(/ {2,}/);
  expect(await next()).toEqual(["NAME", "READY", "DEGRADED", "AGE"]);
  expect((await next())[0]).toBe("n1");

  const waiting = kubectl("wait", "--for=condition=Ready", "rncs/n1", "--timeout=60s");
  const condition = { type: "Ready", status: "True", reason: "Applied", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
  await kubectl(
    "patch",
    "rncs",
    "n1",
    "--subresource=status",
    "--type=merge",
    "-p",
    JSON.stringify({ status: { conditions: [condition] } }),
  );
  expect(await waiting).toEqual(done("routernodeconfigurationstatus.openpe.openperouter.github.io/n1 condition met\n"));
  expect((await next()).slice(0, 2)).toEqual(["n1", "True"]);
  watch.kill();
});

test("delete waits until the object is gone, also for finalizers", async () => {
  expect(await kubectl("delete", "svc", "web")).toEqual(done('service "web" deleted from default namespace\n'));
  await kubectl("patch", "l3vni", "red", "--type=merge", "-p", '{"metadata":{"finalizers":["example.com/hold"]}}');
  const deleting = kubectl("delete", "l3vni", "red");
  const stored = await kubectl("get", "l3vni", "red", "-o", "name");
  expect(stored.code).toBe(0);
  await kubectl("patch", "l3vni", "red", "--type=merge", "-p", '{"metadata":{"finalizers":null}}');
  expect(await deleting).toMatchObject({ code: 0 });
  expect(await kubectl("get", "l3vni", "red")).toEqual({
    code: 1,
    stdout: "",
    stderr: 'Error from server (NotFound): l3vnis.openpe.openperouter.github.io "red" not found\n',
  });
  expect(await kubectl("delete", "cm", "--all")).toMatchObject({ code: 0 });
});

test("create makes namespaces, configmaps and secrets, and a namespace is deleted with its content", async () => {
  expect(await kubectl("create", "namespace", "shop")).toEqual(done("namespace/shop created\n"));
  expect(await kubectl("create", "configmap", "m", "--from-literal=a=b", "-n", "shop")).toEqual(done("configmap/m created\n"));
  expect(await kubectl("create", "secret", "generic", "s", "--from-literal=a=b", "-n", "shop")).toEqual(done("secret/s created\n"));
  expect(await kubectl("delete", "namespace", "shop")).toEqual(done('namespace "shop" deleted\n'));
  expect((await kubectl("get", "cm", "-n", "shop")).stderr).toContain("No resources found in shop namespace");
});
