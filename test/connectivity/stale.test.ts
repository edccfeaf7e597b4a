import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { sourceLease } from "../../src/connectivity/source-lease.ts";
import { createLog } from "../../src/kube/log.ts";
import { heartbeat, renewLease } from "../../src/kube/members/heartbeat.ts";
import { eventually, MeshedCluster, type Running, SYSTEM } from "./fixtures/meshed-cluster.ts";

const { signal } = new AbortController();
const log = createLog({ level: "silent" });
const durationMs = 3_000;
let cluster: MeshedCluster;
let controller: Running;

beforeAll(async () => {
  cluster = await MeshedCluster.start("stale", "shop", "bank");
  controller = cluster.controller({ silenceMs: durationMs });
});
afterAll(async () => {
  await controller.stop();
  await cluster.stop();
});

const checks = () => cluster.client.resource(PodNetworkConnectivityCheck);
const time = "2026-11-16T08:00:00Z";
const status: NonNullable<PodNetworkConnectivityCheck["status"]> = {
  successes: [{ time, success: true, reason: "ConnectDone", message: "Connected to 10.0.0.1:80", latency: "1ms" }],
  outages: [{ start: "2026-11-16T07:00:00Z", end: "2026-11-16T07:01:00Z", message: "Connectivity restored after 1m0s" }],
  conditions: [
    { type: "Reachable", status: "True", reason: "ConnectDone", message: "Connected to 10.0.0.1:80", lastTransitionTime: time },
    { type: "Other", status: "True", reason: "Mine", message: "", lastTransitionTime: time },
  ],
};

/** A check with results. */
async function check(name: string, namespace: string, sourcePod: string, annotations: Record<string, string> = {}): Promise<void> {
  const spec = { sourcePod, targetEndpoint: "10.0.0.1:80" };
  await checks().create({ metadata: { name, namespace, annotations }, spec }, { signal });
  await checks().patchStatus({ name, namespace }, { status }, { signal });
}

async function reachable(name: string, namespace: string): Promise<string> {
  const { status } = await checks().get(name, { namespace, signal });
  const { status: value, reason, message } = status?.conditions?.find(({ type }) => type === "Reachable") ?? {};
  return `${value} ${reason}: ${message}`;
}

/** Renews the Lease of a pod until it is stopped. */
function beats({ onTestFinished }: TestContext, namespace: string, pod: string): () => Promise<void> {
  const stopping = new AbortController();
  const metadata = () => ({ ...sourceLease(pod), namespace });
  const beating = renewLease({ client: cluster.client, holder: pod, metadata, log, durationMs, renewMs: durationMs / 4 }).run(
    stopping.signal,
  );
  const stop = () => {
    stopping.abort();
    return beating;
  };
  onTestFinished(stop);
  return stop;
}

// Each waits most of the time.
describe.concurrent("the controller", () => {
  test("marks the checks of a pod that stops reporting Unknown and keeps the rest of their status; checks of other pods are unchanged", async (context) => {
    const silence = beats(context, "shop", "web");
    beats(context, "bank", "web");
    beats(context, "shop", "api");
    await check("web-1", "shop", "web");
    await check("web-2", "shop", "web");
    await check("web", "bank", "web");
    await check("api", "shop", "api");
    // Longer than one duration: a Lease that is renewed says enough.
    await sleep(1.5 * durationMs);
    expect(await reachable("web-1", "shop")).toBe("True ConnectDone: Connected to 10.0.0.1:80");

    await silence();
    await eventually(async () => {
      const notReporting = /^Unknown Stale: Source web has not reported since 20\d\d-\S+Z; the rest of this status is its last report$/;
      for (const name of ["web-1", "web-2"]) expect(await reachable(name, "shop")).toMatch(notReporting);
    });
    const { status: marked } = await checks().get("web-1", { namespace: "shop", signal });
    expect({ ...marked, conditions: marked?.conditions?.slice(1) }).toEqual({ ...status, conditions: status.conditions?.slice(1) });
    for (const [name, namespace] of [
      ["web", "bank"],
      ["api", "shop"],
    ] as const)
      expect(await reachable(name, namespace)).toBe("True ConnectDone: Connected to 10.0.0.1:80");

    // What the source says when it is back is not marked again.
    beats(context, "shop", "web");
    await checks().patchStatus({ name: "web-1", namespace: "shop" }, { status }, { signal });
    await sleep(1.5 * durationMs);
    expect(await reachable("web-1", "shop")).toBe("True ConnectDone: Connected to 10.0.0.1:80");
  });

  test("a pod that is deleted with its Lease counts as not reporting", async (context) => {
    const silence = beats(context, "shop", "gone");
    await check("gone", "shop", "gone");
    await eventually(async () => void (await cluster.client.resource(Lease).get("check-gone", { namespace: "shop", signal })));
    // Long enough for the controller to have seen it.
    await sleep(durationMs / 2);
    await silence();
    await cluster.client.resource(Lease).delete({ name: "check-gone", namespace: "shop" }, { signal });
    await eventually(async () => expect(await reachable("gone", "shop")).toMatch(/^Unknown Stale/));
  });

  test("checks of a node depend on the Lease of its agent", async () => {
    await cluster.node("n1", "192.0.2.1");
    const stopping = new AbortController();
    const beating = heartbeat({
      client: cluster.client,
      namespace: SYSTEM,
      node: "n1",
      nodeUid: () => undefined,
      log,
      durationMs,
      renewMs: durationMs / 4,
    }).run(stopping.signal);
    await check("n1", SYSTEM, "n1", { "plumbline.dev/node": "n1" });
    await sleep(1.5 * durationMs);
    expect(await reachable("n1", SYSTEM)).toMatch(/^True/);
    stopping.abort();
    await beating;
    await eventually(async () => expect(await reachable("n1", SYSTEM)).toMatch(/^Unknown Stale: Source n1 has not reported since /));
  });

  test("a checker without a Lease is not marked", async () => {
    await check("theirs", "shop", "their-pod");
    await checks().create(
      { metadata: { name: "new", namespace: "shop" }, spec: { sourcePod: "their-pod", targetEndpoint: "a:1" } },
      { signal },
    );
    await sleep(2 * durationMs);
    expect(await reachable("theirs", "shop")).toMatch(/^True/);
    expect(await reachable("new", "shop")).toBe("undefined undefined: undefined");
  });
});
