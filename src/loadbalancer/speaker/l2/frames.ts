import { Address } from "../../../ip/address.ts";

const ARP = 0x0806;
const IPV6 = 0x86dd;
const ICMPV6 = 58;
const SOLICITATION = 135;
const ADVERTISEMENT = 136;
const TARGET_LINK_ADDRESS = 2;
const OVERRIDE = 0x20;

const EVERYONE = Buffer.from("ffffffffffff", "hex");
const ALL_NODES = Buffer.from("ff020000000000000000000000000001", "hex");
const UNSPECIFIED = Buffer.alloc(16);

export interface ArpOrNdpMessage {
  readonly what: "claim" | "probe";
  readonly address: Address;
  readonly mac: string;
}

/** RFC 5227 and RFC 4862: asks without claiming the address. */
export function probe(mac: string, address: Address): Buffer {
  return address.family === 4
    ? arp(mac, new Address(4, 0n), address)
    : neighbor(mac, UNSPECIFIED, solicitedNode(address), SOLICITATION, 0, octets(address));
}

/** Announces the address: a gratuitous ARP, or an unsolicited neighbor advertisement. */
export function announcement(mac: string, address: Address): Buffer {
  if (address.family === 4) return arp(mac, address, address);
  const option = Buffer.concat([Buffer.from([TARGET_LINK_ADDRESS, 1]), macBytes(mac)]);
  return neighbor(mac, octets(address), ALL_NODES, ADVERTISEMENT, OVERRIDE, Buffer.concat([octets(address), option]));
}

/** The solicited-node multicast group of an IPv6 address. */
export function solicitedNode(address: Address): Buffer {
  return Buffer.concat([Buffer.from("ff0200000000000000000001ff", "hex"), octets(address).subarray(13)]);
}

export function readFrame(frame: Buffer): ArpOrNdpMessage | undefined {
  const protocol = frame.length >= 42 ? frame.readUInt16BE(12) : 0;
  if (protocol === ARP) return readArp(frame);
  return protocol === IPV6 && frame.length >= 78 && frame[20] === ICMPV6 ? readNeighbor(frame) : undefined;
}

/** In network order. */
export function octets(address: Address): Buffer {
  return Buffer.from(address.value.toString(16).padStart(address.family === 4 ? 8 : 32, "0"), "hex");
}

function readArp(frame: Buffer): ArpOrNdpMessage | undefined {
  if (frame.readUInt32BE(14) !== 0x0001_0800) return undefined;
  const mac = macText(frame.subarray(22, 28));
  const sender = addressAt(frame, 28, 4);
  return sender.value === 0n ? { what: "probe", address: addressAt(frame, 38, 4), mac } : { what: "claim", address: sender, mac };
}

function readNeighbor(frame: Buffer): ArpOrNdpMessage | undefined {
  const address = addressAt(frame, 62, 16);
  const from = macText(frame.subarray(6, 12));
  if (frame[54] === SOLICITATION) return frame.subarray(22, 38).equals(UNSPECIFIED) ? { what: "probe", address, mac: from } : undefined;
  if (frame[54] !== ADVERTISEMENT) return undefined;
  const named = frame.length >= 86 && frame[78] === TARGET_LINK_ADDRESS && frame[79] === 1;
  return { what: "claim", address, mac: named ? macText(frame.subarray(80, 86)) : from };
}

function arp(mac: string, sender: Address, target: Address): Buffer {
  const own = macBytes(mac);
  const header = Buffer.from("08060001080006040001", "hex");
  return Buffer.concat([EVERYONE, own, header, own, octets(sender), Buffer.alloc(6), octets(target)]);
}

function neighbor(mac: string, source: Buffer, group: Buffer, type: number, flags: number, body: Buffer): Buffer {
  const message = Buffer.concat([Buffer.from([type, 0, 0, 0, flags, 0, 0, 0]), body]);
  const pseudo = Buffer.concat([source, group, Buffer.from([0, 0, 0, message.length, 0, 0, 0, ICMPV6])]);
  message.writeUInt16BE(checksum(Buffer.concat([pseudo, message])), 2);
  const ipv6 = Buffer.from([0x60, 0, 0, 0, 0, message.length, ICMPV6, 255]);
  const ethernet = Buffer.concat([Buffer.from([0x33, 0x33]), group.subarray(12), macBytes(mac), Buffer.from([0x86, 0xdd])]);
  return Buffer.concat([ethernet, ipv6, source, group, message]);
}

function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += bytes.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

const addressAt = (frame: Buffer, at: number, length: 4 | 16) =>
  new Address(length === 4 ? 4 : 6, BigInt(`0x${frame.toString("hex", at, at + length)}`));
const macBytes = (mac: string) => Buffer.from(mac.replaceAll(":", ""), "hex");
const macText = (bytes: Buffer) => (bytes.toString("hex").match(/../g) ?? []).join(":");
