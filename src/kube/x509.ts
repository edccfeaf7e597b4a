/** X.509 certificates with EC P-256 keys: a CA, and what it issues. Node reads certificates but cannot create them. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from "node:crypto";
import { isIP } from "node:net";
import { BITS, parseAddress } from "../ip/address.ts";

export interface CertificatePair {
  certificate: string;
  privateKey: string;
}

interface Validity {
  notBefore: Date;
  notAfter: Date;
}

export interface AuthorityRequest extends Validity {
  commonName: string;
}

export interface CertificateRequest extends Validity {
  commonName: string;
  /** The groups of a Kubernetes client. */
  organizations?: readonly string[];
  /** DNS names and IP addresses of a server. */
  names?: readonly string[];
  usage: "server" | "client";
}

/** May sign end entities, but no further CA. */
export function createAuthority(request: AuthorityRequest): CertificatePair {
  const { publicKey, privateKey } = newKeys();
  const subject = distinguishedName(request.commonName, []);
  return certify({
    ...request,
    subject,
    publicKey,
    privateKey,
    issuer: subject,
    signer: privateKey,
    extensions: [
      extension(oid.basicConstraints, sequence(boolean(true), integer(Buffer.of(0))), "critical"),
      extension(oid.keyUsage, keyUsage.signCertificates, "critical"),
      extension(oid.subjectKeyIdentifier, octetString(keyIdentifier(publicKey))),
    ],
  });
}

export function issue(authority: CertificatePair, request: CertificateRequest): CertificatePair {
  const { publicKey, privateKey } = newKeys();
  const signer = createPrivateKey(authority.privateKey);
  const names = request.names ?? [];
  return certify({
    ...request,
    subject: distinguishedName(request.commonName, request.organizations ?? []),
    publicKey,
    privateKey,
    issuer: subjectOf(authority.certificate),
    signer,
    extensions: [
      extension(oid.basicConstraints, sequence(), "critical"),
      extension(oid.keyUsage, keyUsage.digitalSignature, "critical"),
      extension(oid.extendedKeyUsage, sequence(request.usage === "server" ? oid.serverAuthentication : oid.clientAuthentication)),
      extension(oid.authorityKeyIdentifier, sequence(tagged(0x80, keyIdentifier(createPublicKey(signer))))),
      ...(names.length > 0 ? [extension(oid.subjectAlternativeName, sequence(...names.map(generalName)))] : []),
    ],
  });
}

interface Certification extends Validity {
  subject: Buffer;
  publicKey: KeyObject;
  privateKey: KeyObject;
  issuer: Buffer;
  signer: KeyObject;
  extensions: Buffer[];
}

function certify({ subject, publicKey, privateKey, issuer, signer, extensions, notBefore, notAfter }: Certification): CertificatePair {
  const toBeSigned = sequence(
    tagged(0xa0, integer(Buffer.of(2))), // version 3
    integer(serialNumber()),
    ecdsaWithSha256,
    issuer,
    sequence(derTime(notBefore), derTime(notAfter)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensions)),
  );
  const certificate = sequence(toBeSigned, ecdsaWithSha256, bitString(sign("sha256", toBeSigned, signer)));
  return {
    certificate: new X509Certificate(certificate).toString(),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function newKeys(): { publicKey: KeyObject; privateKey: KeyObject } {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

/** Positive, at most 20 bytes, and random, so that two CAs of the same name never issue the same one. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
}

/** RFC 7093, method 1. */
function keyIdentifier(publicKey: KeyObject): Buffer {
  const point = publicKey.export({ type: "spki", format: "der" }).subarray(-65);
  return createHash("sha256").update(point).digest().subarray(0, 20);
}

function distinguishedName(commonName: string, organizations: readonly string[]): Buffer {
  const attribute = (type: Buffer, value: string) => tagged(0x31, sequence(type, tagged(0x0c, Buffer.from(value))));
  return sequence(...organizations.map((name) => attribute(oid.organization, name)), attribute(oid.commonName, commonName));
}

function generalName(name: string): Buffer {
  return isIP(name) ? tagged(0x87, addressBytes(name)) : tagged(0x82, Buffer.from(name, "ascii"));
}

function addressBytes(text: string): Buffer {
  const { family, value } = parseAddress(text);
  return Buffer.from(value.toString(16).padStart(BITS[family] / 4, "0"), "hex");
}

function extension(type: Buffer, value: Buffer, critical?: "critical"): Buffer {
  return sequence(type, ...(critical ? [boolean(true)] : []), octetString(value));
}

/** The subject's bytes in the certificate: an issuer must repeat them exactly. */
function subjectOf(certificate: string): Buffer {
  const [toBeSigned] = elements(new X509Certificate(certificate).raw);
  const subject = toBeSigned && elements(toBeSigned)[5];
  if (!subject) throw new Error("The CA certificate has no subject");
  return subject;
}

function tagged(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.of(tag, body.length), body]);
  if (body.length < 0x100) return Buffer.concat([Buffer.of(tag, 0x81, body.length), body]);
  return Buffer.concat([Buffer.of(tag, 0x82, body.length >> 8, body.length & 0xff), body]);
}

function sequence(...content: readonly Buffer[]): Buffer {
  return tagged(0x30, ...content);
}

function boolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.of(value ? 0xff : 0));
}

function integer(positive: Buffer): Buffer {
  return tagged(0x02, positive);
}

function octetString(content: Buffer): Buffer {
  return tagged(0x04, content);
}

function bitString(content: Buffer, unusedBits = 0): Buffer {
  return tagged(0x03, Buffer.of(unusedBits), content);
}

/** RFC 5280: two digits for the year through 2049, four from then on; seconds, no fraction. */
function derTime(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return date.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits));
}

function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const septets = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) septets.unshift((left & 0x7f) | 0x80);
    bytes.push(...septets);
  }
  return tagged(0x06, Buffer.from(bytes));
}

function elements(constructed: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = bounds(constructed, 0).start; at < constructed.length; at = bounds(constructed, at).end) {
    found.push(constructed.subarray(at, bounds(constructed, at).end));
  }
  return found;
}

function bounds(der: Buffer, at: number): { start: number; end: number } {
  const length = der.readUInt8(at + 1);
  if (length < 0x80) return { start: at + 2, end: at + 2 + length };
  const size = length & 0x7f;
  const start = at + 2 + size;
  return { start, end: start + der.readUIntBE(at + 2, size) };
}

const oid = {
  commonName: objectIdentifier("2.5.4.3"),
  organization: objectIdentifier("2.5.4.10"),
  subjectKeyIdentifier: objectIdentifier("2.5.29.14"),
  keyUsage: objectIdentifier("2.5.29.15"),
  subjectAlternativeName: objectIdentifier("2.5.29.17"),
  basicConstraints: objectIdentifier("2.5.29.19"),
  authorityKeyIdentifier: objectIdentifier("2.5.29.35"),
  extendedKeyUsage: objectIdentifier("2.5.29.37"),
  serverAuthentication: objectIdentifier("1.3.6.1.5.5.7.3.1"),
  clientAuthentication: objectIdentifier("1.3.6.1.5.5.7.3.2"),
};

const ecdsaWithSha256 = sequence(objectIdentifier("1.2.840.10045.4.3.2"));

const keyUsage = {
  digitalSignature: bitString(Buffer.of(0b1000_0000), 7),
  /** keyCertSign and cRLSign */
  signCertificates: bitString(Buffer.of(0b0000_0110), 1),
};
