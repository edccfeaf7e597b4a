import type { CustomKind, Stored } from "../define-kind.ts";
import { applyDefaults } from "./defaulting.ts";
import type { FieldError } from "./field-error.ts";
import { prune, unknownFields } from "./pruning.ts";
import { validate, type WriteContext } from "./validation.ts";

export interface Admission<T> {
  /** What would be stored, were there no errors. */
  readonly object: T;
  readonly errors: readonly FieldError[];
  /** The fields that were dropped because the kind does not have them. */
  readonly unknownFields: readonly string[];
}

/** What the API server makes of an object that is written: defaults filled, unknown fields dropped, the other half kept, and judged. */
export function admit<K extends CustomKind>(kind: K, written: object, write: WriteContext = {}): Admission<Stored<K>> {
  const whole = prune(kind, applyDefaults(kind, written));
  const object = kind.schema.properties["status"] ? onlyTheirHalf(whole, write) : whole;
  return { object: object as Stored<K>, errors: validate(kind, object, write), unknownFields: unknownFields(kind, written) };
}

/** A write of the main resource cannot change the status, and one of the status can change nothing else. */
function onlyTheirHalf(object: object, { old = {}, subresource }: WriteContext): object {
  const [base, statusFrom] = subresource === "status" ? [old, object] : [object, old];
  const rest = Object.fromEntries(Object.entries(base).filter(([name]) => name !== "status"));
  return "status" in statusFrom ? { ...rest, status: statusFrom.status } : rest;
}
