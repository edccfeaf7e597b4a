import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createAuthority, issue } from "../x509.ts";
import { fixedAccess } from "../testing/fixed-access.ts";
import type { ClusterAccess, Credential } from "./access.ts";
import { ConnectionLost } from "./http-exchange.ts";
import { KubeClient } from "./client.ts";
import { unreachableError } from "./error-from-response.ts";
import { answer, ScriptedServer, until } from "../testing/scripted-server.ts";

const { signal } = new AbortController();
const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
const authority = createAuthority({ commonName: "lab", ...validity });
const stranger = createAuthority({ commonName: "stranger", ...validity });
const ca = authority.certificate;

function serving(names: string[], from = authority, when = validity): { cert: string; key: string } {
  const { certificate, privateKey } = issue(from, { commonName: "server", names, usage: "server", ...when });
  return { cert: certificate, key: privateKey };
}

function clientCertificate(from: typeof authority): { cert: string; key: string } {
  const { certificate, privateKey } = issue(from, { commonName: "ann", usage: "client", ...validity });
  return { cert: certificate, key: privateKey };
}

const clients: KubeClient[] = [];
afterAll(() => clients.forEach((client) => client.close()));

function ask(server: { url: string }, identity: Credential, rest: Partial<ClusterAccess> = {}): Promise<unknown> {
  const client = new KubeClient({ ...fixedAccess(server.url, identity, { describe: "context lab" }), ...rest }, { retries: 0 });
  clients.push(client);
  return client.request("GET", "/version", { signal });
}

test("a server certificate is accepted if the CA signed it", async () => {
  await using server = await ScriptedServer.start([answer(200, { ok: true })], { tls: serving(["127.0.0.1"]) });
  expect(await ask(server, { ca })).toEqual({ ok: true });
  await expect(ask(server, { ca: stranger.certificate })).rejects.toMatchObject({
    code: "Certificate",
    message: expect.stringMatching(
      /^The certificate of the API server at .* is not signed by the authority that context lab trusts \(.*\); check its certificate-authority$/,
    ),
  });
  await expect(ask(server, {})).rejects.toMatchObject({ code: "Certificate" });
  expect(await ask(server, {}, { insecure: true })).toEqual({ ok: true });
});

test("a server certificate for another name is rejected unless tls-server-name is that name", async () => {
  await using server = await ScriptedServer.start([answer(200, { ok: true })], { tls: serving(["kubernetes.default"]) });
  await expect(ask(server, { ca })).rejects.toMatchObject({
    code: "Certificate",
    message: expect.stringContaining("set tls-server-name to one of its names"),
  });
  expect(await ask(server, { ca }, { serverName: "kubernetes.default" })).toEqual({ ok: true });
});

test("the error about an expired server certificate says so", async () => {
  const past = { notBefore: new Date(Date.now() - 7_200_000), notAfter: new Date(Date.now() - 3_600_000) };
  await using server = await ScriptedServer.start([answer(200, {})], { tls: serving(["127.0.0.1"], authority, past) });
  await expect(ask(server, { ca })).rejects.toMatchObject({
    code: "Certificate",
    message: `The certificate of the API server at ${server.url} has expired; renew it, or correct this machine's clock`,
  });
});

test("a client certificate is sent to a server that requests one", async () => {
  const tls = { ...serving(["127.0.0.1"]), ca, requestCert: true, rejectUnauthorized: true };
  await using server = await ScriptedServer.start([answer(200, { ok: true })], { tls });
  expect(await ask(server, { ca, ...clientCertificate(authority) })).toEqual({ ok: true });
  await expect(ask(server, { ca, ...clientCertificate(stranger) })).rejects.toMatchObject({ code: "Unreachable" });
});

