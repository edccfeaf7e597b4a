import type { FieldError } from "../../api/admission/field-error.ts";
import type { Kind, ObjectMeta } from "../../api/kind.ts";
import type { StatusDetails } from "../../kube/client/error.ts";

/** An error of the embedded API, in the words of the kube-apiserver. */
export class ApiError extends Error {
  override readonly name = "ApiFault";
  readonly code: number;
  /** A few errors of the kube-apiserver have none. */
  readonly reason: string | undefined;
  readonly details: StatusDetails | undefined;
  /** The token with which an expired list can continue. */
  continueWith: string | undefined;
  /** Sent as Warning headers. */
  warnings: readonly string[] = [];

  constructor(code: number, reason: string | undefined, message: string, details?: StatusDetails, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  warning(warnings: readonly string[]): this {
    this.warnings = warnings;
    return this;
  }

  toStatus(): object {
    const { message, reason, details, code, continueWith } = this;
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: continueWith === undefined ? {} : { continue: continueWith },
      status: "Failure",
      message,
      ...(reason !== undefined && { reason }),
      ...(details && { details }),
      code,
    };
  }
}

/** `configmaps`, `l3vnis.openpe.openperouter.github.io`. */
export function resourceName({ plural, group }: Pick<Kind, "plural" | "group">): string {
  return group === "" ? plural : `${plural}.${group}`;
}

const groupDetails = ({ group }: Pick<Kind, "group">) => (group === "" ? {} : { group });
const resourceDetails = (kind: Kind, name: string): StatusDetails => ({ ...(name && { name }), ...groupDetails(kind), kind: kind.plural });

export function notFound(kind: Kind, name: string): ApiError {
  return new ApiError(404, "NotFound", `${resourceName(kind)} "${name}" not found`, resourceDetails(kind, name));
}

export function alreadyExists(kind: Kind, { name, generateName }: Pick<ObjectMeta, "name" | "generateName">, deleting: boolean): ApiError {
  const unlucky = generateName ? ", the server was not able to generate a unique name for the object" : "";
  const message = `${deleting ? "object is being deleted: " : ""}${resourceName(kind)} "${name}" already exists${unlucky}`;
  const details = { ...resourceDetails(kind, name), ...(generateName && { retryAfterSeconds: 1 }) };
  return new ApiError(409, "AlreadyExists", message, details);
}

export function conflict(kind: Kind, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${resourceName(kind)} "${name}": ${why}`;
  return new ApiError(409, "Conflict", message, resourceDetails(kind, name));
}

/** With the kind where other errors have the resource. */
export function preconditionFailed({ kind, group }: Kind, name: string, why: string): ApiError {
  return conflict({ kind, group, plural: kind, version: "", scope: "Cluster" }, name, why);
}

export function forbidden(kind: Kind, name: string, why: string, more: Pick<StatusDetails, "causes"> = {}): ApiError {
  const message = `${resourceName(kind)} "${name}" is forbidden: ${why}`;
  return new ApiError(403, "Forbidden", message, { ...resourceDetails(kind, name), ...more });
}

/** `subject` is usually the kind; for options of a request it is their kind. */
export function invalid(subject: { kind: string; group: string }, name: string, errors: readonly FieldError[]): ApiError {
  const { kind, group } = subject;
  const message = `${group === "" ? kind : `${kind}.${group}`} "${name}" is invalid: ${aggregate(errors)}`;
  const causes = errors.map(({ reason, message, field }) => ({ reason, message, field }));
  return new ApiError(422, "Invalid", message, { ...(name && { name }), ...groupDetails(subject), ...(kind && { kind }), causes });
}

function aggregate(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(({ field, message }) => `${field}: ${message}`))];
  return texts.length === 1 ? `${texts[0]}` : `[${texts.join(", ")}]`;
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, "BadRequest", message);
}

export function methodNotAllowed(kind: Kind, verb: string): ApiError {
  const message = `${verb} is not supported on resources of kind "${resourceName(kind)}"`;
  return new ApiError(405, "MethodNotAllowed", message, { ...groupDetails(kind), kind: kind.plural });
}

/** The requested revision is no longer stored. */
export function expired(message: string, continueWith?: string): ApiError {
  const fault = new ApiError(410, "Expired", message);
  fault.continueWith = continueWith;
  return fault;
}

/** The requested revision is newer than the store. */
export function tooLargeResourceVersion(requested: number, current: number): ApiError {
  return new ApiError(504, "Timeout", `Timeout: Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
}

/** `why` is a sentence for the user. */
export function internalError(why: string, cause?: unknown): ApiError {
  return new ApiError(500, "InternalError", `Internal error occurred: ${why}`, { causes: [{ message: why }] }, cause);
}
