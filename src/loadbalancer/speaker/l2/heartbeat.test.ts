import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { unavailableAddresses } from "./unavailable-addresses.ts";
import { isEncrypted, isSigned, signHeartbeat, verifyHeartbeat, type Heartbeat, type ReceivedHeartbeat } from "./heartbeat.ts";

const [own, other] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
const [shared, otherShared] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
const heartbeat: Heartbeat = { node: "a", started: 5, number: 2, sent: 9, macs: ["02:00:00:00:00:0a"], letGo: false, unable: ["0a0b0c0d"] };

/** As a holder of all keys could send it. */
function sealed(body: string): Buffer {
  const signature = sign(null, Buffer.from(`plumbline heartbeat 2\n${body}`), own.privateKey).toString("base64");
  const bytes = Buffer.from(`${body.slice(0, -1)},"signature":"${signature}"}`);
  return Buffer.concat([createHmac("sha256", shared).update("plumbline heartbeat 1\n").update(bytes).digest(), bytes]);
}

/** What an agent of an earlier version makes of a datagram. */
function readByEarlier(datagram: Buffer): unknown {
  const body = datagram.subarray(32);
  const expected = createHmac("sha256", shared).update("plumbline heartbeat 1\n").update(body).digest();
  return expected.equals(datagram.subarray(0, 32)) ? (JSON.parse(body.toString()) as unknown) : undefined;
}

test("a signature verifies with its public key, and with no other", () => {
  const received = verifyHeartbeat(signHeartbeat(heartbeat, own.privateKey, undefined)) as ReceivedHeartbeat;
  expect(received.heartbeat).toEqual(heartbeat);
  expect([isSigned(received, own.publicKey), isSigned(received, other.publicKey), isEncrypted(received, shared)]).toEqual([
    true,
    false,
    false,
  ]);
});

test("agents of earlier versions and current ones accept heartbeats with the shared key from each other", () => {
  const datagram = signHeartbeat(heartbeat, own.privateKey, shared);
  expect(readByEarlier(datagram)).toMatchObject(heartbeat);
  const received = verifyHeartbeat(datagram) as ReceivedHeartbeat;
  expect([isSigned(received, own.publicKey), isEncrypted(received, shared), isEncrypted(received, otherShared)]).toEqual([
    true,
    true,
    false,
  ]);
  const body = Buffer.from(JSON.stringify(heartbeat));
  const earlier = verifyHeartbeat(
    Buffer.concat([createHmac("sha256", shared).update("plumbline heartbeat 1\n").update(body).digest(), body]),
  );
  expect(earlier?.heartbeat).toEqual(heartbeat);
  expect([isEncrypted(earlier as ReceivedHeartbeat, shared), isSigned(earlier as ReceivedHeartbeat, own.publicKey)]).toEqual([true, false]);
});

test("a datagram with a changed bit, or a truncated one, does not verify", () => {
  const datagram = signHeartbeat(heartbeat, own.privateKey, shared);
  for (let at = 0; at < datagram.length; at++) {
    const forged = Buffer.from(datagram);
    forged[at] = (forged[at] ?? 0) ^ 1;
    const received = verifyHeartbeat(forged);
    if (!received) continue;
    expect(isEncrypted(received, shared)).toBe(false);
    expect(isSigned(received, own.publicKey)).toBe(at < 32);
  }
  for (let length = 0; length < datagram.length; length++) expect(verifyHeartbeat(datagram.subarray(0, length))).toBeUndefined();
});

const wrong: Record<string, unknown> = {
  "no object": "not JSON",
  "macs of null": { ...heartbeat, macs: null },
  "macs that are numbers": { ...heartbeat, macs: [1] },
  "macs that are none": { ...heartbeat, macs: ["nonsense"] },
  "too many macs": { ...heartbeat, macs: Array.from({ length: 41 }, () => "02:00:00:00:00:0a") },
  "a node that is a list": { ...heartbeat, node: ["a"] },
  "a node without a name": { ...heartbeat, node: "" },
  "a node with too long a name": { ...heartbeat, node: "a".repeat(254) },
  "no times": { ...heartbeat, sent: undefined },
  "times that are texts": { ...heartbeat, sent: "9" },
  "times that are no numbers of milliseconds": { ...heartbeat, started: 1e300 },
  "times before all time": { ...heartbeat, number: -1 },
  "a word for letting go": { ...heartbeat, letGo: "yes" },
  "an inability of null": { ...heartbeat, unable: null },
  "an inability of numbers": { ...heartbeat, unable: [7] },
  "too many inabilities": { ...heartbeat, unable: Array.from({ length: 21 }, () => "0a0b0c0d") },
  "a list": [heartbeat],
  null: null,
};

test.each(Object.entries(wrong))("a signed body with %s is not a heartbeat", (_what, body) => {
  expect(verifyHeartbeat(sealed(JSON.stringify(body)))).toBeUndefined();
});

test("fields of a later version are ignored", () => {
  const received = verifyHeartbeat(sealed(JSON.stringify({ later: { deep: [1] }, ...heartbeat }))) as ReceivedHeartbeat;
  expect(received.heartbeat).toEqual(heartbeat);
  expect(isSigned(received, own.publicKey)).toBe(true);
});

test("any signed body is a heartbeat with fields of the right type, or rejected", () => {
  const field = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom<unknown>(heartbeat.macs, heartbeat.unable, ["*"], Number.MAX_SAFE_INTEGER, 2 ** 53, -0),
  );
  const body = fc.record(
    { node: field, started: field, number: field, sent: field, macs: field, letGo: field, unable: field, signature: field },
    { requiredKeys: [] },
  );
  const one = fc.tuple(body, fc.subarray(Object.keys(heartbeat) as (keyof Heartbeat)[]));
  fc.assert(
    fc.property(one, ([random, kept]) => {
      const mixed = { ...random, ...Object.fromEntries(kept.map((name) => [name, heartbeat[name]])) };
      const received = verifyHeartbeat(sealed(JSON.stringify(mixed)));
      if (!received) return;
      const { node, started, number, sent, macs, letGo, unable } = received.heartbeat;
      expect(node).toMatch(/^[^]{1,253}$/);
      for (const count of [started, number, sent]) expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
      expect(macs.length).toBeLessThanOrEqual(40);
      expect(macs.every((mac) => /^[0-9a-f:]{17}$/.test(mac))).toBe(true);
      expect(letGo).toBeTypeOf("boolean");
      expect(unable === undefined || unable.every((mark) => /^(\*|[0-9a-f]{8})$/.test(mark))).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("the heartbeat of a node with very many interfaces and unavailable addresses fits into a datagram", () => {
  const macs = Array.from({ length: 500 }, () => "02:00:00:00:00:0a");
  const unable = unavailableAddresses(new Set(Array.from({ length: 20 }, (_, at) => `2001:db8::${at}`)));
  const times = { started: Date.now(), number: 1e9, sent: Date.now() };
  const datagram = signHeartbeat({ ...heartbeat, ...times, node: "n".repeat(253), macs, unable }, own.privateKey, shared);
  expect(datagram.length).toBeLessThan(1_400);
  expect(verifyHeartbeat(datagram)?.heartbeat.unable).toEqual(unable);
});
