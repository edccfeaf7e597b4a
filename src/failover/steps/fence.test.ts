import { describe, expect, test } from "vitest";
import type { FailoverPolicy, FailoverStatus } from "../../api/failover/failover-policy.ts";
import type { NetworkFence } from "../observe/external-kinds.ts";
import { plan } from "../plan.ts";
import { report } from "../report.ts";
import { steps, writeTexts } from "../testing/harness.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { deployment, named, NOW, policy, volume } from "../testing/fixtures.ts";
import type { TokenDecision } from "../token/token.ts";

const NAME = "failover-uid-1-7";
const cidrs = ["192.0.2.0/28"];
const unfenced: Partial<FailoverPolicy["spec"]> = {
  desiredState: "primary",
  peer: { kubeconfigSecret: { name: "other", key: "kubeconfig" } },
  managedResources: named("VolumeReplication data"),
};
const spec = { ...unfenced, fence: { networkFenceClassName: "rbd", cidrs } };
const forcedToken = { epoch: 7, state: "Held" as const, forced: "Site A burns" };
const granted: TokenDecision = { mayWrite: true, mustDemote: false, waits: [] };
const peer = { reachable: false as const, message: "no route" };

const site = (role: "primary" | "secondary" = "secondary") => new FakeSite().put("VolumeReplication", volume("data", role));
const fence = (status?: NetworkFence["status"], changes: Partial<NetworkFence["spec"]> = {}): NetworkFence => ({
  metadata: { name: NAME, uid: "f", resourceVersion: "1", generation: 1 },
  spec: { networkFenceClassName: "rbd", fenceState: "Fenced", cidrs, ...changes },
  ...(status && { status }),
});

function taken(at: FakeSite, status: FailoverStatus = { token: forcedToken }, changes: Partial<FailoverPolicy["spec"]> = {}) {
  return plan(at.observe(policy({ ...spec, ...changes }, { uid: "uid-1", status }), { peer }), granted);
}

