import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { apiVersionOf } from "../../api/kind.ts";
import { ApiError, badRequest } from "../store/api-error.ts";
import { readYaml } from "../manifests/yaml-value.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import { textAt } from "../kinds/json.ts";
import { decodeProtobuf } from "./protobuf.ts";

/** Returns the object in the stored version. */
export function decodeObject(kind: ServedKind, version: string, contentType: string | undefined, bytes: Buffer): JsonObject {
  const unrecognized = (why: string) =>
    badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): ${why} (${summary(bytes)})`);
  const body = parsed(bytes, mediaType(contentType), (why) => unrecognized(`couldn't get version/kind; json parse error: ${why}`));
  const requested = apiVersionOf({ ...kind, version });
  if (body !== null && !isObject(body)) {
    const struct = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    const found = Array.isArray(body) ? "array" : typeof body;
    throw unrecognized(`couldn't get version/kind; json parse error: json: cannot unmarshal ${found} into Go value of type ${struct}`);
  }
  // For built-in kinds, apiVersion and kind are optional.
  const object = kind.custom ? (body ?? {}) : { apiVersion: requested, kind: kind.kind, ...body };
  if (!textAt(object, "kind")) throw unrecognized(`Object 'Kind' is missing in '${bytes.toString("utf8")}'`);
  const [given, name] = [textAt(object, "apiVersion"), textAt(object, "kind")];
  if (!kind.custom && (given !== requested || name !== kind.kind)) {
    const why = `no kind "${name}" is registered for version "${given}" in ${requested}`;
    throw badRequest(`${name} in version "${given.split("/").at(-1)}" cannot be handled as a ${kind.kind}: ${why}`);
  }
  if (given !== requested) {
    throw badRequest(`the API version in the data (${given}) does not match the expected API version (${requested})`);
  }
  return { ...object, apiVersion: apiVersionOf(kind) };
}

/** Empty if there is no body. */
export function decodeOptions(contentType: string | undefined, bytes: Buffer): JsonObject {
  if (bytes.length === 0) return {};
  const options = parsed(bytes, mediaType(contentType), (why) => badRequest(`couldn't get version/kind; json parse error: ${why}`));
  if (!isObject(options)) throw badRequest("decoded object cannot be converted to DeleteOptions");
  return options;
}

export function mediaType(contentType: string | undefined): string {
  return (contentType ?? "application/json").split(";")[0]?.trim().toLowerCase() ?? "";
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`;
  return new ApiError(415, "UnsupportedMediaType", message);
}

function parsed(bytes: Buffer, type: string, unreadable: (why: string) => ApiError): unknown {
  try {
    if (type === "application/json") return JSON.parse(bytes.toString("utf8"));
    if (type === "application/yaml") return parsedYaml(bytes.toString("utf8"));
    const decoded = type === "application/vnd.kubernetes.protobuf" ? decodeProtobuf(bytes) : undefined;
    if (decoded) return decoded;
  } catch (error) {
    throw unreadable(error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error));
  }
  throw unsupportedMediaType(["application/json", "application/yaml"]);
}

function parsedYaml(text: string): unknown {
  const read = readYaml(text);
  if (read === "empty") return null;
  if ("flaw" in read) throw new Error(`yaml: line ${read.flaw.line + 1}: ${read.flaw.message}`);
  return read.value;
}

function summary(bytes: Buffer): string {
  if (bytes.length === 0) return "<empty>";
  const start = bytes.subarray(0, 30);
  const text = bytes[0] === 0x7b ? start.toString("utf8") : start.toString("hex");
  return bytes.length > 30 ? `${text} ...` : text;
}
