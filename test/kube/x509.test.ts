import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAuthority, issue } from "../../src/kube/x509.ts";

const openssl = async (...args: string[]) => (await promisify(execFile)("openssl", args)).stdout;

const verify = (purpose: string, name: string) =>
  openssl("verify", "-x509_strict", "-purpose", purpose, "-CAfile", file("ca.pem"), file(name));

const lifetime = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
let folder: string;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plumbline-x509-"));
  const authority = createAuthority({ commonName: "plumbline CA", ...lifetime });
  const namesake = createAuthority({ commonName: "plumbline CA", ...lifetime });
  const server = issue(authority, { commonName: "webhook", names: ["webhook.svc", "127.0.0.1", "::1"], usage: "server", ...lifetime });
  const client = issue(authority, { commonName: "alice", organizations: ["admins"], usage: "client", ...lifetime });
  await writeFile(file("ca.pem"), authority.certificate);
  await writeFile(file("namesake.pem"), namesake.certificate);
  await writeFile(file("both.pem"), namesake.certificate + authority.certificate);
  await writeFile(file("server.pem"), server.certificate);
  await writeFile(file("client.pem"), client.certificate);
  await writeFile(file("server.key"), server.privateKey);
});

afterAll(() => rm(folder, { recursive: true }));

test("OpenSSL accepts our certificates under its strict reading of RFC 5280, for their own purpose only", async () => {
  expect(await verify("sslserver", "server.pem")).toContain(": OK");
  expect(await verify("sslclient", "client.pem")).toContain(": OK");
  await expect(verify("sslclient", "server.pem")).rejects.toThrow("unsuitable certificate purpose");
  await expect(verify("sslserver", "client.pem")).rejects.toThrow("unsuitable certificate purpose");
});

test("OpenSSL finds the right authority in a bundle where an older one has the same name", async () => {
  expect(await openssl("verify", "-x509_strict", "-CAfile", file("both.pem"), file("server.pem"))).toContain(": OK");
  await expect(openssl("verify", "-CAfile", file("namesake.pem"), file("server.pem"))).rejects.toThrow(
    "unable to get local issuer certificate",
  );
});

test("OpenSSL reads the names and the key that were asked for", async () => {
  expect(await openssl("x509", "-in", file("server.pem"), "-noout", "-ext", "subjectAltName")).toContain(
    "DNS:webhook.svc, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1",
  );
  expect(await openssl("x509", "-in", file("client.pem"), "-noout", "-subject")).toContain("O = admins, CN = alice");
  expect(await openssl("pkey", "-in", file("server.key"), "-noout", "-text")).toContain("NIST CURVE: P-256");
});
