import { isIPv4 } from "node:net";

const HEADER_BYTES = 12;
const TYPE_A = 1;
const RESPONSE = 0x8400;
const RECURSION_DESIRED = 0x0100;
const NO_SUCH_NAME = 3;
/** To the name in the question, which every answer is about. */
const POINTER = 0xc00c;

/** The answer to one question, from these names only; undefined for other packets. No name has an IPv6 address. */
export function answerTo(query: Buffer, names: Readonly<Record<string, string>>): Buffer | undefined {
  const question = questionOf(query);
  if (!question) return undefined;
  const address = names[question.name];
  const records = address !== undefined && question.type === TYPE_A && isIPv4(address) ? [addressRecord(address)] : [];
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(query.readUInt16BE(0), 0);
  header.writeUInt16BE(RESPONSE | (query.readUInt16BE(2) & RECURSION_DESIRED) | (address === undefined ? NO_SUCH_NAME : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, query.subarray(HEADER_BYTES, question.end), ...records]);
}

function questionOf(query: Buffer): { name: string; type: number; end: number } | undefined {
  if (query.length < HEADER_BYTES || query.readUInt16BE(2) >= 0x8000 || query.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at]; length !== 0; length = query[at]) {
    if (length === undefined || length > 63) return undefined;
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 5;
  if (query.length < end) return undefined;
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end };
}

function addressRecord(address: string): Buffer {
  const record = Buffer.alloc(16);
  record.writeUInt16BE(POINTER, 0);
  record.writeUInt16BE(TYPE_A, 2);
  record.writeUInt16BE(1, 4);
  // TTL 0: the next answer may differ.
  record.writeUInt32BE(0, 6);
  record.writeUInt16BE(4, 10);
  record.set(address.split(".").map(Number), 12);
  return record;
}
