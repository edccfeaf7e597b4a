import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { FailoverPolicy, type FailoverStatus, type Role } from "../../src/api/failover/failover-policy.ts";
import { managedBy, modeOf } from "../../src/failover/policy/managed.ts";
import { type CommandResult, LAUNCHER, plumbline } from "../support/command-line.ts";
import { SERVERS, type CommandLineServer } from "../support/servers.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const namespace = "shop";
const time = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString().replace(".000Z", "Z");

function conditions(is: "Complete" | "InProgress" | "Error", reason: string = is, message = ""): NonNullable<FailoverStatus["conditions"]> {
  return ["Complete", "InProgress", "Error"].map((type) => ({
    type,
    status: type === is ? "True" : "False",
    reason: type === is ? reason : "No",
    message: type === is ? message : "",
    lastTransitionTime: time(0),
  }));
}

function transition(to: Role, generation: number): NonNullable<FailoverStatus["transition"]> {
  return {
    to,
    mode: "safe",
    generation,
    startTime: time(0),
    completionTime: time(34),
    lastSyncTime: time(10),
    writesStoppedTime: time(22),
    steps: [
      { name: "ScaleDown", state: "Done", startTime: time(0), completionTime: time(2) },
      { name: "AwaitTermination", state: "Done", startTime: time(2), completionTime: time(22) },
      { name: "DemoteVolumes", state: "Done", startTime: time(22), completionTime: time(34) },
    ],
  };
}

/** Manifests in the shapes that Failover-Operator takes, the mode that each has here, and all that it names. */
const SHAPES: readonly (readonly [file: string, mode: "safe" | "unsafe", named: string])[] = [
  [
    "one-list",
    "safe",
    "VolumeReplication/shop/data Deployment/shop/web StatefulSet/shop/db CronJob/shop/report VirtualService/shop/web HelmRelease/charts/cache Kustomization/flux-system/site",
  ],
  [
    "old-lists",
    "unsafe",
    "VolumeReplication/shop/data VolumeReplication/storage/files VirtualService/shop/web Deployment/front/web StatefulSet/shop/db CronJob/shop/report HelmRelease/charts/cache Kustomization/flux-system/site",
  ],
  ["mode-on", "safe", "Deployment/shop/of-mode-on"],
  ["mode-off", "unsafe", "Deployment/shop/of-mode-off"],
];
const fileOf = (shape: string) => join(import.meta.dirname, "../failover/testdata", `${shape}.yaml`);

/** As Failover-Operator leaves it. */
const THEIR_STATUS = {
  currentState: "secondary",
  conditions: [{ type: "FailoverReady", status: "True", reason: "FailoverComplete", message: "Done", lastTransitionTime: time(0) }],
  volumeReplicationStatuses: [{ name: "data", state: "secondary-ro", message: "Synced", lastUpdateTime: time(0) }],
  workloadStatus: "1/1 scaled down",
  workloadStatuses: [{ name: "web", kind: "Deployment", state: "Scaled Down", error: "", lastUpdateTime: time(0) }],
};

const manifest = (name: string) => `---
apiVersion: crd.hahomelabs.com/v1alpha1
kind: FailoverPolicy
metadata: { name: ${name}, namespace: shop }
spec:
  desiredState: primary
  managedResources:
    - { kind: Deployment, name: web }
`;

