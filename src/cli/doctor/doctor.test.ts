import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { release, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { KubeClient } from "../../kube/client/client.ts";
import { agentRights } from "./agent-rights.ts";
import { each, checkApi } from "./api.ts";
import { readKernel, tryKernel } from "./kernel.ts";
import { kubeProxy, permissions, settings, stateDirectory, timeSync } from "./machine.ts";
import { freePorts } from "./ports.ts";
import { findFrr } from "./programs.ts";

const router = { router: true };
const noRouter = { router: false };
let root: string | undefined;

afterEach(async () => {
  if (root) await rm(root, { recursive: true });
  root = undefined;
});

/** A machine of files. */
async function machine(files: Record<string, string>): Promise<string> {
  root = await mkdtemp(join(tmpdir(), "plumbline-doctor-"));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return root;
}

/** A kernel without VRF and without nftables for ARP, as a shell tells of it. */
const lacks = (line: string) => line.includes("'vrf'") || line.includes("table arp");
const poorKernel = (command: readonly string[]) => {
  const script = command.at(-1) ?? "";
  const mark = /--- [0-9a-f-]{36}/.exec(script)?.[0] ?? "";
  const lines = script.split("\n");
  return Promise.resolve({
    code: 0,
    stdout: lines.map((line) => `\n${lacks(line) ? 2 : 0} ${mark}\n`).join(""),
    stderr: lines.map((line) => `${lacks(line) ? "Error: Unknown device type.\n" : ""}${mark}\n`).join(""),
  });
};

const mode = (text: string | undefined) => () => Promise.resolve(text);
const saying =
  (stdout: string, code = 0) =>
  () =>
    Promise.resolve({ code, stdout, stderr: "" });

const levels = (findings: readonly { check: string; level: string }[]) =>
  Object.fromEntries(findings.map(({ check, level }) => [check, level]));

test("root needs fewer capabilities without a router", () => {
  const status = "Name:\tnode\nCapEff:\t0000000000003000\n";
  expect(permissions(status, 0, noRouter)).toMatchObject({ level: "ok", message: "Root with NET_ADMIN, NET_RAW" });
  expect(permissions(status, 0, router)).toEqual({
    check: "permissions",
    level: "fail",
    message: "Root without SYS_ADMIN",
    remedy: "give the container the capabilities NET_ADMIN, NET_RAW, SYS_ADMIN; or disable the router: --router off",
  });
  expect(permissions("CapEff:\t0000000000000000\n", 0, noRouter).message).toBe("Root without NET_ADMIN and NET_RAW");
  expect(permissions(status, 1000, router).level).toBe("warn");
});

test("a kernel without VRF blocks only a router, and one without an nftables family blocks nothing", async () => {
  const findings = await tryKernel(poorKernel, router);
  expect(levels(findings)).toEqual({
    "kernel vrf": "fail",
    "kernel bridge": "ok",
    "kernel vxlan": "ok",
    "kernel veth": "ok",
    "nftables inet": "ok",
    "nftables arp": "warn",
  });
  expect(findings[0]?.message).toBe("No VRF support: each L3VNI needs a VRF (Error: Unknown device type.)");
  expect(levels(await tryKernel(poorKernel, noRouter))).toEqual({ "nftables inet": "ok", "nftables arp": "warn" });
});

test("without root the kernel's configuration is read, and a missing entry is no failure", async () => {
  const modules = `lib/modules/${release()}`;
  const directory = await machine({
    "proc/modules": "vrf 36864 0 - Live\n",
    [`${modules}/modules.builtin`]: "kernel/net/bridge/bridge.ko\n",
    [`${modules}/modules.dep`]: "kernel/drivers/net/vxlan/vxlan.ko.zst: kernel/net/ipv4/udp_tunnel.ko.zst\n",
  });
  expect(levels(await readKernel(router, directory))).toEqual({
    "kernel vrf": "ok",
    "kernel bridge": "ok",
    "kernel vxlan": "ok",
    "kernel veth": "warn",
    "nftables inet": "warn",
    "nftables arp": "warn",
  });
});

test("strict reverse path filtering counts by the larger of a link's setting and that of all", async () => {
  const directory = await machine({
    "net/ipv4/ip_forward": "1\n",
    "net/ipv6/conf/all/forwarding": "0\n",
    "net/ipv4/conf/all/rp_filter": "0\n",
    "net/ipv4/conf/lo/rp_filter": "1\n",
    "net/ipv4/conf/eth0/rp_filter": "1\n",
    "net/ipv4/conf/eth1/rp_filter": "2\n",
  });
  expect(await settings(directory)).toMatchObject([
    { check: "rp_filter", level: "warn", message: expect.stringContaining("on eth0: ") as string },
    { check: "ip_forward", level: "ok" },
  ]);
  await writeFile(join(directory, "net/ipv4/conf/all/rp_filter"), "2\n");
  await writeFile(join(directory, "net/ipv4/ip_forward"), "0\n");
  await rm(join(directory, "net/ipv6"), { recursive: true });
  expect(levels(await settings(directory))).toEqual({ rp_filter: "ok", ip_forward: "warn", ipv6: "warn" });
});

test("IPVS needs strictARP, however its use is detected", async () => {
  const conf = "proc/sys/net/ipv4/conf/all";
  const directory = await machine({ [`${conf}/arp_ignore`]: "0\n", [`${conf}/arp_announce`]: "0\n" });
  expect(await kubeProxy(mode("nftables"), directory)).toMatchObject({ level: "ok", message: "Mode nftables" });
  expect((await kubeProxy(mode(undefined), directory)).level).toBe("ok");
  expect((await kubeProxy(mode("ipvs"), directory)).level).toBe("warn");
  await mkdir(join(directory, "sys/class/net/kube-ipvs0"), { recursive: true });
  expect((await kubeProxy(mode(undefined), directory)).level).toBe("warn");
  await writeFile(join(directory, `${conf}/arp_ignore`), "1\n");
  await writeFile(join(directory, `${conf}/arp_announce`), "2\n");
  expect((await kubeProxy(mode(undefined), directory)).level).toBe("ok");
});

test("a missing directory passes if its parent is writable", async () => {
  const directory = await machine({ "a/file": "" });
  expect(await stateDirectory(join(directory, "a"))).toMatchObject({ level: "ok", message: "Writable" });
  expect(await stateDirectory(join(directory, "b/c"))).toMatchObject({ level: "ok", message: "Can be created" });
  expect(await stateDirectory(join(directory, "a/file/b"))).toMatchObject({
    level: "fail",
    message: expect.stringContaining("is not a directory") as string,
  });
});

test("a clock without time synchronization is reported", async () => {
  expect((await timeSync(saying("yes\n"))).level).toBe("ok");
  expect((await timeSync(saying("no\n"))).level).toBe("warn");
  expect((await timeSync(saying("", 127))).level).toBe("ok");
});

test("an FRR that is too old or incomplete fails, and a missing FRR comes from the image of a cluster", async () => {
  const directory = await machine({ zebra: "", bgpd: "" });
  expect(await findFrr(saying("zebra version 8.1"), directory)).toMatchObject({
    level: "fail",
    message: expect.stringContaining("8.1 is older") as string,
  });
  expect(await findFrr(saying("zebra version 10.2.1"), directory)).toMatchObject({
    level: "fail",
    message: "FRR 10.2.1 is installed without mgmtd and zebra and bgpd and bfdd and staticd",
  });
  expect((await findFrr(saying("", 127), directory)).level).toBe("warn");
});

test("ports of other programs fail, and those of our own agent do not", async () => {
  const tcp = createServer();
  const udp = createSocket("udp4");
  await once(tcp.listen(0), "listening");
  udp.bind(0);
  await once(udp, "listening");
  const [health, heartbeat] = [(tcp.address() as AddressInfo).port, udp.address().port];
  const ports = { health, heartbeat, memberlist: health };
  try {
    const others = await freePorts(ports, () => Promise.resolve(false));
    expect(others.map(({ level }) => level)).toEqual(["fail", "fail", "warn"]);
    const ours = await freePorts(ports, () => Promise.resolve(true));
    expect(ours.map(({ level }) => level)).toEqual(["ok", "ok", "warn"]);
  } finally {
    tcp.close();
    udp.close();
  }
  await once(tcp, "close");
  const free = await freePorts(ports, () => Promise.resolve(false));
  expect(free.map(({ level }) => level)).toEqual(["ok", "ok", "ok"]);
});

function checkedRights(parts: { router: boolean }): string[] {
  return agentRights(parts)
    .flatMap(each)
    .map((one) => JSON.stringify(one))
    .toSorted();
}

interface RoleFile {
  kind: string;
  metadata: { namespace?: string };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
}

async function chartsRights(...files: string[]): Promise<string[]> {
  const texts = await Promise.all(
    files.map((file) => readFile(join(import.meta.dirname, `../../../deploy/chart/files/rbac/${file}.yaml`), "utf8")),
  );
  const roles = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as RoleFile));
  return roles.flatMap(({ metadata, rules = [] }) =>
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames }) =>
      apiGroups.flatMap((group) =>
        each({
          group,
          resources,
          verbs,
          ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
          ...(resourceNames && { names: resourceNames }),
        }).map((one) => JSON.stringify(one)),
      ),
    ),
  );
}

