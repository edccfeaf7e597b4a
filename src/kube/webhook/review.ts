import type { FieldError } from "../../api/admission/field-error.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { Operation } from "./configuration.ts";

export type Review<T extends KubeObject> =
  | { operation: "CREATE"; object: T }
  | { operation: "UPDATE"; object: T; old: T }
  | { operation: "DELETE"; old: T };

export interface ReviewResult {
  /** Any error rejects the write. */
  errors?: readonly FieldError[];
  /** Shown to the user; the write succeeds. */
  warnings?: readonly string[];
}

/** `admission.k8s.io/v1`. */
export interface AdmissionRequest {
  uid: string;
  operation: Operation;
  name?: string;
  namespace?: string;
  object?: KubeObject | null;
  oldObject?: KubeObject | null;
}

interface AdmissionReview {
  apiVersion: "admission.k8s.io/v1";
  kind: "AdmissionReview";
  response: {
    uid: string;
    allowed: boolean;
    warnings?: string[];
    status?: { code: number; reason: string; message: string; details: object };
  };
}

/** The request is not an AdmissionReview. */
export class MalformedReview extends Error {
  override readonly name = "MalformedReview";
  readonly code = "Malformed";
  readonly status: number;

  constructor(message: string, { status = 400, ...options }: ErrorOptions & { status?: number } = {}) {
    super(message, options);
    this.status = status;
  }
}

export function parseReview(body: string): AdmissionRequest {
  let review: { apiVersion?: unknown; kind?: unknown; request?: Partial<AdmissionRequest> | null } | null;
  try {
    review = JSON.parse(body) as typeof review;
  } catch (cause) {
    throw new MalformedReview("The body is not JSON", { cause });
  }
  if (review?.apiVersion !== "admission.k8s.io/v1" || review.kind !== "AdmissionReview") {
    throw new MalformedReview("The body is not an AdmissionReview of admission.k8s.io/v1");
  }
  const { request } = review;
  if (typeof request?.uid !== "string" || typeof request.operation !== "string") {
    throw new MalformedReview("The AdmissionReview has no request with uid and operation");
  }
  return request as AdmissionRequest;
}

export function reviewOf({ operation, object, oldObject }: AdmissionRequest): Review<KubeObject> {
  if (operation === "CREATE" && object) return { operation, object };
  if (operation === "UPDATE" && object && oldObject) return { operation, object, old: oldObject };
  if (operation === "DELETE" && oldObject) return { operation, old: oldObject };
  throw new MalformedReview(`The AdmissionReview of a ${operation} lacks its object`);
}

/** All errors at once, sorted by field, in the API server's words. */
export function answer(kind: Kind, { uid, name = "" }: AdmissionRequest, { errors = [], warnings = [] }: ReviewResult): AdmissionReview {
  const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" } as const;
  const notes = warnings.length > 0 ? { warnings: warnings.map(headerSafe) } : {};
  if (errors.length === 0) return { ...review, response: { uid, allowed: true, ...notes } };

  const sorted = errors.toSorted((a, b) => a.field.localeCompare(b.field) || a.message.localeCompare(b.message));
  const texts = sorted.map(({ field, message }) => `${field}: ${message}`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const status = {
    code: 422,
    reason: "Invalid",
    message: `${kind.kind}${kind.group && `.${kind.group}`} "${name}" is invalid: ${list}`,
    details: { name, group: kind.group, kind: kind.kind, causes: sorted },
  };
  return { ...review, response: { uid, allowed: false, status, ...notes } };
}

/** Warnings are headers: one line, cut at 256 characters by API servers. */
function headerSafe(warning: string): string {
  return warning.replaceAll(/\p{Cc}+/gu, " ").slice(0, 256);
}
