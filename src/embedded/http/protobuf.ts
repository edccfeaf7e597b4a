/** Decodes the protobuf that kubectl and other Go programs send for built-in kinds. Responses are JSON, which they accept. */
import type { JsonObject } from "../../api/admission/value.ts";

/** Name and type of a field. Go also writes empty fields: only those marked `!` are kept. */
type Shape =
  | "string"
  | "int"
  | "int!"
  | "bool"
  | "bytes"
  | "time"
  | "microtime"
  | "port"
  | "texts"
  | "bytesByKey"
  | "textByKey"
  | Message
  | [Message];
type Message = { readonly [field: number]: readonly [name: string, shape: Shape] };

const owner: Message = {
  1: ["kind", "string"],
  3: ["name", "string"],
  4: ["uid", "string"],
  5: ["apiVersion", "string"],
  6: ["controller", "bool"],
  7: ["blockOwnerDeletion", "bool"],
};
const metadata: Message = {
  1: ["name", "string"],
  2: ["generateName", "string"],
  3: ["namespace", "string"],
  5: ["uid", "string"],
  6: ["resourceVersion", "string"],
  7: ["generation", "int"],
  8: ["creationTimestamp", "time"],
  9: ["deletionTimestamp", "time"],
  10: ["deletionGracePeriodSeconds", "int!"],
  11: ["labels", "textByKey"],
  12: ["annotations", "textByKey"],
  13: ["ownerReferences", [owner]],
  14: ["finalizers", "texts"],
};
const reference: Message = {
  1: ["kind", "string"],
  2: ["namespace", "string"],
  3: ["name", "string"],
  4: ["uid", "string"],
  5: ["apiVersion", "string"],
  6: ["resourceVersion", "string"],
  7: ["fieldPath", "string"],
};
const servicePort: Message = {
  1: ["name", "string"],
  2: ["protocol", "string"],
  3: ["port", "int"],
  4: ["targetPort", "port"],
  5: ["nodePort", "int"],
  6: ["appProtocol", "string"],
};

const messages: Readonly<Record<string, Message>> = {
  Namespace: { 1: ["metadata", metadata] },
  ConfigMap: { 1: ["metadata", metadata], 2: ["data", "textByKey"], 3: ["binaryData", "bytesByKey"], 4: ["immutable", "bool"] },
  Secret: {
    1: ["metadata", metadata],
    2: ["data", "bytesByKey"],
    3: ["type", "string"],
    4: ["stringData", "textByKey"],
    5: ["immutable", "bool"],
  },
  Service: {
    1: ["metadata", metadata],
    2: [
      "spec",
      {
        1: ["ports", [servicePort]],
        2: ["selector", "textByKey"],
        3: ["clusterIP", "string"],
        4: ["type", "string"],
        5: ["externalIPs", "texts"],
        7: ["sessionAffinity", "string"],
        8: ["loadBalancerIP", "string"],
        9: ["loadBalancerSourceRanges", "texts"],
        10: ["externalName", "string"],
        11: ["externalTrafficPolicy", "string"],
        12: ["healthCheckNodePort", "int"],
        13: ["publishNotReadyAddresses", "bool"],
        17: ["ipFamilyPolicy", "string"],
        18: ["clusterIPs", "texts"],
        19: ["ipFamilies", "texts"],
        20: ["allocateLoadBalancerNodePorts", "bool"],
        21: ["loadBalancerClass", "string"],
        22: ["internalTrafficPolicy", "string"],
      },
    ],
  },
  Event: {
    1: ["metadata", metadata],
    2: ["involvedObject", reference],
    3: ["reason", "string"],
    4: ["message", "string"],
    5: ["source", { 1: ["component", "string"], 2: ["host", "string"] }],
    6: ["firstTimestamp", "time"],
    7: ["lastTimestamp", "time"],
    8: ["count", "int"],
    9: ["type", "string"],
    10: ["eventTime", "microtime"],
    11: ["series", { 1: ["count", "int"], 2: ["lastObservedTime", "microtime"] }],
    12: ["action", "string"],
    13: ["related", reference],
    14: ["reportingComponent", "string"],
    15: ["reportingInstance", "string"],
  },
  Lease: {
    1: ["metadata", metadata],
    2: [
      "spec",
      {
        1: ["holderIdentity", "string"],
        2: ["leaseDurationSeconds", "int!"],
        3: ["acquireTime", "microtime"],
        4: ["renewTime", "microtime"],
        5: ["leaseTransitions", "int!"],
      },
    ],
  },
  DeleteOptions: {
    1: ["gracePeriodSeconds", "int!"],
    2: ["preconditions", { 1: ["uid", "string"], 2: ["resourceVersion", "string"] }],
    3: ["orphanDependents", "bool"],
    4: ["propagationPolicy", "string"],
    5: ["dryRun", "texts"],
  },
};

