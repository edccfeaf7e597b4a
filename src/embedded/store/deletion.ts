import type { ObjectMeta } from "../../api/kind.ts";
import { isNamespace, type ServedKind } from "../kinds/served-kind.ts";

export type PropagationPolicy = "Background" | "Foreground" | "Orphan";

/** Held by the collector until the dependents are freed. */
export const ORPHAN = "orphan";
/** Held by the collector until the dependents are gone. */
export const FOREGROUND = "foregroundDeletion";

/** The finalizers that hold an object once it is to be deleted. */
export function deletionFinalizers(stored: readonly string[], orphansByDefault: boolean, policy: PropagationPolicy | undefined): string[] {
  const others = stored.filter((name) => name !== ORPHAN && name !== FOREGROUND);
  const propagation = policy ?? earlierChoice(stored) ?? (orphansByDefault ? "Orphan" : "Background");
  if (propagation === "Orphan") return [...others, ORPHAN];
  return propagation === "Foreground" ? [...others, FOREGROUND] : others;
}

function earlierChoice(finalizers: readonly string[]): PropagationPolicy | undefined {
  if (finalizers.includes(ORPHAN)) return "Orphan";
  return finalizers.includes(FOREGROUND) ? "Foreground" : undefined;
}

/** Nothing holds it any more. A namespace is held by what is in it. */
export function isFinished(kind: ServedKind, { deletionTimestamp, finalizers }: ObjectMeta): boolean {
  return deletionTimestamp !== undefined && !finalizers?.length && !isNamespace(kind);
}
