import { consentAnnotation } from "../../src/api/annotations.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Namespace } from "../../src/api/core/namespace.ts";
import { FailoverPolicy, type FailoverStatus, type Role } from "../../src/api/failover/failover-policy.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { type CommandResult, LAUNCHER } from "../support/command-line.ts";
import { SERVERS, type CommandLineServer } from "../support/servers.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const time = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString().replace(".000Z", "Z");
const peer = { kubeconfigSecret: { name: "site-b", key: "kubeconfig" } };

function conditions(is: string, reason: string = is, message = ""): NonNullable<FailoverStatus["conditions"]> {
  return ["Complete", "InProgress", "Error"].map((type) => ({
    type,
    status: type === is ? "True" : "False",
    reason: type === is ? reason : "No",
    message: type === is ? message : "",
    lastTransitionTime: time(0),
  }));
}

/** As the controller reports a switch that took 30 s, with a copy that was 12 s old. */
function completed(to: Role, generation: number): FailoverStatus {
  return {
    observedGeneration: generation,
    currentState: to,
    conditions: conditions("Complete"),
    transition: {
      to,
      mode: "safe",
      generation,
      startTime: time(0),
      completionTime: time(30),
      lastSyncTime: time(8),
      writesStoppedTime: time(20),
      steps: [{ name: "ScaleDown", state: "Done", startTime: time(0), completionTime: time(2) }],
    },
  };
}

const forgotten = (item: object) => ({ apiVersion: "plumbline.dev/cli/v1", kind: "ForgottenPeer", items: [item] });

