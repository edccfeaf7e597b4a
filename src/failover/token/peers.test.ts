import { afterEach, expect, test, vi } from "vitest";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { fixedAccess } from "../../kube/testing/fixed-access.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { createAuthority, issue } from "../../kube/x509.ts";
import { answer, hang, useFakeTime, ScriptedServer, until } from "../../kube/testing/scripted-server.ts";
import { Peers } from "./peers.ts";

const { signal } = new AbortController();
const open: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of open.splice(0).toReversed()) await close();
});

const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };

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

test("returns role and token of the policy with the same name and namespace", async () => {
  const other = await server(theirs({ desiredState: "secondary" }, { epoch: 3, state: "Released" }));
  const { peers, own } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({
    reachable: true,
    exists: true,
    desiredState: "secondary",
    token: { epoch: 3, state: "Released" },
    uid: "there",
    volumes: [],
  });
  expect(own.received.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /api/v1/namespaces/web/secrets/other-site"]);
  expect(other.received.map(({ method, path, headers }) => `${method} ${path} ${headers.authorization}`)).toEqual([
    "GET /apis/crd.hahomelabs.com/v1alpha1/namespaces/web/failoverpolicies/shop Bearer s3cret",
  ]);
});

test("a role that Git reverted after a manual switch there does not count", async () => {
  const annotations = { "plumbline.dev/failover-switched": JSON.stringify({ to: "secondary", at: "2026-11-16T11:00:00Z" }) };
  const managedFields = [{ manager: "kustomize-controller", fieldsV1: { "f:spec": { "f:desiredState": {} } } }];
  const metadata = { name: "shop", namespace: "web", uid: "there", annotations, managedFields };
  const other = await server(answer(200, { metadata, spec: { peer: pairedBack, desiredState: "primary" } }));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({ reachable: true, exists: true, desiredState: "secondary", uid: "there", volumes: [] });
});

test("uses another name, namespace and key", async () => {
  const other = await server(theirs({ desiredState: "primary", peer: { ...pairedBack, name: "shop", namespace: "web" } }));
  const { peers } = await peersWith(secret(kubeconfig(other.url), "east"));
  const named = { ...policy.spec, peer: { kubeconfigSecret: { name: "other-site", key: "east" }, name: "store", namespace: "east" } };
  expect(await peers.ask({ ...policy, spec: named }, signal)).toEqual({
    reachable: true,
    exists: true,
    desiredState: "primary",
    uid: "there",
    volumes: [],
  });
  expect(other.received[0]?.path).toBe("/apis/crd.hahomelabs.com/v1alpha1/namespaces/east/failoverpolicies/store");
});

test("a cluster without the policy or the kind is reachable without a policy", async () => {
  const other = await server(answer(404, { kind: "Status", message: "not found", reason: "NotFound", code: 404 }));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({ reachable: true, exists: false });
});

test.for<[what: string, spec: object, token: unknown, uid: string, message: string]>([
  ["its state is unknown", {}, undefined, "there", "the policy there has a desiredState that is neither primary nor secondary"],
  [
    "its token is invalid",
    { desiredState: "secondary" },
    { epoch: "9", state: "Released" },
    "there",
    "the policy there has a status.token that cannot be parsed",
  ],
])("a policy there counts as unreachable if %s", async ([, spec, token, uid, message]) => {
  const other = await server(theirs(spec, token, uid));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({ reachable: false, message });
});

const ALONE = "the policy at the other site has no spec.peer, so its release is ignored; set spec.peer there";
const ELSEWHERE = "spec.peer at the other site names web/depot, not this policy, so its release is ignored";

test.for<[what: string, peer: object | undefined, message: string]>([
  ["no longer has a peer", undefined, ALONE],
  ["has another peer", { ...pairedBack, name: "depot" }, ELSEWHERE],
])("the release of a policy that %s is ignored, but its held token counts", async ([, peer, message]) => {
  const states = ["Released", "Held"] as const;
  const views = [];
  for (const state of states) {
    const other = await server(theirs({ desiredState: "secondary", peer }, { epoch: 3, state }));
    const { peers } = await peersWith(secret(kubeconfig(other.url)));
    views.push(await peers.ask(policy, signal));
  }
  expect(views).toEqual([
    { reachable: false, message },
    {
      reachable: true,
      exists: true,
      desiredState: "secondary",
      token: { epoch: 3, state: "Held" },
      uid: "there",
      volumes: [],
      stranger: message,
    },
  ]);
});

test("an error names the Secret, the key and the field, and repeats no credential", async () => {
  const { peers, own } = await peersWith(answer(404, { code: 404 }));
  const messages: string[] = [];
  const fields: (string | undefined)[] = [];
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
    fields.push(view.reachable ? "reachable" : view.field);
  }
  expect(messages).toEqual([
    "Secret web/other-site of spec.peer does not exist; create it with the other site's kubeconfig",
    "Secret web/other-site of spec.peer has no key kubeconfig; its keys: other",
    "users[0].user.exec in Secret web/other-site key kubeconfig is not allowed in a kubeconfig that is not a file; use a token or a client certificate",
    "Secret web/other-site key kubeconfig line 1 is not YAML",
    "Cannot reach the API server at http://127.0.0.1:1: connection refused; is it running?",
  ]);
  expect(messages.join()).not.toContain("s3cret");
  // An unreachable site may come back.
  const content = "spec.peer.kubeconfigSecret";
  expect(fields).toEqual([`${content}.name`, `${content}.key`, content, content, undefined]);
});

