import type { KubeError } from "../../kube/client/error.ts";
import { EXIT, exitCodeOf } from "../shared/exit.ts";

/** One thing that a server does not like about an object. */
export interface ApplyError {
  /** Empty where it blames none. */
  readonly field: string;
  readonly sentence: string;
}

/** What a server says no to, field by field; undefined when it has not said no but failed, or was not reached. */
export function applyErrors(error: KubeError): ApplyError[] | undefined {
  // Server-side apply answers a field that the schema does not have with an internal error.
  const [, untyped, why] = /failed to create typed patch object .*?: \.?(\S+): (.*)$/.exec(error.message) ?? [];
  if (untyped !== undefined)
    return [why === "field not declared in schema" ? noSuchField(untyped) : { field: untyped, sentence: `${untyped}: ${why}` }];
  if (exitCodeOf(error) === EXIT.unknown) return undefined;
  const unknown = Array.from(error.message.matchAll(/unknown field "([^"]+)"/g), ([, field = ""]) => field);
  if (unknown.length > 0) return unknown.map(noSuchField);

  const causes = (error.details?.causes ?? []).filter(({ field }) => field !== undefined && field !== "<nil>");
  if (causes.length === 0) return [{ field: "", sentence: error.message }];
  return causes.map(({ field = "", message = "", reason }) => {
    const path = field.replace(/^\./, "");
    return { field: path, sentence: reason === "FieldManagerConflict" ? conflict(path, message) : `${path}: ${message}` };
  });
}

function noSuchField(field: string): ApplyError {
  return { field, sentence: `${field}: unknown field` };
}

function conflict(field: string, message: string): string {
  const holder = /conflict with "([^"]*)"/.exec(message)?.[1] ?? message;
  return `${field} is owned by ${holder}: use --force-conflicts, or remove it from the manifest`;
}
