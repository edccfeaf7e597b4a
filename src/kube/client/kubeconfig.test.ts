import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { accessFromKubeconfig, accessFromText, accessInCluster, findAccess } from "./access.ts";

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  vi.stubEnv("HOME", home);
  vi.stubEnv("KUBECONFIG", undefined);
  vi.stubEnv("KUBERNETES_SERVICE_HOST", undefined);
  vi.stubEnv("KUBERNETES_SERVICE_PORT", undefined);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  await rm(home, { recursive: true });
});

async function file(path: string, content: unknown): Promise<string> {
  const full = join(home, path);
  await mkdir(join(full, ".."), { recursive: true });
  await writeFile(full, typeof content === "string" ? content : JSON.stringify(content), { mode: 0o755 });
  return full;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** A config with one context `lab`, its cluster and its user. */
function config(cluster: object = {}, user: object = {}, context: object = {}): object {
  return {
    "current-context": "lab",
    contexts: [{ name: "lab", context: { cluster: "lab", user: "ann", ...context } }],
    clusters: [{ name: "lab", cluster: { server: "https://lab:6443", ...cluster } }],
    users: [{ name: "ann", user }],
  };
}

test("a context gives server, namespace, user, trust and token", async () => {
  const path = await file(
    "config",
    config({ "certificate-authority-data": base64("CA"), "tls-server-name": "kubernetes" }, { token: "t" }, { namespace: "shop" }),
  );
  const access = await accessFromKubeconfig({ path });
  expect(access).toMatchObject({
    server: "https://lab:6443",
    namespace: "shop",
    user: "ann",
    serverName: "kubernetes",
    insecure: false,
    describe: `context lab of ${path}`,
  });
  expect(await access.identity()).toEqual({ ca: "CA", token: "t" });
});

test("files are relative to the kubeconfig that names them, and inline data has precedence", async () => {
  await file("deep/pki/ca.crt", "CA");
  await file("deep/pki/ann.crt", "CERT");
  await file("deep/pki/ann.key", "KEY");
  const path = await file(
    "deep/config",
    config({ "certificate-authority": "pki/ca.crt" }, { "client-certificate": "pki/ann.crt", "client-key": "pki/ann.key" }),
  );
  expect(await (await accessFromKubeconfig({ path })).identity()).toEqual({ ca: "CA", cert: "CERT", key: "KEY" });

  const inline = await file(
    "deep/inline",
    config(
      { "certificate-authority": "missing.crt", "certificate-authority-data": base64("CA2") },
      { "client-certificate-data": base64("CERT2"), "client-key-data": base64("KEY2") },
    ),
  );
  expect(await (await accessFromKubeconfig({ path: inline })).identity()).toEqual({ ca: "CA2", cert: "CERT2", key: "KEY2" });
});

test("several files merge as in kubectl: the first value wins, and missing files are skipped", async () => {
  const first = await file("first", {
    "current-context": "one",
    contexts: [{ name: "one", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://first" } }],
  });
  const second = await file("second", {
    "current-context": "two",
    contexts: [
      { name: "one", context: { cluster: "other", user: "u" } },
      { name: "two", context: { cluster: "other", user: "u" } },
    ],
    clusters: [
      { name: "c", cluster: { server: "https://second" } },
      { name: "other", cluster: { server: "https://other" } },
    ],
    users: [{ name: "u", user: { token: "from-second" } }],
  });
  vi.stubEnv("KUBECONFIG", ["", join(home, "missing"), first, second].join(delimiter));
  const one = await accessFromKubeconfig();
  expect([one.server, (await one.identity()).token]).toEqual(["https://first", "from-second"]);
  expect((await accessFromKubeconfig({ context: "two" })).server).toBe("https://other");
});

test("a token file is read again once a minute, and at once after Unauthorized", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  await file("token", "one\n");
  const path = await file("config", config({}, { tokenFile: "token", token: "ignored" }));
  const access = await accessFromKubeconfig({ path });
  expect(await access.identity()).toEqual({ token: "one" });
  await file("token", "two\n");
  vi.advanceTimersByTime(59_999);
  expect(await access.identity()).toEqual({ token: "one" });
  vi.advanceTimersByTime(1);
  expect(await access.identity()).toEqual({ token: "two" });
  await file("token", "three\n");
  expect(await access.identity({ token: "two" })).toEqual({ token: "three" });
  // Half-way through being written again, it is empty and then away: neither is a token.
  await file("token", "");
  expect(await access.identity({ token: "three" })).toEqual({ token: "three" });
  await rm(join(home, "token"));
  expect(await access.identity({ token: "three" })).toEqual({ token: "three" });
});

test.for([
  ["not YAML", "clusters: [\n  - {", /config line \d+ is not YAML: /],
  ["not a mapping", "- a", /config must be a mapping$/],
  ["no list where one is expected", { ...config(), clusters: {} }, /^clusters in .*config must be a list$/],
  ["an entry without name", { ...config(), users: [{ user: {} }] }, /^users\[0\]\.name in .*config is missing$/],
  ["no current context", { ...config(), "current-context": "" }, /^current-context is not set in .*config; set --context$/],
  ["an unknown context", { ...config(), "current-context": "nope" }, /^Context nope is not in .*config; the contexts there: lab$/],
  [
    "a missing cluster",
    { ...config(), clusters: [] },
    /^contexts\[0\]\.context\.cluster in .*config names lab, which no file defines under clusters$/,
  ],
  ["no server", config({ server: "" }), /^clusters\[0\]\.cluster\.server in .*config is missing$/],
  ["a server that is a number", config({ server: 5 }), /^clusters\[0\]\.cluster\.server in .*config must be a string$/],
  [
    "an invalid server URL",
    config({ server: "ftp://x" }),
    /server in .*config is ftp:\/\/x, which is not an https:\/\/, http:\/\/ or unix: address$/,
  ],
  ["a proxy", config({ "proxy-url": "http://p" }), /proxy-url in .*config is set, but proxies are not supported/],
  ["bad base64", config({ "certificate-authority-data": "%%%" }), /certificate-authority-data in .*config is not base64$/],
  ["insecure as text", config({ "insecure-skip-tls-verify": "yes" }), /insecure-skip-tls-verify in .*config must be true or false$/],
  [
    "insecure with an authority",
    config({ "insecure-skip-tls-verify": true, "certificate-authority-data": base64("CA") }),
    /insecure-skip-tls-verify in .*config is true although a certificate-authority is given; remove one of them$/,
  ],
  ["a certificate without key", config({}, { "client-certificate-data": base64("C") }), /client-key in .*config is missing although/],
  [
    "basic authentication",
    config({}, { username: "ann", password: "x" }),
    /username in .*config is set, but Kubernetes no longer supports basic authentication/,
  ],
  [
    "an auth provider",
    config({}, { "auth-provider": { name: "gcp" } }),
    /auth-provider in .*config is set, but Kubernetes no longer supports auth providers/,
  ],
  ["impersonation", config({}, { as: "root" }), /users\[0\]\.user\.as in .*config is set, but impersonation is not supported$/],
] as const)("a kubeconfig with %s is rejected with its file and field", async ([, content, message]) => {
  const path = await file("config", content);
  await expect(accessFromKubeconfig({ path })).rejects.toMatchObject({ code: "BadKubeconfig", message: expect.stringMatching(message) });
});

test("the error about a missing referenced file names the field", async () => {
  const path = await file("config", config({ "certificate-authority": "ca.crt" }));
  const access = await accessFromKubeconfig({ path });
  await expect(access.identity()).rejects.toMatchObject({
    code: "BadKubeconfig",
    message: `${join(home, "ca.crt")}, named by clusters[0].cluster.certificate-authority in ${path}, does not exist`,
  });
  await file("ca.crt", "");
  await expect(access.identity()).rejects.toMatchObject({ code: "BadKubeconfig", message: expect.stringMatching(/, is empty$/) });
});

test("the error without any kubeconfig lists the places that were tried", async () => {
  await expect(findAccess()).rejects.toMatchObject({
    code: "NoKubeconfig",
    message: `No kubeconfig found: --kubeconfig and KUBECONFIG are not set, this is not a pod, and ${join(home, ".kube", "config")} does not exist; set --kubeconfig or KUBECONFIG`,
  });
  await expect(findAccess({ kubeconfig: "/nowhere/config" })).rejects.toMatchObject({
    code: "NoKubeconfig",
    message: "No kubeconfig found at /nowhere/config; check --kubeconfig",
  });
  vi.stubEnv("KUBECONFIG", `/nowhere/a${delimiter}/nowhere/b`);
  await expect(findAccess()).rejects.toMatchObject({
    code: "NoKubeconfig",
    message: "No kubeconfig found at /nowhere/a, /nowhere/b; set --kubeconfig or KUBECONFIG",
  });
  await expect(accessInCluster()).rejects.toMatchObject({ code: "NoKubeconfig" });
});

test("the flag has precedence over KUBECONFIG, the service account and the home directory, in this order", async () => {
  await file(".kube/config", config({ server: "https://home" }));
  expect((await findAccess()).server).toBe("https://home");

  await file("account/token", "pod-token");
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "fd00::1");
  vi.stubEnv("KUBERNETES_SERVICE_PORT", "443");
  // Not in a pod, so the service account's directory is missing: that it is asked for is the proof.
  await expect(findAccess()).rejects.toMatchObject({ message: expect.stringContaining("the pod's service account") });
  expect((await findAccess({ context: "lab" })).server).toBe("https://home");

  vi.stubEnv("KUBECONFIG", await file("env", config({ server: "https://env" })));
  expect((await findAccess()).server).toBe("https://env");
  expect((await findAccess({ kubeconfig: await file("flag", config({ server: "https://flag" })) })).server).toBe("https://flag");
});

test("in a pod, token and CA come from the service account and rotate with it", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "fd00::1");
  vi.stubEnv("KUBERNETES_SERVICE_PORT", "443");
  await file("account/token", "one\n");
  await file("account/ca.crt", "CA one");
  await file("account/namespace", "plumbline-system\n");
  const access = await accessInCluster(join(home, "account"));
  expect(access).toMatchObject({ server: "https://[fd00::1]:443", namespace: "plumbline-system" });
  expect(await access.identity()).toEqual({ token: "one", ca: "CA one" });

  await file("account/token", "two\n");
  await file("account/ca.crt", "CA two");
  expect(await access.identity()).toEqual({ token: "one", ca: "CA one" });
  expect(await access.identity({ token: "one" })).toEqual({ token: "two", ca: "CA two" });
  await file("account/token", "three\n");
  vi.advanceTimersByTime(60_000);
  expect(await access.identity()).toEqual({ token: "three", ca: "CA two" });
});

