export interface FieldProblem {
  readonly field: string;
  readonly message: string;
  /** Present where it can pass without a change of the object. */
  readonly transient?: true;
}

/** A whole number from min to max, or a problem. */
export function numberProblems(field: string, text: string, value: number | undefined, min: number, max: number): FieldProblem[] {
  if (value === undefined) return [{ field, message: `${text} is required: a whole number from ${min} to ${max}` }];
  if (Number.isInteger(value) && value >= min && value <= max) return [];
  return [{ field, message: `${text} ${value} is not a whole number from ${min} to ${max}` }];
}

/** Fields whose name in the object differs from ours, by our name. */
export type WrittenAs = ReadonlyMap<string, string>;

/** The name of a setting as the object has it. */
export function nameIn(writtenAs: WrittenAs, field: string): string {
  const written = writtenAs.get(field) ?? field;
  return written.slice(written.lastIndexOf(".") + 1);
}

export const AS_NUMBER = { min: 1, max: 4_294_967_295 } as const;

export function problemIf(wrong: boolean, field: string, message: () => string): FieldProblem[] {
  return wrong ? [{ field, message: message() }] : [];
}
