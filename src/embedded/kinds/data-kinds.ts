import { forbidden, invalid, type FieldError } from "../../api/admission/field-error.ts";
import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { goKind, same, Undecodable, without } from "./json.ts";
import type { StoredObject } from "./served-kind.ts";

const keyPattern = "[-._a-zA-Z0-9]+";
const keyProblem = `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '${keyPattern}')`;
const validKey = new RegExp(`^${keyPattern}$`);
const immutable = "field is immutable when `immutable` is set";

export function decodeConfigMap(content: JsonObject): void {
  texts("ConfigMap.data", "string", content["data"]);
  base64("ConfigMap.binaryData", content["binaryData"]);
}

export function decodeSecret(content: JsonObject): void {
  base64("Secret.data", content["data"]);
  texts("Secret.stringData", "string", content["stringData"]);
}

function texts(field: string, type: string, data: unknown): string[] {
  if (data === undefined) return [];
  if (!isObject(data))
    throw new Undecodable(`json: cannot unmarshal ${goKind(data)} into Go struct field ${field} of type map[string]${type}`);
  return Object.values(data).map((value) => {
    if (typeof value === "string") return value;
    throw new Undecodable(`json: cannot unmarshal ${goKind(value)} into Go struct field ${field} of type ${type}`);
  });
}

function base64(field: string, data: unknown): void {
  for (const text of texts(field, "[]uint8", data)) {
    const clean = text.replaceAll(/[\r\n]/g, "");
    const wrong = /[^A-Za-z0-9+/=]/.exec(clean);
    if (wrong ?? clean.length % 4)
      throw new Undecodable(`illegal base64 data at input byte ${wrong?.index ?? clean.length - (clean.length % 4)}`);
  }
}

export function checkData(object: StoredObject, stored: StoredObject | undefined): FieldError[] {
  const frozen = stored?.["immutable"] === true;
  const changed = (name: string) => frozen && !same(object[name] ?? {}, stored[name] ?? {});
  return [
    ...(frozen && object["immutable"] !== true ? [forbidden("immutable", immutable)] : []),
    ...["data", "binaryData"].filter(changed).map((name) => forbidden(name, immutable)),
    ...["data", "binaryData"].flatMap((name) => badKeys(object, name)),
  ];
}

function badKeys(object: StoredObject, name: string): FieldError[] {
  const data = object[name];
  if (!isObject(data)) return [];
  const bad = Object.keys(data).filter((key) => !validKey.test(key));
  return bad.map((key) => invalid(`${name}[${key}]`, key, keyProblem));
}

export function checkSecret(object: StoredObject, stored: StoredObject | undefined): FieldError[] {
  const retyped = stored !== undefined && stored["type"] !== object["type"];
  return [...(retyped ? [invalid("type", object["type"], "field is immutable")] : []), ...checkData(object, stored)];
}

export function completeConfigMap(object: StoredObject): StoredObject {
  const empty = ["data", "binaryData"].filter((name) => isObject(object[name]) && Object.keys(object[name]).length === 0);
  return empty.length === 0 ? object : (without(object, ...empty) as StoredObject);
}

/** stringData is write-only. */
export function completeSecret(object: StoredObject): StoredObject {
  const { stringData } = object;
  const type = object["type"] || "Opaque";
  if (!isObject(stringData)) return completeConfigMap({ ...object, type });
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString("base64")] as const);
  const data = Object.fromEntries([...Object.entries(isObject(object["data"]) ? object["data"] : {}), ...encoded]);
  return completeConfigMap({ ...(without(object, "stringData") as StoredObject), data, type });
}
