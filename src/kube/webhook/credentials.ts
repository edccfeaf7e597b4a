import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { Secret } from "../../api/core/secret.ts";
import { createAuthority, issue, type CertificatePair } from "../x509.ts";

/** Shared by the replicas: CAs, newest first, and the serving certificate. */
export interface Credentials {
  authorities: readonly CertificatePair[];
  serving: CertificatePair;
}

export interface Lifetimes {
  authorityMs: number;
  servingMs: number;
  /** How long a new CA is only published before it signs, so that every API server trusts it by then. */
  publishedMs: number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export const LIFETIMES: Lifetimes = { authorityMs: 365 * DAY, servingMs: 90 * DAY, publishedMs: DAY };

/** Renews what is missing or past two thirds of its lifetime. Returns the same object if nothing was due. */
export function renew(existing: Credentials | undefined, names: readonly string[], lifetimes: Lifetimes, now: Date): Credentials {
  const alive = (existing?.authorities ?? []).filter((authority) => isWhole(authority) && endOf(authority) > now.getTime());
  const newest = alive[0];
  const authorities = newest && renewalOf(newest) > now.getTime() ? alive : [newAuthority(lifetimes, now), ...alive];

  const serving =
    existing && serves(existing.serving, authorities, names, now) ? existing.serving : newServing(authorities, names, lifetimes, now);
  if (existing && serving === existing.serving && authorities.length === existing.authorities.length) return existing;
  return { authorities, serving };
}

/** The next time at which `renew` has something to do. */
export function nextRenewal({ authorities, serving }: Credentials): Date {
  const newest = authorities[0];
  const times = [renewalOf(serving), ...(newest ? [renewalOf(newest)] : []), ...authorities.map(endOf)];
  return new Date(Math.min(...times));
}

/** Every CA that may have signed a replica's serving certificate, as PEM. */
export function bundleOf({ authorities }: Credentials): string {
  return authorities.map(({ certificate }) => certificate).join("");
}

export function toSecretData({ authorities, serving }: Credentials): Record<string, string> {
  const data = {
    "ca.crt": authorities.map(({ certificate }) => certificate).join(""),
    "ca.key": authorities.map(({ privateKey }) => privateKey).join(""),
    "tls.crt": serving.certificate,
    "tls.key": serving.privateKey,
  };
  return Object.fromEntries(Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString("base64")]));
}

/** Undefined if its data is invalid. */
export function fromSecret({ data = {} }: Secret): Credentials | undefined {
  const text = (name: string) => Buffer.from(data[name] ?? "", "base64").toString();
  const certificates = pemBlocks(text("ca.crt"));
  const keys = pemBlocks(text("ca.key"));
  const [certificate] = pemBlocks(text("tls.crt"));
  const [privateKey] = pemBlocks(text("tls.key"));
  if (!certificate || !privateKey) return undefined;
  const authorities = certificates.map((certificate, index) => ({ certificate, privateKey: keys[index] ?? "" }));
  return { authorities, serving: { certificate, privateKey } };
}

function pemBlocks(text: string): string[] {
  return text.match(/-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----\n?/g) ?? [];
}

function newAuthority({ authorityMs }: Lifetimes, now: Date): CertificatePair {
  return createAuthority({ commonName: "plumbline webhook CA", ...lifeFrom(now, authorityMs) });
}

function newServing(authorities: readonly CertificatePair[], names: readonly string[], lifetimes: Lifetimes, now: Date): CertificatePair {
  const signer = signerOf(authorities, lifetimes, now);
  const { notBefore, notAfter } = lifeFrom(now, lifetimes.servingMs);
  const end = new Date(Math.min(notAfter.getTime(), endOf(signer)));
  return issue(signer, { commonName: "plumbline webhook", names, usage: "server", notBefore, notAfter: end });
}

/** The newest CA that is trusted by now, else the oldest. One that is about to expire would sign certificates that are due at once. */
function signerOf(authorities: readonly CertificatePair[], { servingMs, publishedMs }: Lifetimes, now: Date): CertificatePair {
  const lasting = authorities.filter((authority) => endOf(authority) - now.getTime() >= servingMs / 2);
  const signer = lasting.find((authority) => madeAt(authority) + publishedMs <= now.getTime()) ?? lasting.at(-1) ?? authorities[0];
  if (!signer) throw new TypeError("a serving certificate requires a CA");
  return signer;
}

/** Complete, valid for every name, signed by one of our CAs, and young enough. */
function serves(serving: CertificatePair, authorities: readonly CertificatePair[], names: readonly string[], now: Date): boolean {
  if (!isWhole(serving) || renewalOf(serving) <= now.getTime()) return false;
  const certificate = new X509Certificate(serving.certificate);
  const known = names.every((name) => (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined);
  return known && authorities.some((authority) => certificate.checkIssued(new X509Certificate(authority.certificate)));
}

function isWhole({ certificate, privateKey }: CertificatePair): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(privateKey));
  } catch {
    return false;
  }
}

/** It starts in the past, for API servers with slow clocks. */
function lifeFrom(now: Date, ms: number): { notBefore: Date; notAfter: Date } {
  const from = now.getTime() - backdatedMs(ms);
  return { notBefore: new Date(from), notAfter: new Date(from + ms) };
}

function backdatedMs(lifeMs: number): number {
  return Math.min(HOUR, lifeMs / 20);
}

function madeAt(identity: CertificatePair): number {
  const { from, to } = lifeOf(identity);
  return from + backdatedMs(to - from);
}

function renewalOf(identity: CertificatePair): number {
  const { from, to } = lifeOf(identity);
  return from + ((to - from) * 2) / 3;
}

function endOf(identity: CertificatePair): number {
  return lifeOf(identity).to;
}

function lifeOf({ certificate }: CertificatePair): { from: number; to: number } {
  const { validFromDate, validToDate } = new X509Certificate(certificate);
  return { from: validFromDate.getTime(), to: validToDate.getTime() };
}
