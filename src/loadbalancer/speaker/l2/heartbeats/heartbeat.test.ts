import { expect, test } from "vitest";
import { inabilityOf } from "./inability.ts";
import { seal, unseal, type Heartbeat } from "./heartbeat.ts";

const key = Buffer.alloc(32, 7);
const heartbeat: Heartbeat = { node: "a", started: 5, number: 2, sent: 9, macs: ["02:00:00:00:00:0a"], letGo: false, unable: ["0a0b0c0d"] };

test("what is sealed with the key is read with it, and with no other", () => {
  expect(unseal(seal(heartbeat, key), key)).toEqual(heartbeat);
  expect(unseal(seal(heartbeat, key), Buffer.alloc(32, 8))).toBeUndefined();
});

test("a datagram of which one bit was changed is not read", () => {
  const datagram = seal(heartbeat, key);
  for (let at = 0; at < datagram.length; at++) {
    const forged = Buffer.from(datagram);
    forged[at] = (forged[at] ?? 0) ^ 1;
    expect(unseal(forged, key)).toBeUndefined();
  }
});

test("a datagram of any length is taken without harm", () => {
  const datagram = seal(heartbeat, key);
  for (let length = 0; length < datagram.length; length++) expect(unseal(datagram.subarray(0, length), key)).toBeUndefined();
});

test("what a node with very many interfaces, and very many addresses without one, has to say still fits into a datagram", () => {
  const macs = Array.from({ length: 500 }, () => "02:00:00:00:00:0a");
  const unable = inabilityOf(new Set(Array.from({ length: 20 }, (_, at) => `2001:db8::${at}`)));
  expect(seal({ ...heartbeat, node: "n".repeat(253), macs, unable }, key).length).toBeLessThan(1_400);
});
