import { goQuote, goValue } from "./go-text.ts";
import { plural } from "../../util/text.ts";

/** An entry of `details.causes`, in the API server's words. */
export interface FieldError {
  readonly reason: FieldErrorReason;
  /** `spec.hostsession.asn`, `status.conditions[0].type`; `<nil>` if the error has no field. */
  readonly field: string;
  /** `Invalid value: 0: spec.vni in body should be greater than or equal to 1`. */
  readonly message: string;
}

export type FieldErrorReason =
  | "FieldValueInvalid"
  | "FieldValueTypeInvalid"
  | "FieldValueRequired"
  | "FieldValueNotSupported"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueDuplicate"
  | "FieldValueForbidden";

/** Stands for a value that is too large to print. */
export const omitted = Symbol("omitted");

const named = (field: string) => field || "<nil>";
const withValue = (label: string, value: unknown) => (value === omitted ? label : `${label}: ${goValue(value)}`);

export function invalid(field: string, value: unknown, detail: string): FieldError {
  return { reason: "FieldValueInvalid", field: named(field), message: `${withValue("Invalid value", value)}: ${detail}` };
}

export function typeInvalid(field: string, value: string, detail: string): FieldError {
  return { reason: "FieldValueTypeInvalid", field: named(field), message: `Invalid value: ${goQuote(value)}: ${detail}` };
}

export function required(field: string, detail?: string): FieldError {
  return { reason: "FieldValueRequired", field: named(field), message: detail ? `Required value: ${detail}` : "Required value" };
}

export function forbidden(field: string, detail: string): FieldError {
  return { reason: "FieldValueForbidden", field: named(field), message: `Forbidden: ${detail}` };
}

export function unsupported(field: string, value: unknown, values: readonly string[]): FieldError {
  return {
    reason: "FieldValueNotSupported",
    field: named(field),
    message: `Unsupported value: ${goValue(value)}: supported values: ${values.map(goQuote).join(", ")}`,
  };
}

export function tooLong(field: string, max: number): FieldError {
  return {
    reason: "FieldValueTooLong",
    field: named(field),
    message: `Too long: may not be more than ${plural(max, "byte")}`,
  };
}

export function tooMany(field: string, count: number, max: number): FieldError {
  return {
    reason: "FieldValueTooMany",
    field: named(field),
    message: `Too many: ${count}: must have at most ${plural(max, "item")}`,
  };
}

export function duplicate(field: string, value: unknown): FieldError {
  return { reason: "FieldValueDuplicate", field: named(field), message: withValue("Duplicate value", value) };
}
