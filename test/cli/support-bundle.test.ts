import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Deployment } from "../../src/api/core/deployment.ts";
import { Event } from "../../src/api/core/event.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import { builtinKind } from "../../src/api/kind.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { RawFRRConfig } from "../../src/api/openpe/raw-frr-config.ts";
import type { BundleManifest } from "../../src/cli/support-bundle/manifest.ts";
import { masked } from "../../src/cli/support-bundle/mask.ts";
import { gatherNode } from "../../src/cli/support-bundle/node-state.ts";
import { unpackTar } from "../../src/cli/support-bundle/tar.ts";
import { plumbline } from "../support/command-line.ts";
import { frrInNamespace } from "../support/frr.ts";
import { embeddedServer, realServer } from "../support/servers.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const namespace = "metallb-system";
const PASSWORD = "Tor!7-hunter";
const RAW = "raw-0f3a9c";

let server: Awaited<ReturnType<typeof realServer>>;
const fileOf = (name: string) => join(server.directory, `${name}.tar.gz`);

beforeAll(async () => {
  server = await realServer("support-bundle");
  const { client } = server;
  const note = JSON.stringify({ spec: { password: PASSWORD } });
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": note };
  const spec = { myASN: 64500, peerASN: 64501, peerAddress: "192.0.2.1", password: PASSWORD };
  const peer = await client.resource(BGPPeer).create({ metadata: { name: "tor", namespace, annotations }, spec }, { signal });
  const rawConfig = `router bgp 64514\n neighbor 192.0.2.9 password ${RAW}\n`;
  await client
    .resource(RawFRRConfig)
    .create({ metadata: { name: "extra", namespace: "openperouter-system" }, spec: { rawConfig } } as never, { signal });
  const involvedObject = { kind: "BGPPeer", name: "tor", namespace, uid: peer.metadata.uid ?? "" };
  const message = `FRR refused: unknown word ${RAW}, and ${PASSWORD} too`;
  await client.resource(Event).create({ metadata: { name: "refused", namespace }, involvedObject, message, reason: "Refused" }, { signal });
  const other = { kind: "Pod", name: "db-0", namespace: "default" };
  await client
    .resource(Event)
    .create(
      { metadata: { name: "others", namespace: "default" }, involvedObject: other, message: "none of ours", reason: "Pulled" },
      { signal },
    );
  await client
    .resource(Secret)
    .create({ metadata: { name: "pw", namespace }, data: { password: Buffer.from(PASSWORD).toString("base64") } }, { signal });
});
afterAll(() => server.stop());

const withoutAge = (text: string) => text.replaceAll(/\b\d+(m\d+)?s\b( ago)?/g, "…");
const run = async ([program = "", ...args]: readonly string[]) => ({ code: 0, ...(await promisify(execFile)(program, args)) });

async function unpacked(name: string): Promise<Map<string, string>> {
  const files = unpackTar(gunzipSync(await readFile(fileOf(name))));
  return new Map(files.map(({ path, content }) => [path.slice(path.indexOf("/") + 1), content.toString()]));
}

async function manifestIn(name: string): Promise<BundleManifest> {
  return JSON.parse((await unpacked(name)).get("MANIFEST.json") ?? "") as BundleManifest;
}