describe.each(SERVERS)("on %s", (_name, start) => {
  let server: CommandLineServer;
  beforeAll(async () => {
    server = await start("cli-failover");
    await server.client.resource(Namespace).create({ metadata: { name: namespace } }, { signal });
  });
  afterAll(() => server.stop());

  const policies = () => server.client.resource(FailoverPolicy);
  const failover = (...args: string[]): Promise<CommandResult> => server.plumbline("failover", ...args, "-n", namespace);
  const get = (name: string) => policies().get(name, { namespace, signal });

  async function policy(name: string, spec: Partial<FailoverPolicy["spec"]> = {}, status?: FailoverStatus): Promise<FailoverPolicy> {
    const managedResources = [{ kind: "Deployment" as const, name }];
    await policies().create({ metadata: { name, namespace }, spec: { desiredState: "primary", managedResources, ...spec } }, { signal });
    return status ? report(name, status) : get(name);
  }

  function report(name: string, status: FailoverStatus): Promise<FailoverPolicy> {
    return policies().patchStatus({ name, namespace }, { status }, { signal });
  }

  /** Plays the controller: once the policy asks for this role, it is reported to be done. */
  async function completes(name: string, to: Role): Promise<void> {
    for (;;) {
      const { spec, metadata } = await get(name);
      const { generation = 0 } = metadata;
      if (spec.desiredState === to) {
        await report(name, { observedGeneration: generation, conditions: conditions("InProgress", "ScaleDown") });
        const workloadStatuses = [{ kind: "Deployment" as const, name: "api", namespace, state: "Scaled Down", message: "Left at 0" }];
        const made = { conditions: conditions("Complete"), transition: transition(to, generation) };
        const done = { observedGeneration: generation, workloadStatuses, ...made };
        await report(name, done);
        return;
      }
    }
  }

  test.each(SHAPES)("a manifest of Failover-Operator applies unchanged, also with its old status: %s", async (shape, mode, all) => {
    const file = fileOf(shape);
    expect(await plumbline(["lint", "-f", file])).toEqual({ code: 0, stdout: "1 object, no problems\n", stderr: "" });
    expect(await server.plumbline("apply", "-f", file)).toMatchObject({ code: 0, stderr: "" });
    const stored = await get(shape);
    expect(stored.spec).toEqual((parse(await readFile(file, "utf8")) as FailoverPolicy).spec);
    expect(modeOf(stored.spec)).toBe(mode);
    const { managed, problems } = managedBy(stored);
    expect([problems, managed.map(({ kind, namespace: where, name }) => `${kind}/${where}/${name}`).join(" ")]).toEqual([[], all]);

    const path = `/apis/crd.hahomelabs.com/v1alpha1/namespaces/${namespace}/failoverpolicies/${shape}/status`;
    const contentType = "application/merge-patch+json";
    const query = { fieldValidation: "Strict" };
    const written = await server.client.request<FailoverPolicy>("PATCH", path, {
      signal,
      body: { status: THEIR_STATUS },
      contentType,
      query,
    });
    expect(written.status).toEqual(THEIR_STATUS);
    await policies().delete({ name: shape, namespace }, { signal });
  });

  test("history lists the latest switches with their figures, of one policy and of all", async () => {
    const past = { to: "primary", mode: "unsafe", generation: 1, startTime: time(-100), outcome: "Completed" } as const;
    await policy("told", {}, { transition: transition("secondary", 2), history: [{ ...past, seconds: 41, forced: "Site A burns" }] });
    await policy("untold");
    expect(await failover("history", "told")).toEqual({
      code: 0,
      stderr: "",
      stdout: `TO          MODE     STARTED                TOOK   RPO   OUTCOME     LONGEST STEP           FORCED BECAUSE
secondary   safe     2026-01-01T12:00:00Z   34s    12s   Completed   AwaitTermination 20s
primary     unsafe   2026-01-01T11:58:20Z   41s          Completed                          Site A burns

Steps to secondary, begun 2026-01-01T12:00:00Z:
  STEP               STATE   TOOK   WHEN
  ScaleDown          Done    2s     =
  AwaitTermination   Done    20s     ============
  DemoteVolumes      Done    12s                 =======
`,
    });
    expect((await failover("history", "untold")).stdout).toBe("FailoverPolicy shop/untold has no recorded switch\n");
    const all = await server.plumbline("failover", "history", "--all");
    expect(all.stdout).toContain("NAMESPACE   POLICY   TO ");
    const { kind, items } = JSON.parse((await failover("history", "--all", "-o", "json")).stdout) as { kind: string; items: object[] };
    expect([kind, ...items]).toMatchObject([
      "FailoverSwitch",
      { namespace, policy: "told", to: "secondary", seconds: 34, lossSeconds: 12 },
      { policy: "told", forced: "Site A burns" },
    ]);
  });

  test("usage errors and missing objects have different exit codes", async () => {
    expect(await failover("history")).toMatchObject({ code: 2, stderr: "plumbline: Name a policy, or use --all\n" });
    expect(await failover("plan", "tolt")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("FailoverPolicy tolt not found in namespace shop"),
    });
    expect(await failover("switch", "told")).toMatchObject({ code: 2, stderr: expect.stringContaining("--to <role>") });
    expect(await failover("switch", "told", "--to", "primary", "--timeout", "long")).toMatchObject({ code: 2 });
    expect(await failover("switch", "told", "--to", "secondary", "--force")).toMatchObject({ code: 2 });
    expect(await failover("switch", "told", "--to", "primary", "--reason", "x")).toMatchObject({ code: 2 });
  });

  test("force without a peer names the policy object", async () => {
    await policy("alone", {});
    expect(await failover("switch", "alone", "--to", "primary", "--force", "--reason", "it burns")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("the policy has no spec.peer"),
    });
    const { metadata, spec } = await server.client.resource(FailoverPolicy).get("alone", { namespace, signal });
    expect(spec.force).toEqual({ reason: "it burns", epoch: 0, uid: metadata.uid });
  });

  test("describe prints the steps and resources of a policy", async () => {
    const workloadStatuses = [{ kind: "Deployment" as const, name: "web", namespace, state: "Scaled Down" }];
    await policy(
      "described",
      {},
      { observedGeneration: 1, currentState: "secondary", workloadStatuses, transition: transition("secondary", 1) },
    );
    const { code, stdout } = await server.plumbline("describe", "fop", "described", "-n", namespace);
    expect(code).toBe(0);
    for (const line of ["State:", "Steps to secondary: begun", "Resources:", "  Deployment   shop        web    Scaled Down", "History:"]) {
      expect(stdout).toContain(`\n${line}`.replace("\n\n", "\n"));
    }
  });

  test("get prints the current step", async () => {
    await policy("shown", {}, { currentState: "mixed", summary: "Waiting for Pod shop/db-0", conditions: conditions("InProgress") });
    const { stdout } = await server.plumbline("get", "fop", "shown", "-n", namespace);
    expect(stdout.replaceAll(/ {3,}/g, " | ").replace(/\d+s/, "0s")).toBe(
      "NAME | DESIRED | CURRENT | COMPLETE | ERROR | READY | WHERE | AGE\nshown | primary | mixed | False | False | Waiting for Pod shop/db-0 | 0s\n",
    );
  });

  test("switch changes desiredState, and --wait waits for the role", async () => {
    await policy("web");
    const [ended] = await Promise.all([failover("switch", "web", "--to", "secondary", "--wait"), completes("web", "secondary")]);
    expect(ended.code).toBe(0);
    const lines = ended.stdout
      .replaceAll(/^\d\d:\d\d:\d\d /gm, "")
      .trimEnd()
      .split("\n");
    expect(lines).toEqual([
      "FailoverPolicy shop/web: desiredState set to secondary",
      "ScaleDown done after 2s",
      "AwaitTermination done after 20s",
      "DemoteVolumes done after 12s",
      "FailoverPolicy shop/web is secondary, after 34s; the last copy was 12s old when writes stopped",
      "Notes:",
      "  Deployment shop/api: Left at 0",
    ]);
    expect(await failover("switch", "web", "--to", "secondary")).toMatchObject({
      code: 0,
      stdout: `FailoverPolicy shop/web: desiredState is already secondary
Follow it with: plumbline failover switch web -n shop --to secondary --wait
`,
    });
    expect(await get("web")).toMatchObject({ metadata: { generation: 2 }, spec: { desiredState: "secondary" } });
  });

  test("--wait ends at its timeout if no controller runs", async () => {
    await policy("slow");
    expect(await failover("switch", "slow", "--to", "secondary", "--wait", "--timeout", "500ms")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        "plumbline: FailoverPolicy shop/slow is not secondary yet: no controller has processed it; is plumbline controller running?",
      ),
    });
  });

  test("Ctrl-C does not stop the switch", async () => {
    await policy("watched");
    const args = ["failover", "switch", "watched", "-n", namespace, "--to", "secondary", "--wait"];
    const child = spawn(LAUNCHER, args, { env: { ...process.env, ...server.env } });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (text: Buffer) => {
      output.stdout += text.toString();
      // It says so a moment before it watches.
      if (output.stdout.includes("desiredState set to secondary")) setTimeout(() => child.kill("SIGINT"), 300);
    });
    child.stderr.on("data", (text: Buffer) => (output.stderr += text.toString()));
    const [code] = (await once(child, "close")) as [number];
    expect({ code, stderr: output.stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining(
        "plumbline: Stopped watching; the switch continues. Watch again with: plumbline failover switch watched -n shop --to secondary --wait\n",
      ),
    });
    expect((await get("watched")).spec.desiredState).toBe("secondary");
  });

  test("a rejected policy is not changed, and one that the controller rejects is not awaited", async () => {
    await policy("empty", { managedResources: [] });
    const before = await get("empty");
    expect(await failover("switch", "empty", "--to", "secondary")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("Rejected; nothing was changed:\n  FailoverPolicy shop/empty: Invalid: spec.managedResources: "),
    });
    expect(await get("empty")).toEqual(before);

    await policy("late", {}, { observedGeneration: 99, conditions: conditions("Error", "Conflict", "held by shop/old") });
    expect(await failover("switch", "late", "--to", "secondary", "--wait")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("plumbline: FailoverPolicy shop/late is rejected: Conflict: held by shop/old\n"),
    });
  });

  test("force has its epoch and reason, and is removed with the next switch", async () => {
    const peer = { kubeconfigSecret: { name: "site-b", key: "kubeconfig" } };
    const kubeconfig = JSON.stringify({
      "current-context": "b",
      contexts: [{ name: "b", context: { cluster: "b" } }],
      clusters: [{ name: "b", cluster: { server: "https://127.0.0.1:1" } }],
    });
    const data = { kubeconfig: Buffer.from(kubeconfig).toString("base64") };
    await server.client.resource(Secret).create({ metadata: { name: "site-b", namespace }, data }, { signal });
    await policy("pair", { desiredState: "secondary", peer }, { token: { epoch: 4, state: "Released" } });
    expect(await failover("switch", "pair", "--to", "primary", "--force")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--force requires --reason"),
    });
    expect(await failover("switch", "pair", "--to", "primary", "--force", "--reason", "site B burns")).toMatchObject({ code: 0 });
    expect((await get("pair")).spec).toMatchObject({ desiredState: "primary", force: { reason: "site B burns", epoch: 4 } });
    expect(await failover("switch", "pair", "--to", "secondary")).toMatchObject({ code: 0 });
    expect((await get("pair")).spec.force).toBeUndefined();
  });
});

test("lint reports two policies with the same resource", async () => {
  const { code, stdout } = await plumbline(["lint", "-f", "-"], {}, manifest("one") + manifest("two"));
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: `standard input:16: FailoverPolicy shop/two: spec.managedResources[0]: Deployment shop/web belongs to FailoverPolicy shop/one; only one policy can switch it
2 objects, 1 failure
`,
  });
});
