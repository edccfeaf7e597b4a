const NAME = /^[A-Za-z][A-Za-z0-9._-]*$/;

/** Up to 15 characters, a letter first. */
export function interfaceNameProblem(name: string): string | undefined {
  if (name.length > 15) return "has more than 15 characters";
  return NAME.test(name) ? undefined : 'must start with a letter and have only letters, digits, ".", "_" and "-" in it';
}
