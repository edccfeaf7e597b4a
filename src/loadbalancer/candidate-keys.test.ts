import { generateKeyPairSync, sign, verify } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Secret } from "../api/core/secret.ts";
import { emptyMembers } from "../kube/members/members.ts";
import { CandidateKeys, sharedKeyIn } from "./candidate-keys.ts";

const bytes = Buffer.alloc(32, 7);
const secret = (data?: Record<string, string>) => ({ metadata: { name: "plumbline-heartbeat" }, ...(data && { data }) });
const pairs = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")] as const;
const [one, two] = pairs.map(({ publicKey }) =>
  Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url").toString("base64"),
) as [string, string];
let stored: Secret | undefined;
/** Of the Secret, whether each is still followed. */
let reads: AbortSignal[];
let keys: CandidateKeys;

beforeEach(() => {
  vi.useFakeTimers();
  stored = secret({ key: bytes.toString("base64") });
  reads = [];
  keys = new CandidateKeys({
    namespace: "plumbline-system",
    open: () => ({
      start: (signal) => void reads.push(signal),
      get: (key) => (key === "plumbline-system/plumbline-heartbeat" ? stored : undefined),
    }),
  });
});
afterEach(() => vi.useRealTimers());

const update = (live: string[], published: Record<string, string>) => keys.update({ ...emptyMembers, live, keys: published });
const following = () => reads.filter(({ aborted }) => !aborted).length;

test("a shared key has 32 bytes, and any other value is ignored", () => {
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

test("the Secret is not read if all members have published a key", async () => {
  update([], {});
  update(["a", "b"], { a: one, b: two });
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect([reads.length, keys.shared()]).toEqual([0, undefined]);
});

test("the Secret is read while a live member has no published key, and for some minutes after", async () => {
  update(["a", "b"], { a: one });
  expect(keys.shared()).toEqual(bytes);
  // A deleted Secret stays in use.
  stored = undefined;
  expect(keys.shared()).toEqual(bytes);
  update(["a", "b"], { a: one, b: two });
  await vi.advanceTimersByTimeAsync(120_000);
  expect([keys.shared(), following()]).toEqual([bytes, 1]);
  // One agent is replaced by an earlier version meanwhile.
  update(["a", "b"], { b: two });
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect([keys.shared(), following()]).toEqual([bytes, 1]);
  update(["a", "b"], { a: one, b: two });
  update(["b"], { a: one, b: two });
  await vi.advanceTimersByTimeAsync(300_000);
  expect([keys.shared(), following(), reads.length]).toEqual([undefined, 0, 1]);
});

test("the key of a node is the last published one", () => {
  const signs = ({ privateKey }: (typeof pairs)[number]) => {
    const key = keys.of("a");
    return key && verify(null, bytes, key, sign(null, bytes, privateKey));
  };
  expect(keys.of("a")).toBeUndefined();
  update(["a"], { a: one });
  expect(pairs.map(signs)).toEqual([true, false]);
  update(["a"], { a: two });
  expect(pairs.map(signs)).toEqual([false, true]);
  update(["a"], {});
  expect(keys.of("a")).toBeUndefined();
});

test("an agent that stops ends its watches", async () => {
  const stop = new AbortController();
  const running = keys.run(stop.signal);
  update(["a"], {});
  stop.abort();
  await running;
  expect(following()).toBe(0);
});
