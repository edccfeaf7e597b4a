import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test, type TestContext, vi } from "vitest";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { accessAs } from "../../lab/kube/identities.ts";
import { silent } from "../../lab/progress.ts";
import { createNamespace } from "../../lab/sites/site.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { FailoverPolicy, type FailoverStatus } from "../../src/api/failover/failover-policy.ts";
import { accessFromText } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { FailoverPair } from "../support/failover-pair.ts";
import { type FailoverSite, failoverSites } from "../support/failover-site.ts";
import type { SentWrite } from "../support/failover-controller.ts";

const { signal } = new AbortController();
let sites: readonly [FailoverSite, FailoverSite];

beforeAll(async () => {
  sites = await failoverSites("two-sites");
});
afterAll(() => Promise.all(sites.map((site) => site.stop())));
afterEach(() => vi.useRealTimers());

async function twoSites({ onTestFinished }: TestContext, spec: Partial<FailoverPolicy["spec"]> = {}): Promise<FailoverPair> {
  const pair = await FailoverPair.start(sites, spec);
  onTestFinished(() => pair.stop());
  return pair;
}

const waitsFor = ({ transition }: FailoverStatus) => transition?.steps.find(({ waitingFor }) => waitingFor)?.waitingFor?.message ?? "";
const isWaiting = ({ status, metadata }: FailoverPolicy) =>
  status?.observedGeneration === metadata.generation && status?.transition?.steps[0]?.name === "TakeToken" && waitsFor(status) !== "";
const token = (write: SentWrite) => (write.body as { status?: { token?: { state: string } } }).status?.token?.state;

