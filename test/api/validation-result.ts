import { isDeepStrictEqual } from "node:util";
import { admit } from "../../src/api/admission/validation.ts";
import type { FieldError } from "../../src/api/admission/field-error.ts";
import type { WriteContext } from "../../src/api/admission/validation.ts";
import type { CustomKind } from "../../src/api/define-kind.ts";
import { apiVersionOf, type KubeObject } from "../../src/api/kind.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { KubeError, isKubeError } from "../../src/kube/client/error.ts";

/** An object that is written, and what it replaces. */
export type WrittenObject = WriteContext & { readonly object: KubeObject };

/** What became of an object: refused with these errors, or stored like this. */
export interface AdmissionResult {
  errors: FieldError[];
  unknownFields: string[];
  stored?: object;
}

export function ourResult(kind: CustomKind, { object, ...write }: WrittenObject): AdmissionResult {
  const { object: admitted, errors, unknownFields } = admit(kind, object, write);
  return { errors: sorted(errors), unknownFields: [...unknownFields], ...(errors.length === 0 && { stored: withoutMetadata(admitted) }) };
}

export async function serverResult(
  client: KubeClient,
  kind: CustomKind,
  written: WrittenObject,
  signal: AbortSignal,
): Promise<AdmissionResult> {
  // A strict write names the fields that a lenient one drops; where there are none the two are the same.
  const strict = await answer(client, kind, written, "Strict", signal);
  if (!isKubeError(strict, "BadRequest")) return verdict(strict, []);
  const unknown = [...strict.message.matchAll(/unknown field "((?:[^"\\]|\\.)*)"/g)].map(([, field]) => field ?? "");
  return verdict(await answer(client, kind, written, "Ignore", signal), unknown.sort());
}

/** What is needed to see where the two differ, and no more. */
export function difference({ object, old, subresource }: WrittenObject, ours: AdmissionResult, theirs: AdmissionResult): object {
  const only = (verdict: AdmissionResult, other: AdmissionResult) => ({
    errors: verdict.errors.filter((error) => !other.errors.some((same) => isDeepStrictEqual(same, error))),
    ...(!isDeepStrictEqual(verdict.unknownFields, other.unknownFields) && { unknownFields: verdict.unknownFields }),
    ...(!isDeepStrictEqual(verdict.stored, other.stored) && { stored: verdict.stored }),
  });
  const replaced = old && { old: withoutMetadata(old) };
  return { written: withoutMetadata(object), ...replaced, subresource, onlyOurs: only(ours, theirs), onlyTheirs: only(theirs, ours) };
}

/** What the server says to a write that it is asked not to keep. */
async function answer(
  client: KubeClient,
  kind: CustomKind,
  { object, old, subresource }: WrittenObject,
  fieldValidation: string,
  signal: AbortSignal,
): Promise<object> {
  const all = `/apis/${apiVersionOf(kind)}/namespaces/default/${kind.plural}`;
  const one = `${all}/${object.metadata.name}${subresource ? `/${subresource}` : ""}`;
  try {
    return await client.request(old ? "PUT" : "POST", old ? one : all, { body: object, query: { dryRun: "All", fieldValidation }, signal });
  } catch (error) {
    if (isKubeError(error, "Invalid", "BadRequest")) return error;
    throw error;
  }
}

function verdict(answer: object, unknownFields: string[]): AdmissionResult {
  if (!(answer instanceof KubeError)) return { errors: [], unknownFields, stored: withoutMetadata(answer) };
  return { errors: sorted((answer.details?.causes ?? []) as FieldError[]), unknownFields };
}

function withoutMetadata(object: object): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== "metadata"));
}

function sorted(errors: readonly FieldError[]): FieldError[] {
  const plain = errors.map(({ reason, field, message }) => ({ reason, field, message }));
  return plain.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
