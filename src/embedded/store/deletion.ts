import type { ObjectMeta } from "../../api/kind.ts";
import { isNamespace, type ServedKind } from "../kinds/served-kind.ts";

export type PropagationPolicy = "Background" | "Foreground" | "Orphan";

/** Set until the dependents are orphaned. */
export const ORPHAN = "orphan";
/** Set until the dependents are deleted. */
export const FOREGROUND = "foregroundDeletion";

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

/** Whether nothing blocks the deletion. A namespace must be empty. */
export function isFinished(kind: ServedKind, { deletionTimestamp, finalizers }: ObjectMeta): boolean {
  return deletionTimestamp !== undefined && !finalizers?.length && !isNamespace(kind);
}
