import { createHash, createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from "node:crypto";
import type { SigningKey } from "./signing-key.ts";

const P = 2n ** 255n - 19n;

/**
 * A key that only two nodes can compute, from their published signing keys. An Ed25519 key has an X25519 key on the same curve (RFC 7748,
 * 4.1), so no further key is published. `purpose` separates the keys of different protocols.
 */
export function sharedKey(own: SigningKey, peer: string, purpose: string): Buffer {
  const secret = diffieHellman({ privateKey: exchangeKey(own), publicKey: montgomery(Buffer.from(peer, "base64")) });
  // Sorted: the same for both sides.
  const pair = [own.publicKey, peer].sort();
  return createHash("sha256").update(`plumbline ${purpose} `).update(secret).update(pair.join(" ")).digest();
}

function exchangeKey({ privateKey, publicKey }: SigningKey): KeyObject {
  const seed = Buffer.from(privateKey.export({ format: "jwk" }).d ?? "", "base64url");
  const d = createHash("sha512").update(seed).digest().subarray(0, 32).toString("base64url");
  const { x } = montgomery(Buffer.from(publicKey, "base64")).export({ format: "jwk" });
  return createPrivateKey({ key: { kty: "OKP", crv: "X25519", d, x: x ?? "" }, format: "jwk" });
}

/** The u coordinate of an Edwards point: (1 + y) / (1 - y). */
function montgomery(point: Buffer): KeyObject {
  const bytes = Buffer.from(point);
  bytes[31] = (bytes[31] ?? 0) & 0x7f;
  const y = BigInt(`0x${bytes.reverse().toString("hex")}`) % P;
  const u = ((1n + y) * inverse((1n - y + P) % P)) % P;
  const x = Buffer.from(u.toString(16).padStart(64, "0"), "hex").reverse().toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "X25519", x }, format: "jwk" });
}

/** By Fermat; the inverse of zero is zero, which `diffieHellman` then rejects. */
function inverse(value: bigint): bigint {
  let result = 1n;
  for (let base = value, exponent = P - 2n; exponent > 0n; exponent >>= 1n, base = (base * base) % P) {
    if (exponent & 1n) result = (result * base) % P;
  }
  return result;
}
