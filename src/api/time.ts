/** `metav1.Time`, in whole seconds. */
export function metaTime(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

/** `metav1.MicroTime` of Leases. The API server requires exactly six fraction digits. */
export function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
