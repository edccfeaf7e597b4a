import type { Failure } from "../resilience/failure.ts";
import type { ResourceStep } from "./step.ts";
import type { LostLine, BackendError } from "./backends.ts";

const MAX_LISTED = 5;

export function applicationFailed({ kind, name, namespace }: ResourceStep, { message }: BackendError): Failure {
  return { kind, name, namespace, reason: "ApplicationFailed", field: "", message, class: "Transient" };
}

export function removalFailed(owner: string, { message }: BackendError): Failure {
  return ofOwner(owner, `Removal failed: ${message}`);
}

export function cannotRestore(owner: string, { message }: BackendError): Failure {
  return ofOwner(owner, `Cannot restore the last good version: ${message}`);
}

/** Lines that FRR accepted, but that its running configuration does not show. */
export function linesLost(owner: string, lines: readonly LostLine[]): Failure {
  const listed = lines.slice(0, MAX_LISTED).map(({ line }) => `"${line}"`);
  const more = lines.length > listed.length ? ` and ${lines.length - listed.length} more` : "";
  const are = lines.length === 1 ? "it is" : "they are";
  return ofOwner(owner, `FRR accepted ${listed.join(", ")}${more} but ${are} missing from the running configuration`);
}

function ofOwner(owner: string, message: string): Failure {
  const [kind = "", name = ""] = owner.split("/");
  return { kind, name, namespace: "", reason: "ApplicationFailed", field: "", message, class: "Transient" };
}
