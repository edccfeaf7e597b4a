import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Child } from "../../lab/child.ts";
import { LinkApplier } from "../../src/hostnet/apply.ts";
import { ovsAnswers } from "../../src/hostnet/ovs.ts";
import { OVS_MASTER, type DesiredLink } from "../../src/hostnet/desired-link.ts";
import { createNamespaces, ipJson, type TestNamespaces } from "../support/namespaces.ts";

const signal = AbortSignal.timeout(600_000);
const owner = "L2VNI/red";
const near: DesiredLink = { netns: "host", name: "host-100", type: "veth", owner, peer: { netns: "router", name: "pe-100" } };
const far: DesiredLink = { netns: "router", name: "pe-100", type: "veth", owner, peer: { netns: "host", name: "host-100" } };
const attached: DesiredLink = { ...near, master: `${OVS_MASTER}br-ovs` };

let namespaces: TestNamespaces;
let node: { host: string; router: string };
let directory: string;
let children: Child[];
let before: string | undefined;

const vsctl = (...args: string[]) => execFileSync("ovs-vsctl", ["--timeout=20", ...args], { encoding: "utf8" }).trim();
const ports = () => vsctl("list-ports", "br-ovs");

beforeAll(() => {
  namespaces = createNamespaces(2);
  const [host = "", router = ""] = namespaces.names;
  node = { host, router };
  directory = mkdtempSync(join(tmpdir(), "plumbline-ovs-"));
  children = [];
  before = process.env["OVS_RUNDIR"];
  process.env["OVS_RUNDIR"] = directory;
});

afterAll(async () => {
  if (before === undefined) delete process.env["OVS_RUNDIR"];
  else process.env["OVS_RUNDIR"] = before;
  await Promise.all(children.map((child) => child.kill()));
  rmSync(directory, { recursive: true });
  await namespaces.remove();
});

/** In userspace, since not every kernel has the module; the requests to the database are the same. */
async function startOvs(): Promise<void> {
  const database = join(directory, "conf.db");
  execFileSync("ovsdb-tool", ["create", database, "/usr/share/openvswitch/vswitch.ovsschema"]);
  const options = { logFile: join(directory, "log"), env: { OVS_RUNDIR: directory } };
  children.push(new Child("ovsdb-server", "ovsdb-server", [database, `--remote=punix:${directory}/db.sock`], options));
  while (!(await ovsAnswers(signal)));
  vsctl("--no-wait", "init");
  children.push(new Child("ovs-vswitchd", "ip", ["netns", "exec", node.host, "ovs-vswitchd", `unix:${directory}/db.sock`], options));
  vsctl("add-br", "br-ovs", "--", "set", "bridge", "br-ovs", "datapath_type=netdev");
}

test("without Open vSwitch a veth that needs it is rejected by name, and everything else is applied", async () => {
  expect(await ovsAnswers(signal)).toBe(false);
  await using pass = await LinkApplier.open(node, signal);
  const { changed, rejected } = await pass.apply([attached, far]);
  expect(changed).toBe(0);
  expect(rejected).toMatchObject({
    code: "Rejected",
    text: expect.stringMatching(/^Open vSwitch is not running on this node: .*database connection failed/) as string,
  });
  expect(await pass.apply([near, far])).not.toHaveProperty("refused");
  expect(await pass.remove([near, far, { netns: "host", name: "br-ovs" }])).toEqual({ changed: 1 });
});

test("a veth becomes a port of a bridge, is restored, and leaves the bridge unchanged", async () => {
  await startOvs();
  {
    await using pass = await LinkApplier.open(node, signal);
    expect(await pass.apply([attached, far])).not.toHaveProperty("refused");
    expect(ports()).toBe("host-100");
    expect(await pass.apply([attached, far])).toEqual({ changed: 0 });
  }
  vsctl("del-port", "host-100");
  {
    await using pass = await LinkApplier.open(node, signal);
    expect(await pass.apply([attached, far])).toEqual({ changed: 1 });
    expect(ports()).toBe("host-100");
    // The kernel does not show a userspace port as one, so a link without a wanted bridge is not looked up.
    expect(await pass.remove([near, { netns: "host", name: "br-ovs" }])).toEqual({ changed: 2 });
  }
  expect(ports()).toBe("");
  expect((ipJson(node.host, "link") as { ifname: string }[]).map(({ ifname }) => ifname)).toContain("br-ovs");
});

test("deletes our own bridge and no other", async () => {
  vsctl("add-br", "br-hs-100", "--", "set", "bridge", "br-hs-100", "datapath_type=netdev", "external_ids:plumbline=L2VNI/old");
  const own: DesiredLink = { netns: "host", name: "br-hs-100", type: "ovs-bridge", owner };
  await using pass = await LinkApplier.open(node, signal);
  expect(await pass.apply([own])).toEqual({ changed: 2 });
  expect(vsctl("br-get-external-id", "br-hs-100", "plumbline")).toBe(owner);
  expect(await pass.apply([own, { ...own, name: "br-ovs" }])).toEqual({ changed: 0 });
  expect(await pass.remove([own, { ...own, name: "br-ovs" }])).toEqual({ changed: 1 });
  expect(vsctl("list-br")).toBe("br-ovs");
});

test("a rejection has the message of Open vSwitch", async () => {
  await using pass = await LinkApplier.open(node, signal);
  const { rejected } = await pass.apply([{ ...near, master: `${OVS_MASTER}br-nosuch` }, far]);
  expect(rejected?.message).toBe("host-100: ovs-vsctl: no bridge named br-nosuch");
});
