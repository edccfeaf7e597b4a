import { X509Certificate } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { createAuthority, issue, type CertificatePair } from "../kube/x509.ts";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const YEAR_MS = 365 * 24 * 3_600_000;
/** The clocks of machines that connect to each other may differ a little. */
const SKEW_MS = 300_000;
const ANY = new Set(["", "0.0.0.0", "::"]);

const base64 = (text: string) => Buffer.from(text).toString("base64");

const validity = (years: number) => ({
  notBefore: new Date(Date.now() - SKEW_MS),
  notAfter: new Date(Date.now() + years * YEAR_MS),
});

/** `127.0.0.1:6443`, `[::1]:6443`, `:6443` for every address; port 0 takes a free one. */
export function parseListenAddress(text: string): ListenAddress {
  const [, bracketed, plain, port = ""] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  if (port === "" || Number(port) > 65_535) {
    throw new Error(`--listen ${text} is not an address with a port; use 127.0.0.1:6443, [::1]:6443 or :6443`);
  }
  return { host: bracketed ?? plain ?? "", port: Number(port) };
}

/** The CA is stored, so that a copied kubeconfig still works after a restart. */
export async function loadAuthority(stateDirectory: string): Promise<CertificatePair> {
  const path = join(stateDirectory, "authority.pem");
  const kept = await readFile(path, "utf8").catch(() => "");
  const [certificate = "", privateKey = ""] = kept.split(/(?=-----BEGIN PRIVATE KEY-----)/);
  if (isUsable(certificate) && privateKey !== "") return { certificate, privateKey };
  const authority = createAuthority({ commonName: "plumbline embedded authority", ...validity(10) });
  await writePrivately(path, `${authority.certificate}${authority.privateKey}`);
  return authority;
}

function isUsable(certificate: string): boolean {
  try {
    return Date.parse(new X509Certificate(certificate).validTo) > Date.now() + YEAR_MS;
  } catch {
    return false;
  }
}

export function issueForServer(authority: CertificatePair, { host }: ListenAddress): CertificatePair {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  // A certificate cannot contain an address with a scope.
  const reachable = ANY.has(host) ? own.filter(({ scopeid }) => !scopeid).map(({ address }) => address) : [host];
  const names = [...new Set(["localhost", hostname(), "127.0.0.1", "::1", ...reachable])];
  // Not the CA's own name: OpenSSL would take the certificate for a self-signed one.
  return issue(authority, { commonName: "plumbline embedded API", names, usage: "server", ...validity(9) });
}

export async function writeKubeconfig(path: string, authority: CertificatePair, address: ListenAddress): Promise<string> {
  const client = issue(authority, {
    commonName: "plumbline:admin",
    organizations: ["system:masters"],
    usage: "client",
    ...validity(9),
  });
  const host = ANY.has(address.host) ? "127.0.0.1" : address.host;
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${address.port}`;

  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "plumbline", cluster: { server, "certificate-authority-data": base64(authority.certificate) } }],
    users: [
      {
        name: "plumbline",
        user: { "client-certificate-data": base64(client.certificate), "client-key-data": base64(client.privateKey) },
      },
    ],
    contexts: [{ name: "plumbline", context: { cluster: "plumbline", user: "plumbline" } }],
    "current-context": "plumbline",
  };
  await writePrivately(path, stringify(config));
  return server;
}

/** Atomically, and readable by its owner only from the start. */
async function writePrivately(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
