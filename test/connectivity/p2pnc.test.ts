import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { Event } from "../../src/api/core/event.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { Listener } from "./fixtures/listener.ts";
import { p2pncKubeconfig } from "./fixtures/kubeconfig.ts";
import { P2pncProcess } from "./fixtures/p2pnc-process.ts";

// The program as people and pods run it.

const { signal } = new AbortController();
let listener: Listener;
let directory: string;

beforeAll(async () => {
  listener = await Listener.start();
  directory = await mkdtemp(join(tmpdir(), "plumbline-p2pnc-"));
});
afterAll(async () => {
  await listener.down();
  await rm(directory, { recursive: true, force: true });
});

const env = (pod: string) => ({ POD_NAME: pod, POD_NAMESPACE: "shop" });
const eventually = (expectation: () => Promise<void> | void) => vi.waitFor(expectation, { timeout: 60_000, interval: 100 });

async function ran(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = new P2pncProcess(["check", "tcp-endpoint", ...args]);
  const code = await child.end();
  return { code, stdout: child.stdout, stderr: child.stderr };
}

describe("on the command line", () => {
  test("one attempt is printed, and the exit code is 0 if all targets are reached", async () => {
    const { target, port } = listener;
    const reached = await ran("--once", target, `localhost:${port}`);
    expect(reached).toMatchObject({ code: 0, stderr: "" });
    expect(reached.stdout).toMatch(
      new RegExp(
        `^TARGET +REACHABLE +LATENCY +MESSAGE\n${target} +True +[.0-9]+[mµ]s +Connected to ${target}\nlocalhost:${port} +True +[.0-9]+[mµ]s +Connection to localhost:${port} established\\.`,
      ),
    );
    const failed = await ran("--once", target, "127.0.0.1:1", "-o", "json");
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({
      apiVersion: "plumbline.dev/cli/v1",
      kind: "ConnectivityAttempt",
      items: [
        { target, reachable: true, actions: [{ success: true, reason: "ConnectDone", message: `Connected to ${target}` }] },
        {
          target: "127.0.0.1:1",
          reachable: false,
          actions: [{ success: false, message: "Failed connect to 127.0.0.1:1; Connection refused" }],
        },
      ],
    });
  });

  test("with an interval it runs until it is stopped", async () => {
    const child = new P2pncProcess(["check", "tcp-endpoint", "--interval", "100ms", "-o", "json", listener.target]);
    await vi.waitFor(() => expect(child.stdout.split("\n").length).toBeGreaterThan(3), { timeout: 30_000, interval: 50 });
    expect(await child.stop("SIGINT")).toBe(0);
    for (const line of child.stdout.trimEnd().split("\n")) expect(JSON.parse(line)).toMatchObject({ items: [{ reachable: true }] });
  });

  test.each([
    [["10.0.0.1"], 'Target "10.0.0.1": port missing; use host:port'],
    [["10.0.0.1:80=A_B"], "10.0.0.1:80=A_B: A_B is not a name of a check"],
    [["10.0.0.1:80="], "10.0.0.1:80=: the name of the check after = is missing"],
    [["10.0.0.1:80=a", "10.0.0.2:80=a"], "10.0.0.2:80=a: check a is given twice; a check has one target"],
    [
      ["10.0.0.1:80=a", "10.0.0.2:80"],
      "10.0.0.2:80 is to be printed and 10.0.0.1:80=a to be written into a check: give one kind of target",
    ],
    [["--once", "10.0.0.1:80=a"], "--once writes no check: leave out --once, or =CHECK in the targets"],
    [["-o", "json"], "-o needs printed results: use it with --once, or with targets without =CHECK"],
    [
      [],
      "POD_NAME is not set, so the checks of this pod cannot be found; set it from the downward API (fieldRef metadata.name), or name targets: HOST:PORT",
    ],
  ])("%j is a usage error with a reason", async (args, message) => {
    expect(await ran(...args)).toEqual({ code: 2, stdout: "", stderr: `p2pnc: ${message}\n` });
  });
});

