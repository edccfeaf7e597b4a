import { createHmac, type KeyObject, sign, timingSafeEqual, verify } from "node:crypto";
import { isObject } from "../../../api/admission/value.ts";
import { isUnavailableAddresses, type UnavailableAddresses } from "./unavailable-addresses.ts";

/** Sent to the other candidates once a second. */
export interface Heartbeat {
  readonly node: string;
  readonly started: number;
  readonly number: number;
  readonly sent: number;
  /** Of its interfaces, so that others can identify the MAC that answers. */
  readonly macs: readonly string[];
  /** It has just removed an address from a link. */
  readonly letGo: boolean;
  /** Addresses that it leaves to others, because it has no interface for them; undefined right after the start. */
  readonly unable?: UnavailableAddresses;
}

/** A well-formed heartbeat; its sender is not verified yet. */
export interface ReceivedHeartbeat {
  readonly heartbeat: Heartbeat;
  readonly datagram: Buffer;
}

/**
 * A datagram is a seal of 32 bytes and a JSON object, whose last field is the Ed25519 signature of the object without it. The seal is the
 * HMAC that agents of earlier versions require, or zero.
 */
const SEALED = "plumbline heartbeat 1\n";
const SIGNED = "plumbline heartbeat 2\n";
const SEAL_BYTES = 32;
const SIGNATURE = /,"signature":"([A-Za-z0-9+/]{86}==)"\}$/;
const SIGNATURE_BYTES = ',"signature":""}'.length + 88;

/** Fits into a datagram everywhere. Earlier versions send up to 40. */
const MOST_MACS_SENT = 32;
const MOST_MACS = 40;
const MOST_BYTES = 1_500;
const LONGEST_NODE = 253;
const MAC = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/;

export function signHeartbeat(heartbeat: Heartbeat, key: KeyObject, shared: Buffer | undefined): Buffer {
  const text = JSON.stringify({ ...heartbeat, macs: heartbeat.macs.slice(0, MOST_MACS_SENT) });
  const signature = sign(null, Buffer.from(SIGNED + text), key).toString("base64");
  const body = Buffer.from(`${text.slice(0, -1)},"signature":"${signature}"}`);
  return Buffer.concat([shared ? hmac(body, shared) : Buffer.alloc(SEAL_BYTES), body]);
}

/** Undefined if it is malformed. */
export function verifyHeartbeat(datagram: Buffer): ReceivedHeartbeat | undefined {
  if (datagram.length > MOST_BYTES) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(datagram.toString("utf8", SEAL_BYTES));
  } catch {
    return undefined;
  }
  const heartbeat = heartbeatOf(value);
  return heartbeat && { heartbeat, datagram };
}

export function isSigned({ datagram }: ReceivedHeartbeat, key: KeyObject): boolean {
  const end = datagram.length - SIGNATURE_BYTES;
  const [, signature] = SIGNATURE.exec(datagram.toString("latin1", Math.max(SEAL_BYTES, end))) ?? [];
  if (signature === undefined) return false;
  const signed = Buffer.concat([Buffer.from(SIGNED), datagram.subarray(SEAL_BYTES, end), Buffer.from("}")]);
  return verify(null, signed, key, Buffer.from(signature, "base64"));
}

/** As agents of earlier versions do, all with the same key. */
export function isEncrypted({ datagram }: ReceivedHeartbeat, shared: Buffer): boolean {
  return timingSafeEqual(hmac(datagram.subarray(SEAL_BYTES), shared), datagram.subarray(0, SEAL_BYTES));
}

/** Unknown fields are ignored: a later version may send more. */
function heartbeatOf(value: unknown): Heartbeat | undefined {
  if (!isObject(value)) return undefined;
  const { node, started, number, sent, macs, letGo, unable } = value as Readonly<Record<keyof Heartbeat, unknown>>;
  if (typeof node !== "string" || node === "" || node.length > LONGEST_NODE) return undefined;
  if (!isCount(started) || !isCount(number) || !isCount(sent) || typeof letGo !== "boolean" || !isMacs(macs)) return undefined;
  if (unable !== undefined && !isUnavailableAddresses(unable)) return undefined;
  return { node, started, number, sent, macs, letGo, ...(unable && { unable }) };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isMacs(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MOST_MACS && value.every((mac) => typeof mac === "string" && MAC.test(mac));
}

function hmac(body: Buffer, shared: Buffer): Buffer {
  return createHmac("sha256", shared).update(SEALED).update(body).digest();
}