describe("a forced takeover with spec.fence", () => {
  test("takes the token, then creates one NetworkFence named after the policy and the epoch, before anything is promoted", () => {
    const forcing: TokenDecision = {
      take: { epoch: 7, state: "Held" },
      forced: "Site A burns",
      mayWrite: false,
      mustDemote: false,
      waits: [],
    };
    const first = plan(site().observe(policy(spec, { uid: "uid-1" }), { peer }), forcing);
    expect(steps(first).slice(0, 3)).toEqual(["TakeToken Act", "FenceOtherSite Pending", "PromoteVolumes Pending"]);

    const next = taken(site());
    expect(steps(next).slice(0, 3)).toEqual(["TakeToken Done", "FenceOtherSite Act", "PromoteVolumes Pending"]);
    expect(next.steps.filter(({ state }) => state === "Act").flatMap(({ writes }) => writes)).toEqual([
      {
        kind: expect.objectContaining({ kind: "NetworkFence", scope: "Cluster" }),
        create: true,
        patch: {},
        description: `fence 192.0.2.0/28 by NetworkFence ${NAME}`,
        object: {
          metadata: {
            name: NAME,
            labels: { "app.kubernetes.io/managed-by": "plumbline" },
            annotations: { "plumbline.dev/failover-policy": "shop/site" },
          },
          spec: { networkFenceClassName: "rbd", fenceState: "Fenced", cidrs },
        },
      },
    ]);
  });

  test("fences before it starts the workloads of a policy without volumes, and not again when that is over", () => {
    const annotations = { "plumbline.dev/failover-prior": JSON.stringify({ policy: "shop/site", replicas: 2 }) };
    const at = new FakeSite().put("Deployment", deployment("web", { replicas: 0 }, { annotations }));
    const managedResources = named("Deployment web");
    const first = taken(at, { token: forcedToken }, { managedResources });
    expect(steps(first).slice(0, 2)).toEqual(["TakeToken Done", "FenceOtherSite Act"]);
    expect(writeTexts(first)).toEqual([`fence 192.0.2.0/28 by NetworkFence ${NAME}`]);

    at.put("NetworkFence", fence({ result: "Succeeded", message: "fencing operation successful" }));
    expect(writeTexts(taken(at, { token: forcedToken }, { managedResources }))).toEqual(["scale Deployment shop/web from 0 to 2"]);

    const times = { startTime: "2026-11-16T10:00:00Z", completionTime: "2026-11-16T10:01:00Z" };
    const over: FailoverStatus = { token: forcedToken, transition: { to: "primary", mode: "safe", generation: 0, ...times, steps: [] } };
    const edited = taken(new FakeSite().put("Deployment", deployment("web")), over, { managedResources });
    expect(steps(edited)).not.toContainEqual(expect.stringContaining("FenceOtherSite"));
  });

  test("ends once the site was primary: a volume that is added later causes no fence", () => {
    const times = { startTime: "2026-11-16T10:00:00Z", completionTime: "2026-11-16T10:01:00Z" };
    const past = { to: "primary" as const, mode: "safe" as const, generation: 0, ...times, steps: [] };
    const under = { to: "primary" as const, mode: "safe" as const, generation: 1, startTime: "2026-11-16T11:00:00Z", steps: [] };
    for (const status of [{ transition: past }, { transition: under, history: [{ ...past, outcome: "Completed" as const }] }]) {
      const result = taken(site(), { token: forcedToken, ...status });
      expect(steps(result).slice(0, 2)).toEqual(["TakeToken Done", "PromoteVolumes Act"]);
    }
  });

  test.each<[string, NetworkFence["status"] | undefined]>([
    ["nothing is reported", undefined],
    ["the result has no message", { result: "Succeeded" }],
    ["the message is that of an unfence", { result: "Succeeded", message: "unfencing operation successful" }],
  ])("promotes nothing while %s", (_, status) => {
    const result = taken(site().put("NetworkFence", fence(status)));
    expect(steps(result).slice(1, 3)).toEqual(["FenceOtherSite Wait", "PromoteVolumes Pending"]);
    expect(writeTexts(result)).toEqual([]);
    expect(result.failures).toEqual([]);
  });

  test("promotes when the fence is verified, and records it", () => {
    const at = site().put("NetworkFence", fence({ result: "Succeeded", message: "fencing operation successful" }));
    const result = taken(at);
    expect(steps(result).slice(1, 3)).toEqual(["FenceOtherSite Done", "PromoteVolumes Act"]);
    const status = report({ token: forcedToken }, policy(spec), result, { failures: [], peer }, NOW);
    expect(status.fence).toEqual({ name: NAME, result: "Succeeded", message: "fencing operation successful" });
  });

  test("does not promote when fencing fails, and reports the driver's message", () => {
    const result = taken(site().put("NetworkFence", fence({ result: "Failed", message: "osd blocklist: timed out" })));
    expect(writeTexts(result)).toEqual([]);
    expect(result.failures).toEqual([
      {
        kind: "NetworkFence",
        name: NAME,
        reason: "FenceFailed",
        message:
          "Fencing failed: osd blocklist: timed out; check the storage driver, or remove spec.fence if the other site has stopped writing",
        class: "Transient",
      },
    ]);
  });

  test.each<[string, Partial<NetworkFence["spec"]>]>([
    ["has other addresses", { cidrs: ["192.0.2.64/28"] }],
    ["is of another class", { networkFenceClassName: "cephfs" }],
    ["was unfenced", { fenceState: "Unfenced" }],
  ])("does not promote on an object that %s", (_, changes) => {
    const at = site().put("NetworkFence", fence({ result: "Succeeded", message: "fencing operation successful" }, changes));
    expect(taken(at).failures).toMatchObject([{ reason: "FenceFailed" }]);
    expect(writeTexts(taken(at))).toEqual([]);
  });

  test("does not promote in unsafe mode either", () => {
    expect(writeTexts(taken(site(), undefined, { mode: "off" }))).toEqual([`fence 192.0.2.0/28 by NetworkFence ${NAME}`]);
  });

  test("is rejected if the kind is not installed, before the token is taken", () => {
    const at = site();
    at.absentKinds.add("NetworkFence");
    const forcing: TokenDecision = { take: { epoch: 7, state: "Held" }, forced: "x", mayWrite: false, mustDemote: false, waits: [] };
    const result = plan(at.observe(policy(spec, { uid: "uid-1" }), { peer }), forcing);
    expect(result.rejections).toMatchObject([{ reason: "KindNotInstalled", field: "spec.fence", class: "Permanent" }]);
    expect(result.steps.every(({ state }) => state !== "Act")).toBe(true);
  });

  test("waits while NetworkFences cannot be read", () => {
    const at = site();
    at.errors.add("NetworkFence");
    expect(steps(taken(at)).slice(1, 3)).toEqual(["FenceOtherSite Wait", "PromoteVolumes Pending"]);
  });
});

describe("nothing is fenced", () => {
  const done = { name: NAME, result: "Succeeded", message: "fencing operation successful" };

  test("again when a user has unfenced and deleted the object after the takeover", () => {
    const result = taken(site("primary"), { token: forcedToken, fence: done });
    expect(steps(result).slice(1, 2)).toEqual(["FenceOtherSite Done"]);
    expect(writeTexts(result)).toEqual([]);
  });

  test("when spec.fence is added after a forced takeover", () => {
    expect(steps(taken(site("primary")))).not.toContain("FenceOtherSite Act");
  });

  test("by a planned switch, and without spec.fence", () => {
    expect(steps(taken(site(), { token: { epoch: 8, state: "Held" } }))[1]).toBe("PromoteVolumes Act");
    const wanted = policy(unfenced, { uid: "uid-1", status: { token: forcedToken } });
    expect(steps(plan(site().observe(wanted, { peer }), granted))[1]).toBe("PromoteVolumes Act");
  });
});

test("a site whose fence kind is missing is not ready, before it is needed", () => {
  const at = site("primary");
  at.absentKinds.add("NetworkFence");
  const result = taken(at, { token: { epoch: 8, state: "Held" } });
  expect(result.complete).toBe(true);
  expect(result.ready.findings).toContainEqual(expect.objectContaining({ reason: "KindNotInstalled", field: "spec.fence" }));
});