describe.concurrent("two sites", { timeout: 400_000 }, () => {
  test("a planned switch hands the token over, and back when both roles change at once", async (context) => {
    const pair = await twoSites(context);
    const { east, west } = pair;
    expect((await east.policy()).status).toMatchObject({ currentState: "primary", token: { epoch: 2, state: "Held" } });
    expect((await west.policy()).status).toMatchObject({ currentState: "secondary", token: { epoch: 1, state: "Released" } });

    await east.want({ desiredState: "secondary" });
    expect(await east.complete()).toMatchObject({ currentState: "secondary", token: { epoch: 2, state: "Released" } });
    await west.want({ desiredState: "primary" });
    expect(await west.complete()).toMatchObject({ currentState: "primary", token: { epoch: 3, state: "Held" } });

    await Promise.all([west.want({ desiredState: "secondary" }), east.want({ desiredState: "primary" })]);
    expect(await west.complete()).toMatchObject({ currentState: "secondary", token: { epoch: 3, state: "Released" } });
    expect(await east.complete()).toMatchObject({ currentState: "primary", token: { epoch: 4, state: "Held" } });
    expect([await pair.damage(), await pair.overlaps()]).toEqual([[], []]);
  });

  test("in unsafe mode too, nothing starts before everything at the other site has stopped", async (context) => {
    const pair = await twoSites(context, { mode: "unsafe" });
    await Promise.all([pair.west.want({ desiredState: "primary" }), pair.east.want({ desiredState: "secondary" })]);
    await Promise.all([pair.west.complete(), pair.east.complete()]);
    expect(await pair.overlaps()).toEqual([]);
  });

  test("a site that has released and wants to be primary again waits for the release of the other", async (context) => {
    const pair = await twoSites(context);
    await pair.east.want({ desiredState: "secondary" });
    expect(await pair.east.complete()).toMatchObject({ token: { epoch: 2, state: "Released" } });
    await pair.east.want({ desiredState: "primary" });
    expect(await pair.east.complete()).toMatchObject({ token: { epoch: 4, state: "Held" } });
    expect((await pair.west.policy()).status?.token).toEqual({ epoch: 3, state: "Released", copied: true });
    expect([await pair.damage(), await pair.overlaps()]).toEqual([[], []]);
  });

  test("while both want to be primary, the token holder stays, and the other reports what it waits for", async (context) => {
    const pair = await twoSites(context);
    await pair.west.want({ desiredState: "primary" });
    const message = "The other site holds epoch 2; set desiredState secondary there";
    await pair.west.until(({ status }) => status && waitsFor(status) === message);
    expect((await pair.east.policy()).status).toMatchObject({ currentState: "primary", token: { epoch: 2, state: "Held" } });
    expect(await pair.overlaps()).toEqual([]);
  });

  test("an unreachable site blocks both modes until a force with a reason", async (context) => {
    const pair = await twoSites(context);
    const { east, west } = pair;
    pair.cut = true;
    await east.want({ desiredState: "secondary" });
    expect(await east.complete()).toMatchObject({ token: { epoch: 2, state: "Released" } });

    await west.want({ desiredState: "primary" });
    const away = /^Cannot read the other site's token: .* set spec\.force with epoch 1 and the uid of this policy/;
    expect(waitsFor(await west.until(isWaiting))).toMatch(away);
    await west.want({ mode: "unsafe" });
    expect(waitsFor(await west.until(isWaiting))).toMatch(away);
    expect(await west.pods()).toEqual([]);

    await west.want({ mode: "safe", force: { reason: "the lines were dug up", epoch: 1, uid: await west.uid() } });
    const status = await west.complete();
    expect(status).toMatchObject({ currentState: "primary", token: { epoch: 3, state: "Held" } });
    expect(status.transition).toMatchObject({ to: "primary", forced: "the lines were dug up" });
    pair.cut = false;
    await east.until(({ status }) => status?.peer?.token?.epoch === 3);
    expect([await pair.damage(), await pair.overlaps()]).toEqual([[], []]);
  });

  test("an old primary that comes back and still wants to be one becomes secondary first", async (context) => {
    const pair = await twoSites(context);
    const { east, west } = pair;
    await east.stopControllers();
    pair.cut = true;
    await west.want({ desiredState: "primary", mode: "unsafe", force: { reason: "the site is on fire", epoch: 1, uid: await west.uid() } });
    await west.complete();
    // This is what force risks, and what must be seen when it happens anywhere else.
    expect(await pair.overlaps()).not.toEqual([]);

    east.controller();
    pair.cut = false;
    const back = await east.until(({ status }) => status?.currentState === "secondary");
    expect(back.token).toEqual({ epoch: 2, state: "Released" });
    expect(await east.pods()).toEqual([]);
    expect((await west.policy()).status).toMatchObject({ currentState: "primary", token: { epoch: 3, state: "Held" } });

    // What it has read outlasts the line.
    pair.cut = true;
    expect(waitsFor(await east.until(({ status }) => status && waitsFor(status).startsWith("Cannot read the other site's token")))).toMatch(
      /epoch 2 and the uid of this policy$/,
    );
    expect(await east.pods()).toEqual([]);
  });

  test.for(["Held", "Released"])("a controller that is killed after it wrote token %s is replaced without loss", async (state, context) => {
    const pair = await twoSites(context);
    const dying = state === "Held" ? pair.west : pair.east;
    await dying.stopControllers();
    let isWritten = false;
    const controller = dying.controller({
      onWrite: async (write) => {
        // Of what is written into the status beside it nothing depends on the token.
        if (isWritten && write.verb === "patch") controller.kill();
        isWritten ||= token(write) === state;
      },
    });
    await Promise.all([pair.west.want({ desiredState: "primary" }), pair.east.want({ desiredState: "secondary" })]);
    await controller.death;
    expect((await dying.policy()).status?.token?.state).toBe(state);
    dying.controller();
    expect(await pair.west.complete()).toMatchObject({ currentState: "primary", token: { epoch: 3, state: "Held" } });
    expect(await pair.east.complete()).toMatchObject({ currentState: "secondary", token: { epoch: 2, state: "Released" } });
    expect([await pair.damage(), await pair.overlaps()]).toEqual([[], []]);
  });
});

