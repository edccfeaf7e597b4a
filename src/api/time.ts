/** The times of the API: `metav1.Time`, in whole seconds. */
export function metaTime(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

/** `metav1.MicroTime`, that of Leases. The API server takes exactly six fraction digits and answers a Date's own three with an error. */
export function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