test("a bundle has the objects and the state of this machine, lists what is missing, and contains no secret", async () => {
  const { code, stdout, stderr } = await server.plumbline("bundle", "--node-state", "--node", "n1", "-o", fileOf("whole"));
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${fileOf("whole")}\n` });
  expect(stderr).toContain("Warning: nodes/n1/frr/router is missing: no FRR answers in /run/frr/plumbline-router\n");
  expect((await stat(fileOf("whole"))).mode & 0o777).toBe(0o600);

  const files = await unpacked("whole");
  const text = [...files.values()].join("\n");
  expect(files.get("objects/bgppeers.metallb.io.json")).toContain('"peerAddress": "192.0.2.1"');
  expect(JSON.parse(files.get("nodes/n1/kernel/host/links.json") ?? "")).toContainEqual(expect.objectContaining({ ifname: "lo" }));
  for (const secret of [PASSWORD, RAW, Buffer.from(PASSWORD).toString("base64")]) expect(text).not.toContain(secret);
  expect(text).toContain(" neighbor 192.0.2.9 password <masked>");
  expect(text).not.toContain("none of ours");
  expect([...files.keys()].filter((path) => path.includes("secret"))).toEqual([]);

  const manifest = await manifestIn("whole");
  expect(manifest).toMatchObject({ apiVersion: "plumbline.dev/bundle/v1", version: "0.1.0", server: server.client.access.server });
  expect(manifest.files).toContainEqual({ path: "objects/bgppeers.metallb.io.json", objects: 1 });
  expect(manifest.missing).toContainEqual({ what: "nodes/n1/frr/router", why: "no FRR answers in /run/frr/plumbline-router" });
});

test("read commands print the same from a bundle as from its server", async () => {
  const offline = { KUBECONFIG: "/nowhere", PLUMBLINE_DIR: "" };
  const read = (...args: string[]) => plumbline([...args, "--bundle", fileOf("whole")], offline);

  const live = await server.plumbline("get", "bgppeer,rawfrrconfig", "-A");
  const table = await read("get", "bgppeer,rawfrrconfig", "-A");
  expect(table.code).toBe(0);
  expect(withoutAge(table.stdout)).toBe(withoutAge(live.stdout));
  expect(table.stderr).toMatch(/^Support bundle taken at 20\S+Z; AGE columns count from now\n$/);

  const described = await read("describe", "bgppeer", "tor", "-n", namespace);
  expect(described).toMatchObject({ code: 0, stdout: expect.stringContaining("password: <masked>") as string });
  expect(described.stdout).toMatch(/^Created: .* \(\d+s ago\)$/m);
  expect(described.stdout).toContain("FRR refused: unknown word <masked>, and <masked> too");
  expect(await read("get", "bgppeer", "tor", "-n", namespace, "-w")).toMatchObject({ code: 2 });
  expect(await read("get", "bgppeer", "tor", "--kubeconfig", "x")).toMatchObject({ code: 2 });
});

test("the objects of failover policies are in it, and those that cannot be read are listed", async () => {
  const { client } = server;
  const labels = { app: "web" };
  const containers = [{ name: "web", image: "web", env: [{ name: "DSN", value: "postgres://shop:hunter@db" }] }];
  const template = { metadata: { labels }, spec: { containers } };
  const spec = { replicas: 2, selector: { matchLabels: labels }, template };
  await client.resource(Deployment).create({ metadata: { name: "web", namespace: "default" }, spec }, { signal });
  const managedResources = [
    { kind: "Deployment", name: "web" },
    { kind: "VolumeReplication", name: "data" },
  ];
  const policy = { metadata: { name: "shop", namespace: "default" }, spec: { desiredState: "primary", managedResources } };
  await client.resource(FailoverPolicy).create(policy as never, { signal });

  expect(await server.plumbline("bundle", "-o", fileOf("policy"))).toMatchObject({ code: 0 });
  const deployments = JSON.parse((await unpacked("policy")).get("objects/deployments.apps.json") ?? "") as { items: unknown[] };
  expect(deployments.items).toMatchObject([{ kind: "Deployment", spec: { replicas: 2 } }]);
  expect(JSON.stringify(deployments)).not.toContain("postgres");
  expect((await manifestIn("policy")).missing).toContainEqual({
    what: "objects/VolumeReplication in default",
    why: "the server has no such kind",
  });
});

test("with `up` the machine is included without an option", async () => {
  const up = await embeddedServer();
  try {
    expect(await up.plumbline("bundle", "--node", "here", "-o", fileOf("up"))).toMatchObject({ code: 0 });
    expect([...(await unpacked("up")).keys()]).toContain("nodes/here/kernel/host/routes-ipv4.json");
  } finally {
    await up.stop();
  }
});

test("missing permissions omit only their kinds, and are listed", async () => {
  const { client, api } = server;
  const roles = builtinKind({
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "ClusterRole",
    plural: "clusterroles",
    scope: "Cluster",
  });
  const bindings = { ...roles, kind: "ClusterRoleBinding", plural: "clusterrolebindings" };
  const rules = [{ apiGroups: ["metallb.io"], resources: ["bgppeers"], verbs: ["list"] }];
  await client.resource(roles).create({ metadata: { name: "peers" }, rules } as never, { signal });
  const binding = {
    metadata: { name: "peers" },
    roleRef: { apiGroup: roles.group, kind: "ClusterRole", name: "peers" },
    subjects: [{ apiGroup: roles.group, kind: "User", name: "plumbline:unprivileged" }],
  };
  await client.resource(bindings).create(binding, { signal });

  const bundled = await server.plumbline("bundle", "--kubeconfig", await api.server.kubeconfig("unprivileged"), "-o", fileOf("narrow"));
  expect(bundled).toMatchObject({ code: 0, stderr: expect.stringContaining("Warning: objects/services is missing: ") as string });
  const { files, missing } = await manifestIn("narrow");
  expect(files).toEqual([{ path: "objects/bgppeers.metallb.io.json", objects: 1 }]);
  expect(missing.find(({ what }) => what === "objects/services")?.why).toContain("forbidden");
  expect(missing.find(({ what }) => what === "nodes")?.why).toContain("--node-state");
});

test("without a server the bundle has the machine if requested, and is not written otherwise", async () => {
  const nowhere = ["--kubeconfig", join(server.directory, "gone.kubeconfig")];
  const kubeconfig = (await readFile(await server.api.server.kubeconfig("admin"), "utf8")).replace(
    /server: .*/,
    "server: https://127.0.0.1:1",
  );
  await promisify(execFile)("sh", ["-c", 'printf %s "$1" >"$2"', "sh", kubeconfig, nowhere[1] ?? ""]);
  expect(await server.plumbline("bundle", ...nowhere, "-o", fileOf("none"))).toMatchObject({ code: 3, stdout: "" });
  await expect(stat(fileOf("none"))).rejects.toMatchObject({ code: "ENOENT" });

  expect(await server.plumbline("bundle", ...nowhere, "--node-state", "-o", fileOf("machine"))).toMatchObject({ code: 0 });
  expect((await manifestIn("machine")).missing).toContainEqual({ what: "objects", why: expect.stringContaining("127.0.0.1:1") as string });
});

test("an invalid bundle is rejected with an error", async () => {
  expect(await server.plumbline("get", "bgppeer", "--bundle", "package.json")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("package.json is not a readable bundle: ") as string,
  });
});

test("each answer of FRR has its own file without passwords", async () => {
  const frr = await frrInNamespace({ version: "8.4" });
  const { instance, netns } = frr;
  try {
    const lines = ["router bgp 64512", "neighbor 192.0.2.1 remote-as 64513", `neighbor 192.0.2.1 password ${PASSWORD}`];
    await (await instance.router.vty("bgpd", signal)).configure(lines, signal);
    const { files, missing } = await gatherNode(run, {
      routerNetns: netns,
      frrRunDirectory: instance.runDirectory,
      lbFrrRunDirectory: "/run/frr/none",
    });
    expect(missing).toEqual([{ what: "frr/loadbalancer", why: "no FRR answers in /run/frr/none" }]);
    const content = new Map(files.map(({ path, content }) => [path, content]));
    expect(content.get("frr/router/running-config.txt")).toMatchObject({ text: expect.stringContaining(PASSWORD) as string });
    expect(content.get("frr/router/bgp-summary.json")).toMatchObject({ json: { default: expect.anything() as unknown } });
    expect(content.get("kernel/router/links.json")).toMatchObject({ json: [{ ifname: "lo" }] });
    expect(JSON.stringify(masked([...content.values()]))).not.toContain(PASSWORD);
  } finally {
    await frr.stop();
  }
});
