import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../log.ts";

/** The Ed25519 key that signs messages between agents. */
export interface SigningKey {
  readonly privateKey: KeyObject;
  /** 32 bytes in base64, as published in its Lease. */
  readonly publicKey: string;
}

/** Kept across restarts, so that peers need not learn another one. An unusable key is replaced. */
export function loadSigningKey(directory: string, log: Log): SigningKey {
  const path = join(directory, "signing-key.pem");
  const kept = readKey(path, log);
  if (kept) return withPublicKey(kept);
  const { privateKey } = generateKeyPairSync("ed25519");
  try {
    mkdirSync(directory, { recursive: true });
    writeKey(path, privateKey);
  } catch (error) {
    log.warn({ error, path }, "cannot write the signing key; the next agent of this node creates another one");
  }
  return withPublicKey(privateKey);
}

export function publicKeyOf(text: string): KeyObject {
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(text, "base64").toString("base64url") }, format: "jwk" });
}

function withPublicKey(privateKey: KeyObject): SigningKey {
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  return { privateKey, publicKey: Buffer.from(x, "base64url").toString("base64") };
}

function readKey(path: string, log: Log): KeyObject | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    if ((fstatSync(file).mode & 0o077) !== 0) throw new Error("readable by other users");
    const key = createPrivateKey(readFileSync(file));
    if (key.asymmetricKeyType !== "ed25519") throw new Error("not an Ed25519 key");
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") log.warn({ error, path }, "signing key unusable; creating another one");
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function writeKey(path: string, key: KeyObject): void {
  const temporary = `${path}.new`;
  const file = openSync(temporary, "w", 0o600);
  try {
    writeFileSync(file, key.export({ type: "pkcs8", format: "pem" }));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}
