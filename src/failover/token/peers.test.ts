import { afterEach, expect, test, vi } from "vitest";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { fixedAccess } from "../../kube/client/access.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { answer, hang, holdTime, ScriptedServer, until } from "../../kube/testing/scripted-server.ts";
import { Peers } from "./peers.ts";

const { signal } = new AbortController();
const open: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of open.splice(0).toReversed()) await close();
});

const policy: FailoverPolicy = {
  apiVersion: "crd.hahomelabs.com/v1alpha1",
  kind: "FailoverPolicy",
  metadata: { name: "shop", namespace: "web", uid: "here" },
  spec: { desiredState: "primary", peer: { kubeconfigSecret: { name: "other-site", key: "kubeconfig" } } },
};

async function server(...steps: Parameters<typeof ScriptedServer.start>[0]): Promise<ScriptedServer> {
  const scripted = await ScriptedServer.start(steps);
  open.push(() => scripted[Symbol.asyncDispose]());
  return scripted;
}

function kubeconfig(url: string, user: object = { token: "s3cret" }): string {
  return JSON.stringify({
    "current-context": "there",
    contexts: [{ name: "there", context: { cluster: "there", user: "reader" } }],
    clusters: [{ name: "there", cluster: { server: url } }],
    users: [{ name: "reader", user }],
  });
}

const secret = (text: string, key = "kubeconfig") => answer(200, { data: { [key]: Buffer.from(text).toString("base64") } });

/** Sites whose own cluster answers for the Secret with these. */
async function peersWith(...steps: Parameters<typeof ScriptedServer.start>[0]): Promise<{ peers: Peers; own: ScriptedServer }> {
  const own = await server(...steps);
  const client = new KubeClient(fixedAccess(own.url), { retries: 0 });
  const peers = new Peers(client);
  open.push(
    () => client.close(),
    () => peers.close(),
  );
  return { peers, own };
}

const pairedBack = { kubeconfigSecret: { name: "other-site", key: "kubeconfig" } };
const theirs = (spec: object, token?: unknown, uid = "there") =>
  answer(200, { metadata: { name: "shop", namespace: "web", uid }, spec: { peer: pairedBack, ...spec }, status: { token } });