/** Runs what the comment of deploy/failover/peer.yaml says, but for the namespace, whose name the policy has too, and returns the kubeconfig. */
async function asWritten({ server }: FailoverSite["site"], namespace: string): Promise<string> {
  const kubectl = (await kubeBinaries(silent)).command("kubectl");
  if (!kubectl) throw new Error("The binaries in KUBEBUILDER_ASSETS bring no kubectl; unset it to use our own build");
  const text = (await readFile(join(import.meta.dirname, "../../deploy/failover/peer.yaml"), "utf8")).replaceAll(/\bshop\b/g, namespace);
  const steps = [...text.matchAll(/^# {3}(\S.*)$/gm)].map(([, line = ""]) => line);
  const directory = await mkdtemp(join(tmpdir(), "failover-peer-"));
  try {
    await writeFile(join(directory, "failover-peer.yaml"), text);
    const script = [
      `kubectl() { ${kubectl.join(" ")} "$@"; }`,
      "kubectl apply --filename $DIRECTORY/failover-peer.yaml",
      // The token is made by a controller, a moment later.
      `until kubectl get secret failover-peer --namespace ${namespace} --output jsonpath='{.data.token}' | grep --quiet .; do sleep 0.1; done`,
      ...steps.slice(0, -1),
      // The last line is for the other site; here the same one is it.
      `export KUBECONFIG=$ADMIN`,
      ...steps.slice(-1),
    ];
    const ADMIN = await server.kubeconfig("admin");
    const env = { ...process.env, HOME: directory, KUBECONFIG: ADMIN, ADMIN, DIRECTORY: directory, SERVER: server.url };
    await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script.join("\n")], { env });
    return await readFile(join(directory, "kubeconfig"), "utf8");
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** The result of each attempt: the code of its rejection, or none. */
async function outcomes(tries: Record<string, () => Promise<unknown>>): Promise<Record<string, unknown>> {
  const came: Record<string, unknown> = {};
  for (const [what, attempt] of Object.entries(tries)) {
    came[what] = await attempt().then(
      () => "allowed",
      (blocker: unknown) => (isKubeError(blocker) ? blocker.code : blocker),
    );
  }
  return came;
}

test("deploy/failover/peer.yaml lets the other site read one policy, and the controller one Secret, and no more", async ({
  onTestFinished,
}) => {
  const { client: admin, site, access } = sites[0];
  const namespace = "peer-rights";
  await createNamespace(admin, namespace, signal);
  const spec = { desiredState: "secondary" as const };
  for (const name of [namespace, "other"]) await admin.resource(FailoverPolicy).create({ metadata: { name, namespace }, spec }, { signal });

  const kubeconfig = await asWritten(site, namespace);
  const stored = await admin.resource(Secret).get("failover-other-site", { namespace, signal });
  expect(Buffer.from(stored.data?.["kubeconfig"] ?? "", "base64").toString()).toBe(kubeconfig);
  const peer = new KubeClient(await accessFromText(kubeconfig, "the Secret"), { retries: 0 });
  onTestFinished(() => peer.close());
  const policies = peer.resource(FailoverPolicy);
  const mine = { name: namespace, namespace };
  const ofPeer = await outcomes({
    "read it": () => policies.get(namespace, { namespace, signal }),
    "change it": () => policies.patch(mine, { spec: { desiredState: "primary" } }, { signal }),
    "write its token": () => policies.patchStatus(mine, { status: { token: { epoch: 9, state: "Held" } } }, { signal }),
    "delete it": () => policies.delete(mine, { signal }),
    "list policies": () => policies.list({ namespace, signal }),
    "read another": () => policies.get("other", { namespace, signal }),
    "read a secret": () => peer.resource(Secret).get("failover-other-site", { namespace, signal }),
  });
  expect(ofPeer).toEqual({ ...Object.fromEntries(Object.keys(ofPeer).map((what) => [what, "Forbidden"])), "read it": "allowed" });

  const controller = new KubeClient(accessAs("controller", access), { retries: 0 });
  onTestFinished(() => controller.close());
  const secrets = controller.resource(Secret);
  const ofController = await outcomes({
    "read it": () => secrets.get("failover-other-site", { namespace, signal }),
    "read another": () => secrets.get("failover-peer", { namespace, signal }),
    "list them": () => secrets.list({ namespace, signal }),
    "change it": () => secrets.patch({ name: "failover-other-site", namespace }, { data: {} }, { signal }),
  });
  expect(ofController).toEqual({ "read it": "allowed", "read another": "Forbidden", "list them": "Forbidden", "change it": "Forbidden" });
});

test("clock skew of hours makes no difference", async (context) => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const [hour, begun, started] = [3_600_000, performance.now(), Date.now()];
  let isAhead = false;
  const drift = setInterval(() => {
    isAhead = !isAhead;
    vi.setSystemTime(started + performance.now() - begun + (isAhead ? 3 * hour : -3 * hour));
  }, 7);
  context.onTestFinished(() => {
    clearInterval(drift);
    // Files of one worker share its clock.
    vi.useRealTimers();
  });
  const pair = await twoSites(context);
  await Promise.all([pair.west.want({ desiredState: "primary" }), pair.east.want({ desiredState: "secondary" })]);
  expect(await pair.west.complete()).toMatchObject({ currentState: "primary", token: { epoch: 3, state: "Held" } });
  expect(await pair.east.complete()).toMatchObject({ currentState: "secondary", token: { epoch: 2, state: "Released" } });
  expect([await pair.damage(), await pair.overlaps()]).toEqual([[], []]);
});
