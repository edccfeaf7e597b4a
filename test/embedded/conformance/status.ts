import type { JsonObject } from "../../../src/api/admission/value.ts";
import type { Answer } from "./servers.ts";

/** The Status of a refusal, in full. */
const failure = (code: number, reason: string, message: unknown, details?: JsonObject) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message,
  reason,
  ...(details && { details }),
  code,
});
export const statusOfError = ({ status, json }: Answer) => ({ http: status, json });
export const errorStatus = (code: number, reason: string, message: unknown, details?: JsonObject) => ({
  http: code,
  json: failure(code, reason, message, details),
});

export const bad = (message: string) => errorStatus(400, "BadRequest", message);

export const name = (...causes: [reason: string, message: string, field: string][]) =>
  causes.map(([reason, message, field]) => ({ reason, message, field }));
export const options = (kind: string, field: string, message: string, reason = "FieldValueNotSupported") =>
  errorStatus(422, "Invalid", `${kind}.meta.k8s.io "" is invalid: ${field}: ${message}`, {
    group: "meta.k8s.io",
    kind,
    causes: name([reason, message, field]),
  });