test("it says what the policy of the same name in the same namespace wants and holds", async () => {
  const other = await server(theirs({ desiredState: "secondary" }, { epoch: 3, state: "Released" }));
  const { peers, own } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({
    reachable: true,
    exists: true,
    desiredState: "secondary",
    token: { epoch: 3, state: "Released" },
    volumes: [],
  });
  expect(own.received.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /api/v1/namespaces/web/secrets/other-site"]);
  expect(other.received.map(({ method, path, headers }) => `${method} ${path} ${headers.authorization}`)).toEqual([
    "GET /apis/crd.hahomelabs.com/v1alpha1/namespaces/web/failoverpolicies/shop Bearer s3cret",
  ]);
});

test("a role that Git wrote back after a person's switch there does not count", async () => {
  const annotations = { "plumbline.dev/failover-switched": JSON.stringify({ to: "secondary", at: "2026-11-16T11:00:00Z" }) };
  const managedFields = [{ manager: "kustomize-controller", fieldsV1: { "f:spec": { "f:desiredState": {} } } }];
  const metadata = { name: "shop", namespace: "web", uid: "there", annotations, managedFields };
  const other = await server(answer(200, { metadata, spec: { peer: pairedBack, desiredState: "primary" } }));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({ reachable: true, exists: true, desiredState: "secondary", volumes: [] });
});

test("another name, namespace and key count", async () => {
  const other = await server(theirs({ desiredState: "primary", peer: { ...pairedBack, name: "shop", namespace: "web" } }));
  const { peers } = await peersWith(secret(kubeconfig(other.url), "east"));
  const named = { ...policy.spec, peer: { kubeconfigSecret: { name: "other-site", key: "east" }, name: "store", namespace: "east" } };
  expect(await peers.ask({ ...policy, spec: named }, signal)).toEqual({
    reachable: true,
    exists: true,
    desiredState: "primary",
    volumes: [],
  });
  expect(other.received[0]?.path).toBe("/apis/crd.hahomelabs.com/v1alpha1/namespaces/east/failoverpolicies/store");
});

test("a cluster without the policy, or without the kind, is reachable and has none", async () => {
  const other = await server(answer(404, { kind: "Status", message: "not found", reason: "NotFound", code: 404 }));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({ reachable: true, exists: false });
});

test.for<[what: string, spec: object, token: unknown, uid: string, message: string]>([
  ["its state is unknown", {}, undefined, "there", "the policy there has a desiredState that is neither primary nor secondary"],
  [
    "its token is none of ours",
    { desiredState: "secondary" },
    { epoch: "9", state: "Released" },
    "there",
    "the policy there has a status.token that cannot be understood",
  ],
  ["it is this one", { desiredState: "secondary" }, undefined, "here", "spec.peer leads back to this policy itself"],
])("a policy there counts as unreachable when %s", async ([, spec, token, uid, message]) => {
  const other = await server(theirs(spec, token, uid));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({ reachable: false, message });
});

const ALONE = "the policy there has no spec.peer, so its release is ignored; set spec.peer there";
const ELSEWHERE = "spec.peer of the policy there names web/depot and not this policy, so its release is ignored";

test.for<[what: string, peer: object | undefined, message: string]>([
  ["has no peer any more", undefined, ALONE],
  ["has another peer", { ...pairedBack, name: "depot" }, ELSEWHERE],
])("what a policy lets go that %s is not taken, but what it holds still counts", async ([, peer, message]) => {
  const states = ["Released", "Held"] as const;
  const views = [];
  for (const state of states) {
    const other = await server(theirs({ desiredState: "secondary", peer }, { epoch: 3, state }));
    const { peers } = await peersWith(secret(kubeconfig(other.url)));
    views.push(await peers.ask(policy, signal));
  }
  expect(views).toEqual([
    { reachable: false, message },
    { reachable: true, exists: true, desiredState: "secondary", token: { epoch: 3, state: "Held" }, volumes: [], stranger: message },
  ]);
});

test("an error names the Secret, the key and the field, and repeats no credential", async () => {
  const { peers, own } = await peersWith(answer(404, { code: 404 }));
  const messages: string[] = [];
  for (const step of [
    answer(404, { code: 404 }),
    secret("", "other"),
    secret(kubeconfig("https://there", { token: "s3cret", exec: { command: "s3cret" } })),
    secret(`${kubeconfig("https://there")} s3cret: [`),
    secret(kubeconfig("http://127.0.0.1:1")),
  ]) {
    own.follow(step);
    const view = await peers.ask(policy, signal);
    messages.push(view.reachable ? "reachable" : view.message);
  }
  expect(messages).toEqual([
    "Secret web/other-site of spec.peer does not exist; create it with the other site's kubeconfig",
    "Secret web/other-site of spec.peer has no key kubeconfig; its keys: other",
    "users[0].user.exec in Secret web/other-site key kubeconfig is set, but no program is run for a kubeconfig that is no file; use a token or a client certificate",
    "Secret web/other-site key kubeconfig line 1 is not YAML",
    "Cannot reach the API server at http://127.0.0.1:1: connection refused; is it running?",
  ]);
  expect(messages.join()).not.toContain("s3cret");
});

test("a refusal there is no absence", async () => {
  const other = await server(answer(403, { kind: "Status", message: "no", reason: "Forbidden", code: 403 }));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toMatchObject({ reachable: false });
});

test("one connection serves while the Secret stays, and a new one when it changes", async () => {
  const [first, second] = [await server(theirs({ desiredState: "primary" })), await server(theirs({ desiredState: "secondary" }))];
  const { peers, own } = await peersWith(secret(kubeconfig(first.url)));
  await peers.ask(policy, signal);
  await peers.ask(policy, signal);
  expect(first.opened).toBe(1);
  own.follow(secret(kubeconfig(second.url)));
  expect(await peers.ask(policy, signal)).toMatchObject({ desiredState: "secondary" });
  await until(() => first.connections.size === 0);
});

test("the connection for a policy that is gone is closed, and those of others stay", async () => {
  holdTime();
  const [gone, kept] = [await server(theirs({ desiredState: "primary" })), await server(theirs({ desiredState: "primary" }))];
  const { peers, own } = await peersWith(secret(kubeconfig(gone.url)));
  await peers.ask(policy, signal);
  own.follow(secret(kubeconfig(kept.url)));
  const other = { ...policy, metadata: { ...policy.metadata, namespace: "other" } };
  for (let minute = 0; minute < 12; minute++) {
    await peers.ask(other, signal);
    await vi.advanceTimersByTimeAsync(60_000);
  }
  await until(() => gone.connections.size === 0);
  expect([gone.opened, kept.opened]).toEqual([1, 1]);
});

test("a Secret that was wrong and is put right is used", async () => {
  const other = await server(theirs({ desiredState: "primary" }));
  const { peers, own } = await peersWith(secret("nonsense"));
  expect(await peers.ask(policy, signal)).toMatchObject({ reachable: false });
  own.follow(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toMatchObject({ reachable: true });
});

test("whoever stops asking is not told that the other site is away", async () => {
  const other = await server(hang);
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  const stop = new AbortController();
  const asked = peers.ask(policy, stop.signal);
  await until(() => other.received.length === 1);
  stop.abort();
  await expect(asked).rejects.toThrow("abort");
});

test("a site that does not answer is given five seconds", async () => {
  holdTime();
  const other = await server(hang);
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  const asked = peers.ask(policy, signal);
  await until(() => other.received.length === 1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await asked).toMatchObject({ reachable: false, message: expect.stringContaining("5 s") });
});

test("while one asks again whether a silent site is back, nobody else waits for it", async () => {
  holdTime();
  const other = await server(hang);
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  const silent = { reachable: false, message: expect.stringContaining("5 s") };
  const first = peers.ask(policy, signal);
  await until(() => other.received.length === 1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await first).toMatchObject(silent);

  const second = peers.ask(policy, signal);
  await until(() => other.received.length === 2);
  expect(await peers.ask(policy, signal)).toMatchObject(silent);
  expect(other.received).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await second).toMatchObject(silent);

  other.follow(theirs({ desiredState: "primary" }));
  const views = await Promise.all([peers.ask(policy, signal), peers.ask(policy, signal)]);
  expect(views.map(({ reachable }) => reachable)).toContain(true);
  expect(await Promise.all([peers.ask(policy, signal), peers.ask(policy, signal)])).toMatchObject([
    { reachable: true },
    { reachable: true },
  ]);
});

test("it tells which volumes the policy there names, whether they are copied, and how old the copy is", async () => {
  const status = {
    token: { epoch: 3, state: "Released", copied: true },
    volumeReplicationStatuses: [
      { name: "data", lastSyncTime: "2026-11-16T11:58:00Z" },
      { name: "logs", lastSyncTime: "2026-11-16T11:50:00Z" },
    ],
  };
  const managedResources = [
    { kind: "VolumeReplication", name: "logs", namespace: "shared" },
    { kind: "VolumeReplication", name: "data" },
    { kind: "Deployment", name: "web" },
  ];
  const metadata = { name: "shop", namespace: "web", uid: "there" };
  const other = await server(answer(200, { metadata, spec: { desiredState: "secondary", peer: pairedBack, managedResources }, status }));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({
    reachable: true,
    exists: true,
    desiredState: "secondary",
    token: { epoch: 3, state: "Released", copied: true },
    volumes: ["VolumeReplication data", "VolumeReplication shared/logs"],
    copy: { lastSyncTime: "2026-11-16T11:50:00Z" },
  });
});

test("a policy there that names no volume says so: it releases none of those that this one promotes", async () => {
  const other = await server(theirs({ desiredState: "secondary", managedResources: [{ kind: "Deployment", name: "web" }] }));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toMatchObject({ reachable: true, volumes: [] });
});

test("an answer that does not keep to the schema is none", async () => {
  const other = await server(theirs({ desiredState: "secondary", managedResources: 7 }));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({ reachable: false, message: "the policy there cannot be understood" });
});

test.for<[what: string, cluster: object, message: string]>([
  [
    "plain http to another machine",
    { server: "http://192.0.2.1:6443" },
    "The kubeconfig in Secret web/other-site key kubeconfig is refused: server is http://192.0.2.1:6443; only https:// is accepted",
  ],
  [
    "a certificate that is not verified",
    { server: "https://192.0.2.1:6443", "insecure-skip-tls-verify": true },
    "The kubeconfig in Secret web/other-site key kubeconfig is refused: insecure-skip-tls-verify is true; give the certificate-authority of the other site",
  ],
])("%s is refused: anybody on the way could answer Released", async ([, cluster, message]) => {
  const config = JSON.parse(kubeconfig("https://there")) as { clusters: { cluster: object }[] };
  for (const one of config.clusters) one.cluster = cluster;
  const { peers } = await peersWith(secret(JSON.stringify(config)));
  expect(await peers.ask(policy, signal)).toEqual({ reachable: false, message });
});

test("an answer without end is cut off, and none of it is repeated", async () => {
  let sent = 0;
  const other = await server((response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const chunk = Buffer.alloc(1 << 16, "secret of an internal service ");
    const more = () => {
      while (!response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) break;
      }
    };
    response.on("drain", more);
    more();
  });
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  const view = await peers.ask(policy, signal);
  expect(view).toMatchObject({ reachable: false, message: expect.stringContaining("more bytes than expected") });
  await until(() => other.connections.size === 0);
  expect(sent).toBeLessThan(64 << 20);
});

test("what is not an API server is not quoted", async () => {
  for (const step of [answer(500, "internal password"), answer(200, "internal password")]) {
    const other = await server(step);
    const { peers } = await peersWith(secret(kubeconfig(other.url)));
    const view = await peers.ask(policy, signal);
    expect(view).toMatchObject({ reachable: false });
    expect(JSON.stringify(view)).not.toContain("password");
  }
});
