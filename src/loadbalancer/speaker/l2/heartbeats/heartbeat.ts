import { createHmac, timingSafeEqual } from "node:crypto";
import type { Inability } from "./inability.ts";

/** What a node tells the other candidates once a second. */
export interface Heartbeat {
  readonly node: string;
  /** When its agent started by its clock, which tells one run of it from another, and how many it has sent since. */
  readonly started: number;
  readonly number: number;
  readonly sent: number;
  /** Of its interfaces, so that others know whose MAC answers. */
  readonly macs: readonly string[];
  /** It has just taken an address off a link. */
  readonly letGo: boolean;
  /** What it leaves to others, because it has no interface for it. An agent that has only just started does not know yet. */
  readonly unable?: Inability;
}

const VERSION = "plumbline heartbeat 1\n";
const SEAL_BYTES = 32;
/** What fits into a datagram everywhere. */
const MOST_MACS = 40;

export function seal(heartbeat: Heartbeat, key: Buffer): Buffer {
  const body = Buffer.from(JSON.stringify({ ...heartbeat, macs: heartbeat.macs.slice(0, MOST_MACS) }));
  return Buffer.concat([signature(body, key), body]);
}

/** Undefined for what was not sealed with the key, whoever sent it. */
export function unseal(datagram: Buffer, key: Buffer): Heartbeat | undefined {
  const body = datagram.subarray(SEAL_BYTES);
  if (body.length === 0 || !timingSafeEqual(signature(body, key), datagram.subarray(0, SEAL_BYTES))) return undefined;
  return JSON.parse(body.toString()) as Heartbeat;
}

function signature(body: Buffer, key: Buffer): Buffer {
  return createHmac("sha256", key).update(VERSION).update(body).digest();
}