test("a client certificate that cannot be loaded is reported as a local error", async () => {
  await using server = await ScriptedServer.start([answer(200, {})], { tls: serving(["127.0.0.1"]) });
  await expect(ask(server, { ca, cert: "junk", key: "junk" })).rejects.toMatchObject({
    code: "Certificate",
    message: expect.stringMatching(/^The certificates of context lab cannot be used: /),
  });
  await expect(ask(server, { ca, cert: clientCertificate(authority).cert, key: clientCertificate(authority).key })).rejects.toMatchObject({
    code: "Certificate",
  });
});

/** What is said when a socket fails with this code. */
function after(code: string): Error {
  const lost = new ConnectionLost(Object.assign(new Error("alert"), { code }), { sent: true, reused: false, cut: false });
  return unreachableError(fixedAccess("https://lab", {}, { describe: "context lab" }), { method: "GET", path: "/" }, lost, 30_000);
}

// A Node server cannot be made to send these alerts; Go's does.
test.for(["ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", "ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE", "ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED"])(
  "when the server rejects our client certificate (%s), the error says so",
  (code) => {
    expect(after(code)).toMatchObject({
      code: "Certificate",
      message: `The API server at https://lab rejected the client certificate of context lab (${code}); renew it`,
    });
  },
);

test("a server that requires a client certificate that we lack has its own error", () => {
  expect(after("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED")).toMatchObject({
    code: "Certificate",
    message: "The API server at https://lab requires a client certificate, but context lab has none; add one",
  });
});

test("a server without TLS is distinguished from an unreachable one", async () => {
  await using server = await ScriptedServer.start([answer(200, {})]);
  await expect(ask({ url: server.url.replace("http:", "https:") }, { ca })).rejects.toMatchObject({
    code: "Unreachable",
    message: expect.stringContaining("does not speak TLS"),
  });
});

test("a rotated CA is read again when the old one rejects the server", async () => {
  await using server = await ScriptedServer.start([answer(200, { ok: true })], { tls: serving(["127.0.0.1"], stranger) });
  const identity = async (rejected?: Credential): Promise<Credential> => ({ ca: rejected ? stranger.certificate : ca });
  expect(await ask(server, {}, { identity })).toEqual({ ok: true });
});

test("when the credentials rotate, new calls use new connections and old ones close", async () => {
  await using server = await ScriptedServer.start([answer(200, {})], { tls: serving(["127.0.0.1"]) });
  let identity: Credential = { ca, ...clientCertificate(authority) };
  const client = new KubeClient({ ...fixedAccess(server.url), identity: () => Promise.resolve(identity) });
  clients.push(client);
  await client.request("GET", "/version", { signal });
  await client.request("GET", "/version", { signal });
  expect(server.opened).toBe(1);
  identity = { ca, ...clientCertificate(authority) };
  await client.request("GET", "/version", { signal });
  expect(server.opened).toBe(2);
  await until(() => server.connections.size === 1);
});

test("a unix socket is a valid address, and the error about a missing one says so", async () => {
  const directory = await mkdtemp(join(tmpdir(), "socket-"));
  const socket = join(directory, "api.sock");
  {
    await using server = await ScriptedServer.start([answer(200, { ok: true })], { socket });
    expect(await ask(server, {})).toEqual({ ok: true });
  }
  await expect(ask({ url: `unix:${socket}` }, {})).rejects.toMatchObject({
    code: "Unreachable",
    message: `Cannot reach the API server at unix:${socket}: the socket does not exist; is it running?`,
  });
  await rm(directory, { recursive: true });
});

test.for([
  ["http://127.0.0.1:1", "connection refused; is it running?"],
  ["https://127.0.0.1:1", "connection refused; is it running?"],
  ["https://no-such-host.invalid", "its name does not resolve; check server in context lab"],
] as const)("the error about an unreachable server (%s) has a fix: %s", async ([url, problem]) => {
  await expect(ask({ url }, {})).rejects.toMatchObject({
    code: "Unreachable",
    message: `Cannot reach the API server at ${url}: ${problem}`,
  });
});
