import { createPrivateKey, X509Certificate } from "node:crypto";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { createAuthority, issue, type CertificatePair } from "./x509.ts";

const notBefore = new Date("2026-01-01T00:00:00Z");
const notAfter = new Date("2040-01-01T00:00:00Z");
const lifetime = { notBefore, notAfter };

const authority = createAuthority({ commonName: "plumbline test CA", ...lifetime });
const server = issue(authority, {
  commonName: "webhook",
  names: ["plumbline-webhook.plumbline-system.svc", "*.example.org", "127.0.0.1", "2001:db8::1", "::"],
  usage: "server",
  ...lifetime,
});
const client = issue(authority, { commonName: "alice", organizations: ["system:masters", "käfer"], usage: "client", ...lifetime });

const read = (identity: CertificatePair) => new X509Certificate(identity.certificate);

const open: { close(): void }[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.close();
});

test("a CA is self-signed and may sign certificates, but no further CA", () => {
  const certificate = read(authority);
  expect(certificate.subject).toBe("CN=plumbline test CA");
  expect(certificate.ca).toBe(true);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.checkIssued(certificate)).toBe(true);
  expect(certificate.toLegacyObject().raw.includes(Buffer.from("30060101ff020100", "hex")), "pathLenConstraint 0").toBe(true);
});

test("an issued certificate verifies against its CA and no other", () => {
  const stranger = createAuthority({ commonName: "plumbline test CA", ...lifetime });
  expect(read(server).checkIssued(read(authority))).toBe(true);
  expect(read(server).verify(read(authority).publicKey)).toBe(true);
  expect(read(server).verify(read(stranger).publicKey)).toBe(false);
  // Same subject, other key: only the key identifier tells them apart.
  expect(read(server).checkIssued(read(stranger))).toBe(false);
  expect(read(server).ca).toBe(false);
});

test("the private key matches the certificate", () => {
  expect(read(server).checkPrivateKey(createPrivateKey(server.privateKey))).toBe(true);
  expect(read(server).checkPrivateKey(createPrivateKey(authority.privateKey))).toBe(false);
});

test("the names are the requested DNS names and addresses of both families", () => {
  const certificate = read(server);
  expect(certificate.subjectAltName).toBe(
    "DNS:plumbline-webhook.plumbline-system.svc, DNS:*.example.org, IP Address:127.0.0.1, IP Address:2001:DB8:0:0:0:0:0:1, IP Address:0:0:0:0:0:0:0:0",
  );
  expect(certificate.checkHost("plumbline-webhook.plumbline-system.svc")).toBeDefined();
  expect(certificate.checkHost("a.example.org")).toBeDefined();
  expect(certificate.checkHost("plumbline-webhook.default.svc")).toBeUndefined();
  expect(certificate.checkIP("2001:db8::1")).toBeDefined();
  expect(certificate.checkIP("127.0.0.2")).toBeUndefined();
});

test("a client certificate carries its groups as organizations, in order", () => {
  expect(read(client).subject).toBe("O=system:masters\nO=käfer\nCN=alice");
  expect(read(client).keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
  expect(read(server).keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  expect(read(client).subjectAltName).toBeUndefined();
});

test("the lifetime is exact to the second, before and after the year 2050", () => {
  const late = createAuthority({
    commonName: "late",
    notBefore: new Date("2049-12-31T23:59:59.900Z"),
    notAfter: new Date("2050-01-01T00:00:00Z"),
  });
  expect(read(late).validFromDate).toEqual(new Date("2049-12-31T23:59:59Z"));
  expect(read(late).validToDate).toEqual(new Date("2050-01-01T00:00:00Z"));
});

test("long names use long DER lengths and are read back complete", () => {
  const names = Array.from({ length: 40 }, (_, index) => `${"x".repeat(50)}-${index}.example.org`);
  const long = issue(authority, { commonName: "c".repeat(200), names, usage: "server", ...lifetime });
  expect(read(long).subject).toBe(`CN=${"c".repeat(200)}`);
  expect(read(long).subjectAltName).toBe(names.map((name) => `DNS:${name}`).join(", "));
  expect(read(long).verify(read(authority).publicKey)).toBe(true);
});

test("a CA with a long name can be an issuer", () => {
  const long = createAuthority({ commonName: "a".repeat(300), ...lifetime });
  const issued = issue(long, { commonName: "x", usage: "client", ...lifetime });
  expect(read(issued).checkIssued(read(long))).toBe(true);
});

test("serial numbers differ and are positive", () => {
  const serials = Array.from({ length: 50 }, () => read(createAuthority({ commonName: "x", ...lifetime })).serialNumber);
  expect(new Set(serials).size).toBe(50);
  expect(serials.every((serial) => /^[4-7]/.test(serial) && serial.length === 32)).toBe(true);
});

test("both ends of a mutual TLS handshake accept certificates of the CA", async () => {
  expect(await handshake(client)).toBe("alice");
});

test("a server rejects the client certificate of another CA with the same name", async () => {
  const stranger = createAuthority({ commonName: "plumbline test CA", ...lifetime });
  const impostor = issue(stranger, { commonName: "alice", usage: "client", ...lifetime });
  expect(await handshake(impostor)).toBe("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
});

test("a server certificate is not accepted as a client certificate", async () => {
  expect(await handshake(server)).toBe("INVALID_PURPOSE");
});

/** The common name under which the server knows the client, or why it refuses it. */
async function handshake(identity: CertificatePair): Promise<string> {
  const { certificate: cert, privateKey: key } = server;
  const listener = createServer({ key, cert, ca: authority.certificate, requestCert: true, rejectUnauthorized: false }, (socket) => {
    socket.end(
      socket.authorized ? String(socket.getPeerX509Certificate()?.toLegacyObject().subject.CN) : String(socket.authorizationError),
    );
  });
  open.push(listener);
  await new Promise<void>((resolve) => {
    listener.listen(0, "127.0.0.1", resolve);
  });
  const { port } = listener.address() as AddressInfo;
  const socket = connect({ host: "127.0.0.1", port, ca: authority.certificate, key: identity.privateKey, cert: identity.certificate });
  let answer = "";
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}
