import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { plumbline } from "../support/command-line.ts";

// Routers, load balancer, kube-proxy and pods in one lab on the real API server.

const EVENTUALLY = { timeout: 240_000, interval: 500 };
const ADDRESS = "10.202.0.1";
const TORS = ["tor", "tor2"];

let runtime: string;
const lab = (...args: string[]) => plumbline(["lab", ...args], { XDG_RUNTIME_DIR: runtime });
const exec = async (host: string, ...command: string[]) => (await lab("exec", host, "--", ...command)).stdout;
const request = () => exec("client", "curl", "--silent", "--max-time", "2", `http://${ADDRESS}`);

beforeAll(async () => {
  runtime = await mkdtemp(join(tmpdir(), "plumbline-lab-test-"));
  const up = await lab("up", "--kube", "--tors", "2");
  if (up.code !== 0) throw new Error(up.stderr);
});
afterAll(async () => {
  await lab("down");
  await rm(runtime, { recursive: true });
});

test("every node has a router that is ready, and the kernel lacks nothing", async () => {
  const ready = async () => (await lab("status")).stdout.match(/Ready=True Degraded=False SessionsEstablished=True/g)?.length;
  await expect.poll(ready, EVENTUALLY).toBe(3);
  expect((await lab("status")).stdout).not.toContain("This kernel has no");
});

test("a request crosses client, ToR, EVPN fabric, node, kube-proxy and reaches a pod on another node", async () => {
  await expect.poll(request, EVENTUALLY).toMatch(/^portal-/);
  const pod = (await request()).trim();
  // Without --kubeconfig: the lab that runs is found.
  const { stdout } = await plumbline(["get", "pods", "-n", "default", "-o", "json"], { XDG_RUNTIME_DIR: runtime });
  const { items } = JSON.parse(stdout) as { items: { metadata: { name: string }; spec: { nodeName: string } }[] };
  expect(items.find(({ metadata }) => metadata.name === pod)?.spec.nodeName).toMatch(/^node[23]$/);
  for (const tor of TORS) {
    // The VTEP of node1, over the bridge of the VNI.
    const route = () => exec(tor, "ip", "route", "show", "vrf", "blue", ADDRESS);
    await expect.poll(route, EVENTUALLY).toContain("via 100.65.0.0 dev br-blue");
  }

  for (const tor of TORS) await exec(tor, "ip", "link", "set", "vni200", "down");
  expect(await request()).toBe("");
  for (const tor of TORS) await exec(tor, "ip", "link", "set", "vni200", "up");
  await expect.poll(request, EVENTUALLY).toBe(`${pod}\n`);
});