describe.each(SERVERS)("on %s", (_name, start) => {
  let server: CommandLineServer;
  const stop = new AbortController();
  /** The policies that were asked to change, in the order in which the server stored that. */
  const changes: string[] = [];
  /** Plays the controller: in these namespaces a policy is reported to be where it is wanted. */
  const carriedOut = new Set<string>();

  beforeAll(async () => {
    server = await start("cli-failover-site");
    const cache = new Cache(server.client, FailoverPolicy);
    cache.subscribe((change) => {
      if (change.type === "deleted") return;
      const { metadata, spec, status } = change.object;
      const { name, namespace = "", generation = 0 } = metadata;
      if (change.type === "updated" && change.old.metadata.generation !== generation) changes.push(`${namespace}/${name}`);
      if (generation < 2 || (status?.observedGeneration ?? 0) >= generation || !carriedOut.has(namespace)) return;
      void policies().patchStatus({ name, namespace }, { status: completed(spec.desiredState, generation) }, { signal });
    });
    cache.start(stop.signal);
    await cache.waitForSync(signal);
  });
  afterAll(async () => {
    stop.abort();
    await server.stop();
  });

  const policies = () => server.client.resource(FailoverPolicy);
  const failover = (...args: string[]): Promise<CommandResult> => server.plumbline("failover", ...args);

  interface Made {
    readonly spec?: Partial<FailoverPolicy["spec"]>;
    readonly labels?: Record<string, string>;
    readonly status?: FailoverStatus;
  }

  async function site(namespace: string, made: Record<string, Made>): Promise<void> {
    await server.client.resource(Namespace).create({ metadata: { name: namespace } }, { signal });
    for (const [name, { spec = {}, labels = {}, status }] of Object.entries(made)) {
      const managedResources = [{ kind: "Deployment" as const, name }];
      const whole = { desiredState: "primary", managedResources, ...spec } as FailoverPolicy["spec"];
      await policies().create({ metadata: { name, namespace, labels }, spec: whole }, { signal });
      if (status) await policies().patchStatus({ name, namespace }, { status }, { signal });
    }
  }

  const desired = async (namespace: string) => {
    const { items } = await policies().list({ namespace, signal });
    return Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec.desiredState]));
  };

  test("a site is stopped from the highest wave to the lowest and started in reverse, and a repeated command writes nothing", async () => {
    const namespace = "waves";
    carriedOut.add(namespace);
    await site(namespace, { front: { spec: { wave: 20 } }, app: { spec: { wave: 10 } }, api: { spec: { wave: 10 } }, db: {} });
    changes.length = 0;
    const down = await failover("switch", "--all", "-n", namespace, "--to", "secondary", "--wait");
    expect(down.code).toBe(0);
    expect(changes[0]).toBe("waves/front");
    expect(new Set(changes.slice(1, 3))).toEqual(new Set(["waves/app", "waves/api"]));
    expect(changes.slice(3)).toEqual(["waves/db"]);
    expect(down.stdout).toMatch(/ Wave 20: 1 policy\n/);
    expect(down.stdout).toMatch(/ waves\/app: ScaleDown done after 2s\n/);
    expect(down.stdout).toContain("4 of 4 policies are secondary. RTO of the site: 30s; the slowest was waves/");
    expect(down.stdout).toMatch(/ with 30s\. RPO: 12s \(waves\/\w+\)\n$/);

    changes.length = 0;
    expect((await failover("switch", "--all", "-n", namespace, "--to", "primary", "--wait")).code).toBe(0);
    expect([changes[0], changes[3]]).toEqual(["waves/db", "waves/front"]);
    changes.length = 0;
    const again = await failover("switch", "--all", "-n", namespace, "--to", "primary", "--wait");
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("4 of 4 policies are primary, 4 of them before\n") });
    expect(changes).toEqual([]);
  });

  test("a rejected policy prevents all changes, unless it is excluded", async () => {
    const namespace = "refused";
    carriedOut.add(namespace);
    await site(namespace, {
      good: { labels: { tier: "gold" } },
      wrong: { spec: { managedResources: [] } },
      far: { spec: { managedResources: [{ kind: "Deployment", name: "coredns", namespace: "kube-system" }] } },
    });
    const rejected = await failover("switch", "--all", "-n", namespace, "--to", "secondary", "--wait");
    expect(rejected).toMatchObject({ code: 1, stdout: "" });
    expect(rejected.stderr).toContain("2 of 3 policies are rejected; nothing was changed; --skip-refused switches the others:\n");
    expect(rejected.stderr).toContain("FailoverPolicy refused/wrong:\n  FailoverPolicy refused/wrong: Invalid: spec.managedResources: ");
    expect(rejected.stderr).toContain(
      `Deployment kube-system/coredns: NotPermitted: spec.managedResources[0].namespace: FailoverPolicy refused/far may not switch resources in namespace kube-system. To allow it: kubectl annotate --overwrite namespace kube-system '${consentAnnotation}=refused/far'`,
    );
    expect(await desired(namespace)).toEqual({ good: "primary", wrong: "primary", far: "primary" });

    const json = await failover("switch", "--all", "-n", namespace, "--to", "secondary", "-o", "json");
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      apiVersion: "plumbline.dev/cli/v1",
      kind: "FailoverSiteSwitch",
      items: [
        {
          name: "far",
          state: "refused",
          failures: [{ kind: "Deployment", reason: "NotPermitted", field: "spec.managedResources[0].namespace", class: "Permanent" }],
        },
        { name: "wrong", state: "refused", failures: [{ kind: "FailoverPolicy", reason: "Invalid" }] },
      ],
    });

    const skipped = await failover("switch", "--all", "-n", namespace, "--to", "secondary", "--wait", "--skip-refused");
    expect(skipped).toMatchObject({ code: 1, stdout: expect.stringContaining("1 of 1 policies are secondary") });
    expect(await desired(namespace)).toEqual({ good: "secondary", wrong: "primary", far: "primary" });
    expect((await failover("switch", "-l", "tier=gold", "-n", namespace, "--to", "primary", "--wait")).code).toBe(0);
    expect(await desired(namespace)).toMatchObject({ good: "primary" });
  });

  test("an unfinished wave delays the next one only for its timeout", async () => {
    const namespace = "stuck";
    await site(namespace, { db: {}, app: { spec: { wave: 1 } } });
    changes.length = 0;
    const args = ["--to", "secondary", "--wait", "--wave-timeout", "1s", "--timeout", "3s"];
    const ended = await failover("switch", "--all", "-n", namespace, ...args);
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain("Wave 1 is not done after 1s; starting the next one\n");
    expect(ended.stdout).toContain("0 of 2 policies are secondary\nstuck/app is not: no controller has processed it");
    expect(ended.stderr).toContain(
      "Stopped watching after 3s; started switches continue. Watch again with: plumbline failover switch --all -n stuck --to secondary --wait",
    );
    expect(changes).toEqual(["stuck/app", "stuck/db"]);
  });

  test("Ctrl-C prints running and not started switches, and the command to continue", async () => {
    const namespace = "stopped";
    await site(namespace, { db: {}, app: { spec: { wave: 1 } } });
    const args = ["failover", "switch", "--all", "-n", namespace, "--to", "secondary", "--wait"];
    const child = spawn(LAUNCHER, args, { env: { ...process.env, ...server.env } });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (text: Buffer) => {
      output.stdout += text.toString();
      if (output.stdout.includes("stopped/app: desiredState set to secondary")) setTimeout(() => child.kill("SIGINT"), 300);
    });
    child.stderr.on("data", (text: Buffer) => (output.stderr += text.toString()));
    const [code] = (await once(child, "close")) as [number];
    expect({ code, stderr: output.stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining(
        "plumbline: Stopped watching; started switches continue. Not started: stopped/db (wave 0). Continue with: plumbline failover switch --all -n stopped --to secondary --wait\n",
      ),
    });
    expect(await desired(namespace)).toEqual({ app: "secondary", db: "primary" });
  });

  test("usage errors and missing objects have different exit codes", async () => {
    const namespace = "chosen";
    await site(namespace, { db: {}, app: { spec: { wave: 1 } } });
    expect(await failover("switch", "-l", "tier=lead", "-n", namespace, "--to", "primary")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "plumbline: No FailoverPolicy in namespace chosen has the labels tier=lead; there are 2: chosen/app, chosen/db\n",
    });
    expect(await failover("status", "-l", "tier=lead", "-n", namespace)).toMatchObject({ code: 1 });
    expect(await failover("switch", "--all", "-n", "nowhere", "--to", "primary")).toMatchObject({
      code: 1,
      stderr: "plumbline: There is no FailoverPolicy in namespace nowhere\n",
    });
    expect(await failover("switch", "--to", "primary")).toMatchObject({
      code: 2,
      stderr: "plumbline: Name a policy, or choose several with --all or -l\n",
    });
    expect(await failover("switch", "db", "--all", "--to", "primary")).toMatchObject({ code: 2 });
    expect(await failover("switch", "--all", "-l", "a=b", "--to", "primary")).toMatchObject({ code: 2 });
    expect(await failover("switch", "--all", "-A", "-n", namespace, "--to", "primary")).toMatchObject({ code: 2 });
    expect(await failover("switch", "--all", "-n", namespace, "--to", "secondary")).toMatchObject({
      code: 2,
      stderr: "plumbline: The policies are in several waves (1, 0): add --wait, because each wave waits for the one before\n",
    });
    expect(await failover("switch", "db", "--to", "primary", "--even-though-it-answers")).toMatchObject({ code: 2 });
    expect(await failover("switch", "--all", "--to", "primary", "--wave-timeout", "0s")).toMatchObject({ code: 2 });
    const negative = policies().patch({ name: "db", namespace }, { spec: { wave: -1 } }, { signal });
    await expect(negative).rejects.toMatchObject({ code: "Invalid", message: expect.stringContaining("spec.wave") });
    expect(await desired(namespace)).toEqual({ db: "primary", app: "primary" });
  });

  test("a site is forced with one reason, except policies whose other site holds the token", async () => {
    const namespace = "forced";
    const token = { epoch: 4, state: "Released" } as const;
    const answers = { reachable: true, desiredState: "primary", token: { epoch: 5, state: "Held" as const }, lastAnswerTime: time(0) };
    await site(namespace, {
      silent: { spec: { desiredState: "secondary", peer }, status: { token, peer: { reachable: false, lastSyncTime: time(0) } } },
      alive: { spec: { desiredState: "secondary", peer }, status: { token, peer: answers } },
      alone: { spec: { desiredState: "secondary" } },
    });
    const force = ["switch", "--all", "-n", namespace, "--to", "primary", "--force", "--reason", "site B burns"];
    const rejected = await failover(...force);
    expect(rejected).toMatchObject({ code: 1, stdout: "" });
    expect(rejected.stderr).toContain("FailoverPolicy forced/alive: Refused: spec.force: Cannot read the other site from here: ");
    expect(rejected.stderr).toContain(
      "If it is gone, the controller notices within 20s: retry then. To force anyway: --even-though-it-answers",
    );
    expect(await desired(namespace)).toEqual({ silent: "secondary", alive: "secondary", alone: "secondary" });

    const insisted = await failover(...force, "--even-though-it-answers");
    expect(insisted.code).toBe(0);
    expect(insisted.stderr).toContain("forced/silent: Lost by force: The copy here was made at 2026-01-01T12:00:00Z, ");
    expect(insisted.stdout).toContain("--to primary --force --reason 'site B burns' --even-though-it-answers --wait\n");
    for (const [name, epoch] of Object.entries({ silent: 4, alive: 4, alone: 0 })) {
      const { metadata, spec } = await policies().get(name, { namespace, signal });
      expect(spec).toMatchObject({ desiredState: "primary", force: { reason: "site B burns", epoch, uid: metadata.uid } });
    }
  });

  test("a policy that Git would revert prevents all changes", async () => {
    const namespace = "owned";
    carriedOut.add(namespace);
    const labels = { "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system" };
    await site(namespace, { free: {}, owned: { labels } });
    const rejected = await failover("switch", "--all", "-n", namespace, "--to", "secondary", "--suspend-owner", "--wait", "-o", "json");
    expect(rejected.code).toBe(1);
    const all = await failover("switch", "--all", "-n", namespace, "--to", "secondary", "--wait", "-o", "json");
    expect(JSON.parse(all.stdout)).toMatchObject({
      kind: "FailoverSiteSwitch",
      items: [{ name: "owned", state: "refused", failures: [{ reason: "OwnedByGitOps", field: "spec.desiredState" }] }],
    });
    expect(await desired(namespace)).toEqual({ free: "primary", owned: "primary" });
    const others = await failover("switch", "--all", "-n", namespace, "--to", "secondary", "--wait", "--skip-refused");
    expect(others.stdout).toContain("1 of 1 policies are secondary");
    expect(await desired(namespace)).toEqual({ free: "secondary", owned: "primary" });
  });

  test("-o json of one policy has the same shape as that of a site", async () => {
    const namespace = "single";
    carriedOut.add(namespace);
    await site(namespace, { web: {}, other: {} });
    const { code, stdout } = await failover("switch", "web", "-n", namespace, "--to", "secondary", "--wait", "-o", "json");
    expect({ code, answer: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      answer: { kind: "FailoverSiteSwitch", items: [{ namespace, name: "web", to: "secondary", state: "complete", seconds: 30 }] },
    });
    expect(await desired(namespace)).toEqual({ other: "primary", web: "secondary" });
  });

  test("a peer is forgotten in one write with uid and epoch, and not if a second writer could start", async () => {
    const namespace = "forget";
    await site(namespace, {
      owner: { spec: { peer }, status: { token: { epoch: 4, state: "Held" } } },
      released: { spec: { desiredState: "secondary", peer }, status: { token: { epoch: 6, state: "Released" } } },
      json: { spec: { peer }, status: { token: { epoch: 2, state: "Held" } } },
      alone: {},
    });
    const forget = (name: string, ...more: string[]) =>
      failover("forget-peer", name, "-n", namespace, "--reason", "site B is closed", ...more);
    expect(await forget("alone")).toMatchObject({ code: 1, stderr: expect.stringContaining("nothing to remove") });
    expect(await forget("released")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("If the other site will never write again, add --other-site-is-gone"),
    });
    const kept = await policies().get("released", { namespace, signal });
    expect([kept.spec.peer, kept.metadata.annotations]).toEqual([peer, undefined]);

    for (const [name, epoch, flags] of [
      ["owner", 4, []],
      ["released", 6, ["--other-site-is-gone"]],
    ] as const) {
      expect(await forget(name, ...flags)).toMatchObject({ code: 0 });
      const { metadata, spec } = await policies().get(name, { namespace, signal });
      expect(metadata).toMatchObject({ generation: 2 });
      expect(spec.peer).toBeUndefined();
      expect(JSON.parse(metadata.annotations?.["plumbline.dev/failover-forget-peer"] ?? "")).toEqual({
        uid: metadata.uid,
        epoch,
        reason: "site B is closed",
      });
    }
    const asJson = async (name: string, code: number) => {
      const ended = await forget(name, "-o", "json");
      expect(ended.code).toBe(code);
      return JSON.parse(ended.stdout) as unknown;
    };
    expect(await asJson("json", 0)).toEqual(
      forgotten({
        namespace,
        name: "json",
        state: "forgotten",
        reason: "site B is closed",
        token: { epoch: 2, state: "Held" },
        peer: { reachable: false, message: expect.any(String), field: expect.any(String) },
      }),
    );
    expect(await asJson("alone", 1)).toEqual(
      forgotten({ namespace, name: "alone", state: "refused", message: "has neither spec.peer nor a token: nothing to remove" }),
    );
    expect(await failover("forget-peer", "owner", "-n", namespace)).toMatchObject({ code: 2 });
    expect(await failover("forget-peer", "owner", "-n", namespace, "--reason", " ")).toMatchObject({ code: 2 });
  });

  test("status has a line for each policy, and fails if one is unhealthy", async () => {
    const namespace = "status";
    await site(namespace, {
      web: { status: completed("primary", 1) },
      db: {
        spec: { wave: 5, desiredState: "secondary" },
        status: { observedGeneration: 1, conditions: conditions("Error", "NotFound", "gone") },
      },
    });
    const { code, stdout } = await failover("status", "-n", namespace);
    expect({ code, lines: stdout.trimEnd().split("\n") }).toEqual({
      code: 1,
      lines: [
        "NAME         WAVE   DESIRED     CURRENT   COMPLETE   READY     TOKEN   PEER   COPY   PROBLEM",
        "status/db    5      secondary   unknown   False      Unknown                         NotFound: gone",
        "status/web   0      primary     primary   True       Unknown",
      ],
    });
    const one = await failover("status", "web", "-n", namespace, "-o", "json");
    expect(one.code).toBe(0);
    expect(JSON.parse(one.stdout)).toMatchObject({ kind: "FailoverPolicyState", items: [{ name: "web", complete: "True", peer: "None" }] });
    expect(await failover("status", "--all", "-n", "nowhere")).toMatchObject({ code: 0, stdout: "There is no FailoverPolicy\n" });
  });
});