describe("in a pod", () => {
  let api: SuiteApiServer;
  let client: KubeClient;
  let kubeconfig: string;
  const running: P2pncProcess[] = [];

  beforeAll(async () => {
    api = await apiServer("p2pnc");
    client = new KubeClient(api.access);
    await client.resource(Namespace).create({ metadata: { name: "shop" } }, { signal });
    kubeconfig = await p2pncKubeconfig(api, "web", join(directory, "web.kubeconfig"));
  });
  afterAll(async () => {
    await Promise.all(running.map((child) => child.stop("SIGKILL")));
    client.close();
    await api.stop();
  });

  const check = async (name: string) => client.resource(PodNetworkConnectivityCheck).get(name, { namespace: "shop", signal });
  const successes = async () => (await check("mine")).status?.successes?.length ?? 0;
  const verdict = async (name: string) => (await check(name)).status?.conditions?.map(({ status, reason }) => `${status} ${reason}`)[0];

  function start(pod: string, ...args: string[]): P2pncProcess {
    const options = [
      "--kubeconfig",
      kubeconfig,
      "--state-dir",
      join(directory, pod),
      "--interval",
      "300ms",
      "--allow-target",
      "127.0.0.0/8",
    ];
    const child = new P2pncProcess(["check", "tcp-endpoint", ...options, ...args], env(pod));
    running.push(child);
    return child;
  }

  async function create(name: string, spec: { sourcePod: string } | { sourcePodName: string }, target = listener.target): Promise<void> {
    const object = { metadata: { name, namespace: "shop" }, spec: { ...spec, targetEndpoint: target } };
    await client.resource(PodNetworkConnectivityCheck).create(object, { signal });
  }

  test("waits for the CRD, logs that once, and then runs the checks of its pod, by either field name", async () => {
    const child = start("web-1");
    await eventually(() => expect(child.stderr).toContain("CRD PodNetworkConnectivityCheck is not installed"));
    await installCrds(client, CUSTOM_KINDS, signal);
    await create("mine", { sourcePod: "web-1" });
    await create("mine-too", { sourcePodName: "web-1" });
    await create("theirs", { sourcePod: "web-2" });
    await create("refused", { sourcePod: "web-1" }, "169.254.169.254:80");
    await eventually(async () => {
      expect(await verdict("mine")).toBe("True ConnectDone");
      expect(await verdict("mine-too")).toBe("True ConnectDone");
      expect(await verdict("refused")).toBe("Unknown TargetRefused");
    });
    expect((await check("theirs")).status).toBeUndefined();
    expect(child.logged.filter(({ msg }) => msg.includes("CRD PodNetworkConnectivityCheck is not installed"))).toHaveLength(1);
    expect(child.logged.filter(({ level }) => level === "error")).toEqual([]);

    const lease = await client.resource(Lease).get("check-web-1", { namespace: "shop", signal });
    expect(lease).toMatchObject({
      metadata: { labels: { "plumbline.dev/component": "check-source" }, annotations: { "plumbline.dev/pod": "web-1" } },
      spec: { holderIdentity: "web-1", leaseDurationSeconds: 180 },
    });
  });

  test("the start and the end of an outage each create an Event", async () => {
    await listener.down();
    await eventually(async () => expect(await verdict("mine")).toBe("False ConnectError"));
    await listener.up();
    await eventually(async () => expect(await verdict("mine")).toBe("True ConnectDone"));
    const { status } = await check("mine");
    expect(status?.outages).toHaveLength(1);
    expect(status?.outages?.[0]).toMatchObject({
      startLogs: [{ message: `Failed connect to ${listener.target}; Connection refused`, reason: "ConnectError" }],
      message: expect.stringMatching(/^Connectivity restored after /) as string,
    });
    await eventually(async () => {
      const { items } = await client.resource(Event).list({ namespace: "shop", fieldSelector: "involvedObject.name=mine", signal });
      expect(items.map(({ reason }) => reason)).toEqual(expect.arrayContaining(["ConnectivityOutageDetected", "ConnectivityRestored"]));
    });
  });

  test("writes its final status when it is stopped", async () => {
    const before = await successes();
    // Some more attempts of both checks, which the API need not hear of before the next checkpoint.
    const attempts = listener.accepted;
    await eventually(() => expect(listener.accepted).toBeGreaterThan(attempts + 10));
    expect(await running.at(-1)?.stop()).toBe(0);
    expect(await successes()).toBeGreaterThan(before + 2);
  });

  test("the same checks can be run on the command line without a write", async () => {
    const before = await check("mine");
    const child = new P2pncProcess(
      ["check", "tcp-endpoint", "--once", "--kubeconfig", kubeconfig, "--allow-target", "127.0.0.1"],
      env("web-1"),
    );
    expect(await child.end()).toBe(1);
    expect(child.stdout).toMatch(/^CHECK +TARGET +REACHABLE/);
    expect(child.stdout).toMatch(new RegExp(`^mine +${listener.target} +True`, "m"));
    expect(child.stdout).toMatch(/^refused +169\.254\.169\.254:80 +False .*; allow it with --allow-target/m);
    expect(await check("mine")).toEqual(before);
    const lonely = new P2pncProcess(["check", "tcp-endpoint", "--once", "--kubeconfig", kubeconfig], env("lonely"));
    expect(await lonely.end()).toBe(3);
    expect(lonely.stderr).toBe("p2pnc: No PodNetworkConnectivityCheck of namespace shop has pod lonely as its source\n");
  });

  test("results are written to the named checks, which it awaits and does not create", async () => {
    await create("other-target", { sourcePod: "web-3" }, "10.0.0.1:80");
    const child = start("web-3", `${listener.target}=other-target`, `${listener.target}=later`);
    await eventually(async () => expect(await verdict("other-target")).toBe("True ConnectDone"));
    const warnings = child.logged.filter(({ level }) => level === "warn").map(({ check, msg }) => `${String(check)}: ${msg}`);
    expect(warnings.toSorted()).toEqual([
      "later: the check does not exist; its target is tried once the check is created",
      "other-target: the check has another target than the command line; using the command line",
    ]);
    await expect(check("later")).rejects.toThrow(/not found/);
    await create("later", { sourcePod: "web-9" });
    await eventually(async () => expect(await verdict("later")).toBe("True ConnectDone"));
    expect(child.logged.at(-1)).toMatchObject({
      check: "later",
      msg: "the check is for another source; if that source probes it too, the process that started last reports it",
    });
    const theirs = start("web-9");
    await eventually(async () => expect(await client.resource(Lease).get("check-web-9", { namespace: "shop", signal })).toBeDefined());
    await listener.down();
    await eventually(() => expect(child.logged.at(-1)?.msg).toMatch(/writes this check; leaving it to the newer one$/));
    expect((await check("later")).status?.writer?.name).toMatch(/^web-9-/);
    expect(await child.stop()).toBe(0);
    expect(await theirs.stop()).toBe(0);
    expect((await check("later")).status?.writer?.name).toMatch(/^web-9-/);
  });

  test("a missing permission ends it with an error", async () => {
    const none = await api.server.kubeconfig("unprivileged");
    const child = new P2pncProcess(["check", "tcp-endpoint", "--kubeconfig", none], env("web-1"));
    expect(await child.end()).toBe(3);
    expect(child.stderr).toMatch(/^p2pnc: .*cannot list resource "podnetworkconnectivitychecks".*\n$/);
  });

  test("the pruner runs alone until it is stopped", async () => {
    const operator = await p2pncKubeconfig(api, "operator", join(directory, "operator.kubeconfig"));
    const child = new P2pncProcess([
      "prune",
      "--namespace",
      "shop",
      "--dry-run",
      "--kubeconfig",
      operator,
      "--health-address",
      "127.0.0.1:0",
    ]);
    const address = await vi.waitFor(() => {
      const listens = child.logged.find(({ msg }) => msg === "health server listening");
      expect(listens).toBeDefined();
      return String(listens?.["address"]);
    }, 300_000);
    await eventually(async () => expect(await (await fetch(`http://${address}/readyz`)).text()).toContain("ok"));
    expect(await child.stop()).toBe(0);
    expect((await check("mine")).metadata.name).toBe("mine");
  });
});
