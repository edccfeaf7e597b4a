/** What is wrong with one field of a resource. */
export interface Complaint {
  readonly field: string;
  readonly message: string;
  /** Present where it can pass without a change of the object. */
  readonly transient?: true;
}

/** A whole number from min to max, or a complaint about it. */
export function numberComplaints(field: string, words: string, value: number | undefined, min: number, max: number): Complaint[] {
  if (value === undefined) return [{ field, message: `${words} is missing; it is a number from ${min} to ${max}` }];
  if (Number.isInteger(value) && value >= min && value <= max) return [];
  return [{ field, message: `${words} ${value} is not a whole number from ${min} to ${max}` }];
}

export const AS_NUMBER = { min: 1, max: 4_294_967_295 } as const;

export function complaintIf(wrong: boolean, field: string, message: () => string): Complaint[] {
  return wrong ? [{ field, message: message() }] : [];
}