test("a Forbidden there is no absence, and the message names the permission", async () => {
  const other = await server(answer(403, { kind: "Status", message: "no", reason: "Forbidden", code: 403 }));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({
    reachable: false,
    field: "spec.peer.kubeconfigSecret",
    message:
      "The other site does not let context there of Secret web/other-site key kubeconfig read its policy; apply deploy/failover/peer.yaml there for this policy, or correct spec.peer",
  });
});

const RENEW = "put a new kubeconfig into the Secret, as deploy/failover/peer.yaml says";
const REJECTED = "The other site does not accept the credentials of context there of Secret web/other-site key kubeconfig";
const jwt = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.sig`;
const past = { notBefore: new Date("2026-01-01T00:00:00Z"), notAfter: new Date("2026-02-01T00:00:00Z") };

const base64 = (text: string) => Buffer.from(text).toString("base64");

function expiredCertificate(): object {
  const { certificate, privateKey } = issue(createAuthority({ commonName: "lab", ...past }), {
    commonName: "ann",
    usage: "client",
    ...past,
  });
  return { "client-certificate-data": base64(certificate), "client-key-data": base64(privateKey) };
}

test.for<[what: string, user: object, message: string]>([
  ["a token that has expired", { token: jwt({ exp: 1_769_904_000 }) }, `${REJECTED}: its token expired at 2026-02-01T00:00:00Z; ${RENEW}`],
  [
    "a client certificate that has expired",
    expiredCertificate(),
    `${REJECTED}: its client certificate expired at 2026-02-01T00:00:00Z; ${RENEW}`,
  ],
  ["a token that was revoked", { token: jwt({ exp: 99_999_999_999 }) }, `${REJECTED}; ${RENEW}`],
  ["a token without an expiry", { token: "s3cret" }, `${REJECTED}; ${RENEW}`],
])("%s is a problem of the Secret once the other site rejects it", async ([, user, message]) => {
  const other = await server(answer(401, { kind: "Status", message: "Unauthorized", reason: "Unauthorized", code: 401 }));
  const { peers } = await peersWith(secret(kubeconfig(other.url, user)));
  expect(await peers.ask(policy, signal)).toEqual({ reachable: false, field: "spec.peer.kubeconfigSecret", message });
});

test("a token that is expired only by our clock is used: the clock may be wrong", async () => {
  const other = await server(theirs({ desiredState: "secondary" }));
  const { peers } = await peersWith(secret(kubeconfig(other.url, { token: jwt({ exp: 1 }) })));
  expect(await peers.ask(policy, signal)).toMatchObject({ reachable: true });
});

test.for<[what: string, trusted: "own" | "another", when: { notBefore: Date; notAfter: Date }, field: string | undefined]>([
  ["a CA that did not sign the server certificate is a problem of the Secret", "another", validity, "spec.peer.kubeconfigSecret"],
  ["an expired server certificate of the other site is not", "own", past, undefined],
])("%s", async ([, trusted, when, field]) => {
  const authority = createAuthority({ commonName: "lab", ...validity, notBefore: past.notBefore });
  const ca = trusted === "own" ? authority : createAuthority({ commonName: "another", ...validity });
  const { certificate, privateKey } = issue(authority, { commonName: "server", names: ["127.0.0.1"], usage: "server", ...when });
  const other = await ScriptedServer.start([answer(200, {})], { tls: { cert: certificate, key: privateKey } });
  open.push(() => other[Symbol.asyncDispose]());
  const config = JSON.parse(kubeconfig(other.url)) as { clusters: { cluster: object }[] };
  for (const { cluster } of config.clusters)
    Object.assign(cluster, { "certificate-authority-data": Buffer.from(ca.certificate).toString("base64") });
  const { peers } = await peersWith(secret(JSON.stringify(config)));
  const view = await peers.ask(policy, signal);
  expect(view.reachable ? view : view.field).toBe(field);
});

test.for<[what: string, uid: string, uidOf: string | undefined, named: string]>([
  ["this policy", "here", undefined, "this policy itself"],
  ["another policy of this cluster", "beside", "beside", "another policy of this cluster"],
])("a peer that is %s is a problem of the Secret", async ([, uid, known, named]) => {
  const other = await server(theirs({ desiredState: "secondary" }, { epoch: 9, state: "Released", copied: true }, uid));
  const keys: string[] = [];
  const uidOf = (key: string) => {
    keys.push(key);
    return known;
  };
  const own = await server(secret(kubeconfig(other.url)));
  const client = new KubeClient(fixedAccess(own.url), { retries: 0 });
  const peers = new Peers(client, { uidOf });
  open.push(
    () => client.close(),
    () => peers.close(),
  );
  expect(await peers.ask(policy, signal)).toEqual({
    reachable: false,
    field: "spec.peer.kubeconfigSecret",
    message: `spec.peer points back to ${named}; give a kubeconfig of the other site`,
  });
  expect(keys).toEqual(["web/shop"]);
});

test("a kubeconfig with the address of this cluster is rejected without a request", async () => {
  const { peers, own } = await peersWith(answer(404, { code: 404 }));
  own.follow(secret(kubeconfig(`${own.url}/`)));
  expect(await peers.ask(policy, signal)).toEqual({
    reachable: false,
    field: "spec.peer.kubeconfigSecret",
    message: `The kubeconfig in Secret web/other-site key kubeconfig is rejected: server is ${own.url}/, which is this cluster; give a kubeconfig of the other site`,
  });
  expect(own.received).toHaveLength(1);
});

test("a Secret that a CLI user may not read is no problem of the policy, and one that the controller may not read is", async () => {
  const forbidden = answer(403, { kind: "Status", message: "no", reason: "Forbidden", code: 403 });
  const { peers } = await peersWith(forbidden);
  expect(await peers.ask(policy, signal)).toEqual({
    reachable: false,
    message: expect.stringContaining("Secret web/other-site of spec.peer cannot be read"),
  });
  const own = await server(forbidden);
  const client = new KubeClient(fixedAccess(own.url), { retries: 0 });
  const ofController = new Peers(client, { mustRead: true });
  open.push(() => client.close());
  expect(await ofController.ask(policy, signal)).toEqual({
    reachable: false,
    field: "spec.peer.kubeconfigSecret.name",
    message:
      "The controller may not read Secret web/other-site; correct its name, or let the controller read it as deploy/failover/peer.yaml does",
  });
});

test("the connection is reused until the Secret changes", async () => {
  const [first, second] = [await server(theirs({ desiredState: "primary" })), await server(theirs({ desiredState: "secondary" }))];
  const { peers, own } = await peersWith(secret(kubeconfig(first.url)));
  await peers.ask(policy, signal);
  await peers.ask(policy, signal);
  expect(first.opened).toBe(1);
  own.follow(secret(kubeconfig(second.url)));
  expect(await peers.ask(policy, signal)).toMatchObject({ desiredState: "secondary" });
  await until(() => first.connections.size === 0);
});

test("the connection of a deleted policy is closed, and others stay", async () => {
  useFakeTime();
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

test("a corrected Secret is used", async () => {
  const other = await server(theirs({ desiredState: "primary" }));
  const { peers, own } = await peersWith(secret("nonsense"));
  expect(await peers.ask(policy, signal)).toMatchObject({ reachable: false });
  own.follow(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toMatchObject({ reachable: true });
});

test("an aborted read does not report the other site as unreachable", async () => {
  const other = await server(hang);
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  const stop = new AbortController();
  const keys = peers.ask(policy, stop.signal);
  await until(() => other.received.length === 1);
  stop.abort();
  await expect(keys).rejects.toThrow("abort");
});

test("a site that does not answer times out after five seconds", async () => {
  useFakeTime();
  const other = await server(hang);
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  const keys = peers.ask(policy, signal);
  await until(() => other.received.length === 1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await keys).toMatchObject({ reachable: false, message: expect.stringContaining("5 s") });
});

test("while one caller retries an unreachable site, other callers do not wait", async () => {
  useFakeTime();
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

test("returns the volumes of the policy there, whether they are copied, and the age of the copy", async () => {
  const status = {
    token: { epoch: 3, state: "Released", copied: true },
    lastSyncTime: "2026-11-16T11:50:00Z",
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
    uid: "there",
    volumes: ["VolumeReplication data", "VolumeReplication shared/logs"],
    copy: { lastSyncTime: "2026-11-16T11:50:00Z" },
  });
});

test("returns the token that the other site has seen of this policy object, not of an earlier one of its name", async () => {
  const views = [];
  for (const token of [
    { uid: "here", epoch: 4, state: "Released" },
    { uid: "before", epoch: 9, state: "Held" },
    { uid: "here", epoch: "9" },
    7,
  ]) {
    const other = await server(
      answer(200, {
        metadata: { name: "shop", namespace: "web" },
        spec: { desiredState: "secondary", peer: pairedBack },
        status: { peer: { seen: token } },
      }),
    );
    const { peers } = await peersWith(secret(kubeconfig(other.url)));
    const view = await peers.ask(policy, signal);
    views.push(view.reachable && view.exists && view.observedToken);
  }
  expect(views).toEqual([{ epoch: 4, state: "Released" }, undefined, undefined, undefined]);
});

test("a policy there without volumes is reported: its release proves nothing for the volumes here", async () => {
  const other = await server(theirs({ desiredState: "secondary", managedResources: [{ kind: "Deployment", name: "web" }] }));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toMatchObject({ reachable: true, volumes: [] });
});

test("a response that violates the schema is rejected", async () => {
  const other = await server(theirs({ desiredState: "secondary", managedResources: 7 }));
  const { peers } = await peersWith(secret(kubeconfig(other.url)));
  expect(await peers.ask(policy, signal)).toEqual({ reachable: false, message: "the policy there cannot be parsed" });
});

test.for<[what: string, cluster: object, message: string]>([
  [
    "plain http to another machine",
    { server: "http://192.0.2.1:6443" },
    "The kubeconfig in Secret web/other-site key kubeconfig is rejected: server is http://192.0.2.1:6443; only https:// is accepted",
  ],
  [
    "a certificate that is not verified",
    { server: "https://192.0.2.1:6443", "insecure-skip-tls-verify": true },
    "The kubeconfig in Secret web/other-site key kubeconfig is rejected: insecure-skip-tls-verify is true; give the certificate-authority of the other site",
  ],
  ...(
    [
      ["169.254.169.254", "a link-local address"],
      ["2852039166", "a link-local address"],
      ["[fe80::1]", "a link-local address"],
      ["[::ffff:169.254.169.254]", "a link-local address"],
      ["[fd00:ec2::254]", "the address of a cloud's metadata service"],
      ["100.100.100.200", "the address of a cloud's metadata service"],
      ["0.0.0.0", "not a server address"],
      ["224.0.0.1", "a multicast address"],
    ] as const
  ).map(([host, why]): [string, object, string] => [
    `the server https://${host}`,
    { server: `https://${host}:6443` },
    `The kubeconfig in Secret web/other-site key kubeconfig is rejected: server is https://${host}:6443, ${why}; give the address of the other site's API server`,
  ]),
])("%s is rejected: an attacker on the path could answer Released", async ([, cluster, message]) => {
  const config = JSON.parse(kubeconfig("https://there")) as { clusters: { cluster: object }[] };
  for (const one of config.clusters) one.cluster = cluster;
  const { peers } = await peersWith(secret(JSON.stringify(config)));
  expect(await peers.ask(policy, signal)).toEqual({ reachable: false, message, field: "spec.peer.kubeconfigSecret" });
});

