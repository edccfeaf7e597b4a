import { expect, test } from "vitest";
import { sharedKeyIn } from "./candidate-keys.ts";

const secret = (data?: Record<string, string>) => ({ metadata: { name: "plumbline-heartbeat" }, ...(data && { data }) });

test("a key has 32 bytes, and anything else is none", () => {
  const bytes = Buffer.alloc(32, 7);
  expect(sharedKeyIn(secret({ key: bytes.toString("base64") }))).toEqual(bytes);
  for (const wrong of [
    undefined,
    secret(),
    secret({ key: "" }),
    secret({ key: "c2hvcnQ=" }),
    secret({ other: bytes.toString("base64") }),
  ]) {
    expect(sharedKeyIn(wrong)).toBeUndefined();
  }
});
