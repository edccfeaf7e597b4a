import type { Failure } from "../../resilience/failure.ts";
import type { Step } from "../step.ts";
import type { LostLine, Refusal } from "../backends.ts";

/** So many lines name what is wrong well enough. */
const MOST_SAID = 5;

export function applicationFailed({ kind, name, namespace }: Step, { message }: Refusal): Failure {
  return { kind, name, namespace, reason: "ApplicationFailed", field: "", message, class: "Transient" };
}

export function cannotGo(owner: string, { message }: Refusal): Failure {
  return ofOwner(owner, `It cannot be removed: ${message}`);
}

export function cannotRestore(owner: string, { message }: Refusal): Failure {
  return ofOwner(owner, `The last good form cannot be restored: ${message}`);
}

/** Lines that FRR accepted, and does not show when it is asked for its configuration. */
export function doesNotLast(owner: string, lines: readonly LostLine[]): Failure {
  const said = lines.slice(0, MOST_SAID).map(({ line }) => `"${line}"`);
  const more = lines.length > said.length ? ` and ${lines.length - said.length} more` : "";
  return ofOwner(owner, `FRR took ${said.join(", ")}${more} and does not have ${lines.length === 1 ? "it" : "them"}`);
}

function ofOwner(owner: string, message: string): Failure {
  const [kind = "", name = ""] = owner.split("/");
  return { kind, name, namespace: "", reason: "ApplicationFailed", field: "", message, class: "Transient" };
}
