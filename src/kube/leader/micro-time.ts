/** The time form of Leases. The API server takes exactly six fraction digits and answers a Date's own three with an error. */
export function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