const MAGIC = Buffer.from("k8s\0");
const envelope: Message = { 1: ["typeMeta", { 1: ["apiVersion", "string"], 2: ["kind", "string"] }], 2: ["raw", "bytes"] };

/** Undefined if its kind is not listed above. Throws a RangeError if the bytes are invalid. */
export function decodeProtobuf(bytes: Buffer): JsonObject | undefined {
  if (!bytes.subarray(0, 4).equals(MAGIC)) throw new RangeError("the body does not start with the Kubernetes protobuf prefix");
  const { typeMeta = {}, raw = Buffer.alloc(0) } = decode(bytes.subarray(4), envelope) as { typeMeta?: JsonObject; raw?: Buffer };
  const message = messages[String(typeMeta["kind"])];
  return message && { ...typeMeta, ...decode(raw, message) };
}

function decode(bytes: Buffer, message: Message): JsonObject {
  const object: JsonObject = {};
  for (let at = 0; at < bytes.length;) {
    const tag = varint(bytes, at);
    const [field, wire] = [Number(tag.value >> 3n), Number(tag.value & 7n)];
    const { value, end } = wireValue(bytes, tag.end, wire);
    at = end;
    const [name, shape] = message[field] ?? [];
    if (name !== undefined && shape !== undefined) put(object, name, shape, value);
  }
  return object;
}

function put(object: JsonObject, name: string, shape: Shape, value: bigint | Buffer): void {
  if (typeof value === "bigint") {
    if (shape === "bool") object[name] = value !== 0n;
    else if (shape === "int!" || (shape === "int" && value !== 0n)) object[name] = Number(BigInt.asIntN(64, value));
    return;
  }
  const list = () => (object[name] ??= []) as unknown[];
  if (Array.isArray(shape)) list().push(decode(value, shape[0]));
  else if (typeof shape === "object") object[name] = decode(value, shape);
  else if (shape === "texts") list().push(value.toString("utf8"));
  else if (shape === "textByKey" || shape === "bytesByKey") {
    const entry = decode(value, { 1: ["key", "string"], 2: ["value", "bytes"] }) as { key?: string; value?: Buffer };
    const text = (entry.value ?? Buffer.alloc(0)).toString(shape === "textByKey" ? "utf8" : "base64");
    // defineProperty, because a key may be __proto__.
    Object.defineProperty((object[name] ??= {}), entry.key ?? "", { value: text, enumerable: true, configurable: true, writable: true });
  } else {
    const scalar = scalarOf(shape, value);
    if (scalar !== undefined) object[name] = scalar;
  }
}

function scalarOf(shape: Shape, value: Buffer): unknown {
  switch (shape) {
    case "string":
      return value.length > 0 ? value.toString("utf8") : undefined;
    case "bytes":
      return value;
    case "time":
    case "microtime": {
      const { seconds, nanos = 0 } = decode(value, { 1: ["seconds", "int"], 2: ["nanos", "int"] }) as { seconds?: number; nanos?: number };
      // Go's zero time means no time.
      if (seconds === undefined || seconds < 0) return undefined;
      const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
      return shape === "time" ? `${whole}Z` : `${whole}.${String(Math.trunc(nanos / 1000)).padStart(6, "0")}Z`;
    }
    case "port": {
      const { number, text } = decode(value, { 2: ["number", "int"], 3: ["text", "string"] }) as { number?: number; text?: string };
      return text ?? number;
    }
    case "int":
    case "int!":
    case "bool":
    case "texts":
    case "bytesByKey":
    case "textByKey":
    default:
      return undefined;
  }
}

function wireValue(bytes: Buffer, at: number, wire: number): { value: bigint | Buffer; end: number } {
  if (wire === 0) return varint(bytes, at);
  const length = wire === 2 ? varint(bytes, at) : { value: wire === 1 ? 8n : 4n, end: at };
  const end = length.end + Number(length.value);
  if (![1, 2, 5].includes(wire) || end > bytes.length) throw new RangeError("the protobuf in the body is truncated");
  return { value: bytes.subarray(length.end, end), end };
}

function varint(bytes: Buffer, at: number): { value: bigint; end: number } {
  let value = 0n;
  for (let shift = 0n, end = at; shift < 70n; shift += 7n) {
    const byte = bytes[end++];
    if (byte === undefined) break;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return { value, end };
  }
  throw new RangeError("the protobuf in the body is truncated");
}
