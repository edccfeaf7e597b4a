import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { accessFromKubeconfig, type ClusterAccess } from "./access.ts";

const V1 = "client.authentication.k8s.io/v1";
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "exec-plugin-"));
});

afterEach(async () => {
  vi.useRealTimers();
  await rm(directory, { recursive: true });
});

/** A kubeconfig whose user runs `script`; every run adds a line to `runs`. */
async function withPlugin(script: string, exec: object = {}): Promise<ClusterAccess> {
  const plugin = join(directory, "plugin");
  await writeFile(plugin, `#!/bin/sh\nHERE="${directory}"\necho run >> "${join(directory, "runs")}"\n${script}\n`, { mode: 0o755 });
  const path = join(directory, "config");
  const user = { exec: { apiVersion: V1, command: "./plugin", interactiveMode: "Never", ...exec } };
  const config = {
    "current-context": "lab",
    contexts: [{ name: "lab", context: { cluster: "lab", user: "ann" } }],
    clusters: [{ name: "lab", cluster: { server: "https://lab:6443" } }],
    users: [{ name: "ann", user }],
  };
  await writeFile(path, JSON.stringify(config));
  return accessFromKubeconfig({ path });
}

async function runs(): Promise<number> {
  return (await readFile(join(directory, "runs"), "utf8")).trim().split("\n").length;
}

function credential(status: object, apiVersion = V1): string {
  return `cat <<'END'\n${JSON.stringify({ apiVersion, kind: "ExecCredential", status })}\nEND`;
}

test("the plugin runs with its arguments and environment, and gets the request", async () => {
  const access = await withPlugin(
    `printf '%s|' "$@" > "$HERE/args"; echo "$EXTRA $KUBERNETES_EXEC_INFO" > "$HERE/env"\n${credential({ token: "t" })}`,
    {
      args: ["get", "a b; $(id)"],
      env: [{ name: "EXTRA", value: "x" }],
      provideClusterInfo: true,
    },
  );
  expect(await access.identity()).toEqual({ token: "t" });
  expect(await readFile(join(directory, "args"), "utf8")).toBe("get|a b; $(id)|");
  const [extra, info] = (await readFile(join(directory, "env"), "utf8")).split(/ (.*)/s);
  expect(extra).toBe("x");
  expect(JSON.parse(info ?? "")).toMatchObject({
    apiVersion: V1,
    kind: "ExecCredential",
    spec: { interactive: false, cluster: { server: "https://lab:6443" } },
  });
});

test("it may print a client certificate, also in the older version", async () => {
  const v1beta1 = "client.authentication.k8s.io/v1beta1";
  const access = await withPlugin(credential({ clientCertificateData: "CERT", clientKeyData: "KEY" }, v1beta1), { apiVersion: v1beta1 });
  expect(await access.identity()).toEqual({ cert: "CERT", key: "KEY" });
});

test("its credentials are kept until they expire", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-01-01T00:00:00Z") });
  const access = await withPlugin(credential({ token: "t", expirationTimestamp: "2026-01-01T01:00:00Z" }));
  await access.identity();
  vi.setSystemTime(new Date("2026-01-01T00:59:59Z"));
  await access.identity();
  expect(await runs()).toBe(1);
  vi.setSystemTime(new Date("2026-01-01T01:00:00Z"));
  await access.identity();
  expect(await runs()).toBe(2);
});

test("rejected credentials are fetched again, once for all rejected callers", async () => {
  const access = await withPlugin(
    `cat <<END\n{"apiVersion":"${V1}","kind":"ExecCredential","status":{"token":"t$(wc -l < "$HERE/runs" | tr -d ' ')"}}\nEND`,
  );
  expect(await access.identity()).toEqual({ token: "t1" });
  expect(await access.identity()).toEqual({ token: "t1" });
  const both = await Promise.all([access.identity({ token: "t1" }), access.identity({ token: "t1" })]);
  expect(both).toEqual([{ token: "t2" }, { token: "t2" }]);
  // A call that was refused with the older token comes late: the newer one has not been refused.
  expect(await access.identity({ token: "t1" })).toEqual({ token: "t2" });
  expect(await runs()).toBe(2);
});

test("the error about a missing command has its field and the install hint", async () => {
  const access = await withPlugin("", { command: "no-such-plugin", installHint: "Install it with apt." });
  await expect(access.identity()).rejects.toMatchObject({
    code: "BadKubeconfig",
    message: `no-such-plugin, named by users[0].user.exec.command in ${join(directory, "config")}, is not installed; Install it with apt.`,
  });
});

test.for([
  ["prints no JSON", "echo hello", "BadKubeconfig", /does not print JSON; run it by hand to see its output$/],
  ["prints nothing", "true", "BadKubeconfig", /does not print JSON/],
  ["prints another kind", "echo null", "BadKubeconfig", /does not print an ExecCredential of client\.authentication\.k8s\.io\/v1$/],
  [
    "prints another version",
    credential({ token: "t" }, "client.authentication.k8s.io/v1beta1"),
    "BadKubeconfig",
    /does not print an ExecCredential of/,
  ],
  ["prints no credentials", credential({}), "BadKubeconfig", /with neither status\.token nor a certificate with its key$/],
  ["fails", "echo first >&2; echo 'login expired' >&2; exit 3", "Unauthorized", /ended with exit code 3: login expired$/],
] as const)("the error about a plugin that %s names it", async ([, script, code, message]) => {
  const access = await withPlugin(script);
  await expect(access.identity()).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

test("a plugin that hangs is killed", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const access = await withPlugin("exec sleep 600");
  const caught = access.identity().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await caught).toMatchObject({ code: "Unauthorized", message: expect.stringContaining("did not end within 60 s") });
});

test("an unknown version and an interactive plugin are rejected", async () => {
  await expect(withPlugin("", { apiVersion: "client.authentication.k8s.io/v1alpha1" })).rejects.toMatchObject({
    message: expect.stringMatching(/exec\.apiVersion in .* is client\.authentication\.k8s\.io\/v1alpha1; supported are /),
  });
  const access = await withPlugin("", { interactiveMode: "Always" });
  await expect(access.identity()).rejects.toMatchObject({
    code: "Unauthorized",
    message: expect.stringContaining("needs a terminal"),
  });
});