test("the reviewed permissions equal those of the chart for agents", async () => {
  const everyone = ["agent", "loadbalancer-agent", "connectivity-agent"];
  expect(checkedRights(noRouter)).toEqual((await chartsRights(...everyone)).toSorted());
  expect(checkedRights(router)).toEqual((await chartsRights(...everyone, "router-agent")).toSorted());
});

/** What an API server of this version lacks. */
async function lackingIn(minor: number): Promise<string[]> {
  const request = (_method: string, path: string) =>
    Promise.resolve(path === "/version" ? { gitVersion: `v1.${minor}.0`, minor: String(minor) } : { status: { allowed: true } });
  const client = { access: { server: "https://192.0.2.1" }, request } as unknown as KubeClient;
  const findings = await checkApi(client, router, new AbortController().signal);
  return findings.filter(({ level }) => level === "fail").map(({ message }) => message);
}

test("an API server that is too old for the chart fails", async () => {
  const chart = await readFile(join(import.meta.dirname, "../../../deploy/chart/Chart.yaml"), "utf8");
  const oldest = Number(/kubeVersion: ">=1\.(\d+)\./.exec(chart)?.[1]);
  expect(await lackingIn(oldest)).toEqual([]);
  expect(await lackingIn(oldest - 1)).toEqual([`Kubernetes 1.${oldest - 1} is older than 1.${oldest}`]);
});
