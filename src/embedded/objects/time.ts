/** The moment as Kubernetes stamps it: whole seconds. */
export function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, "Z");
}
