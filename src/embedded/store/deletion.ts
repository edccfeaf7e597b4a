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
