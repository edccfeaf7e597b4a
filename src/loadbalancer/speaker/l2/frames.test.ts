import { expect, test } from "vitest";
import { parseAddress } from "../../../ip/address.ts";
import { announcement, probe, readFrame, solicitedNode } from "./frames.ts";

const mac = "02:00:00:00:00:0a";
const vip = parseAddress("192.0.2.100");
const vip6 = parseAddress("2001:db8::1:100");

const hex = (...parts: string[]) => parts.join("");

test("an ARP probe is a broadcast with the unspecified sender address", () => {
  expect(probe(mac, vip).toString("hex")).toBe(
    hex("ffffffffffff02000000000a0806", "0001080006040001", "02000000000a00000000", "000000000000c0000264"),
  );
});

test("a gratuitous ARP has the address as sender and target", () => {
  expect(announcement(mac, vip).toString("hex")).toBe(
    hex("ffffffffffff02000000000a0806", "0001080006040001", "02000000000ac0000264", "000000000000c0000264"),
  );
});

test("a neighbor solicitation has the unspecified source and the solicited-node group as destination", () => {
  const frame = probe(mac, vip6).toString("hex");
  expect(frame.slice(0, 28)).toBe("3333ff01010002000000000a86dd");
  expect(frame.slice(28, 44)).toBe("6000000000183aff");
  expect(frame.slice(44, 76)).toBe("0".repeat(32));
  expect(frame.slice(76, 108)).toBe("ff0200000000000000000001ff010100");
  expect(frame.slice(124)).toBe("20010db8000000000000000000010100");
  expect(solicitedNode(vip6).toString("hex")).toBe("ff0200000000000000000001ff010100");
});

test.each([probe(mac, vip6), announcement(mac, vip6)])("the checksum of an ICMPv6 message verifies", (frame) => {
  const covered = Buffer.concat([frame.subarray(22, 54), Buffer.from([0, 0, 0, frame.length - 54, 0, 0, 0, 58]), frame.subarray(54)]);
  let sum = 0;
  for (let at = 0; at < covered.length; at += 2) sum += covered.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  expect(sum).toBe(0xffff);
});

test.each([vip, vip6])("frames for %s survive a round trip", (address) => {
  expect(readFrame(probe(mac, address))).toEqual({ what: "probe", address, mac });
  expect(readFrame(announcement(mac, address))).toEqual({ what: "claim", address, mac });
});

test("an ARP reply claims its sender address", () => {
  const reply = Buffer.from(hex("02000000000b02000000000a0806", "0001080006040002", "02000000000ac0000264", "02000000000bc0000201"), "hex");
  expect(readFrame(reply)).toEqual({ what: "claim", address: vip, mac });
});

test("a solicitation from an assigned source address is neither a claim nor a probe", () => {
  const frame = probe(mac, vip6);
  frame[37] = 1;
  expect(readFrame(frame)).toBeUndefined();
});

test("frames of any length and content are parsed without an error", () => {
  for (const frame of [probe(mac, vip), probe(mac, vip6), announcement(mac, vip6)])
    for (let length = 0; length < frame.length; length++) expect(() => readFrame(frame.subarray(0, length))).not.toThrow();
  expect(readFrame(Buffer.alloc(100))).toBeUndefined();
  expect(readFrame(Buffer.alloc(100, 255))).toBeUndefined();
});