test("a name with a link-local address is rejected, and other names are not", async () => {
  const { peers, own } = await peersWith(answer(404, { code: 404 }));
  const resolved = vi.spyOn(process.getBuiltinModule("node:dns"), "lookup");
  open.push(() => resolved.mockRestore());
  const resolve = (address: string) =>
    resolved.mockImplementation(((_host: string, options: { all?: boolean }, done: (...args: unknown[]) => void) =>
      options.all ? done(null, [{ address, family: 4 }]) : done(null, address, 4)) as never);
  own.follow(secret(kubeconfig("https://metadata.example:6443")));
  resolve("169.254.169.254");
  expect(await peers.ask(policy, signal)).toEqual({
    reachable: false,
    field: "spec.peer.kubeconfigSecret",
    message:
      "The kubeconfig is rejected: server is https://metadata.example:6443, and metadata.example is a link-local address; give the address of the other site's API server",
  });
  own.follow(secret(kubeconfig("https://other.example:1")));
  resolve("127.0.0.1");
  expect(await peers.ask(policy, signal)).toEqual({ reachable: false, message: expect.stringContaining("connection refused") });
});

test("an endless response is aborted and not quoted", async () => {
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

test("the response of another server is not quoted", async () => {
  for (const step of [answer(500, "internal password"), answer(200, "internal password")]) {
    const other = await server(step);
    const { peers } = await peersWith(secret(kubeconfig(other.url)));
    const view = await peers.ask(policy, signal);
    expect(view).toMatchObject({ reachable: false });
    expect(JSON.stringify(view)).not.toContain("password");
  }
});