const origin = "Secret shop/other-site key kubeconfig";

test("a kubeconfig that is not a file gives the same access as a file", async () => {
  const text = JSON.stringify(config({ "certificate-authority-data": base64("CA") }, { token: "t" }));
  const access = await accessFromText(text, origin);
  expect(access).toMatchObject({ server: "https://lab:6443", user: "ann", describe: `context lab of ${origin}` });
  expect(await access.identity()).toEqual({ ca: "CA", token: "t" });
});

test.for<[message: string, content: unknown]>([
  [
    "users[0].user.exec in %s is not allowed in a kubeconfig that is not a file; use a token or a client certificate",
    config({}, { exec: { command: "steal" } }),
  ],
  [
    "users[0].user.tokenFile in %s is not allowed in a kubeconfig that is not a file; use token",
    config({}, { tokenFile: "/var/run/secrets/token" }),
  ],
  [
    "users[0].user.client-certificate in %s is not allowed in a kubeconfig that is not a file; use client-certificate-data",
    config({}, { "client-certificate": "/a" }),
  ],
  [
    "users[0].user.client-key in %s is not allowed in a kubeconfig that is not a file; use client-key-data",
    config({}, { "client-key": "/a" }),
  ],
  [
    "clusters[0].cluster.certificate-authority in %s is not allowed in a kubeconfig that is not a file; use certificate-authority-data",
    config({ "certificate-authority": "/a" }),
  ],
  ["clusters[0].cluster.server in %s is a unix socket; give an https:// address", config({ server: "unix:/run/docker.sock" })],
  ["current-context in %s is missing", { ...config(), "current-context": undefined }],
  ["Context lab is not in %s; the contexts there: none", { ...config(), contexts: [] }],
  ["%s must be a mapping", "nonsense"],
])("rejects a kubeconfig that is not a file: %s", async ([message, content]) => {
  const text = JSON.stringify(content);
  await expect(accessFromText(text, origin)).rejects.toMatchObject({ code: "BadKubeconfig", message: message.replace("%s", origin) });
});

test("does not quote an invalid kubeconfig that is not a file", async () => {
  const error: unknown = await accessFromText('users:\n- user: {token: "s3cret\n', origin).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "BadKubeconfig", message: expect.stringMatching(`^${origin} line \\d is not YAML$`) });
  expect((error as Error).cause).toBeUndefined();
});
