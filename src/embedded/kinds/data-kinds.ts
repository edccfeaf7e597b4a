import { forbidden, invalid, type FieldError } from "../../api/admission/field-error.ts";
import { isObject } from "../../api/admission/value.ts";
import { same, without } from "../objects/json.ts";
import type { StoredObject } from "./served-kind.ts";

const keyPattern = "[-._a-zA-Z0-9]+";
const keyComplaint = `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '${keyPattern}')`;
const validKey = new RegExp(`^${keyPattern}$`);
const immutable = "field is immutable when `immutable` is set";

/** What is wrong with the data of a ConfigMap or Secret. */
export function checkData(object: StoredObject, held: StoredObject | undefined): FieldError[] {
  const frozen = held?.["immutable"] === true;
  const changed = (name: string) => frozen && !same(object[name] ?? {}, held[name] ?? {});
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
  return bad.map((key) => invalid(`${name}[${key}]`, key, keyComplaint));
}

export function checkSecret(object: StoredObject, held: StoredObject | undefined): FieldError[] {
  const retyped = held !== undefined && held["type"] !== object["type"];
  return [...(retyped ? [invalid("type", object["type"], "field is immutable")] : []), ...checkData(object, held)];
}

/** stringData is only a way to write data. */
export function completeSecret(object: StoredObject): StoredObject {
  const { stringData } = object;
  const type = object["type"] || "Opaque";
  if (!isObject(stringData)) return { ...object, type };
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString("base64")]);
  const data = { ...(isObject(object["data"]) ? object["data"] : {}), ...Object.fromEntries(encoded) };
  return { ...(without(object, "stringData") as StoredObject), data, type };
}
