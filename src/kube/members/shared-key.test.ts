import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { sharedKey } from "./shared-key.ts";
import type { SigningKey } from "./signing-key.ts";

function signingKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return { privateKey, publicKey: Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url").toString("base64") };
}

test("two nodes compute the same key, and no other node does", () => {
  for (let run = 0; run < 20; run++) {
    const [a, b, c] = [signingKey(), signingKey(), signingKey()];
    expect(sharedKey(a, b.publicKey, "probe")).toEqual(sharedKey(b, a.publicKey, "probe"));
    expect(sharedKey(c, b.publicKey, "probe")).not.toEqual(sharedKey(a, b.publicKey, "probe"));
  }
});

test("different purposes have different keys", () => {
  const [a, b] = [signingKey(), signingKey()];
  expect(sharedKey(a, b.publicKey, "probe")).not.toEqual(sharedKey(a, b.publicKey, "heartbeat"));
});

test("a public key of small order is rejected", () => {
  expect(() => sharedKey(signingKey(), Buffer.alloc(32).toString("base64"), "probe")).toThrow("failed during derivation");
});
