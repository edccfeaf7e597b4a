const NAME = /^[A-Za-z][A-Za-z0-9._-]*$/;
const OBJECT = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Why this is no name of an interface or VRF that the kernel could have and that we are willing to write into FRR. */
export function interfaceProblem(name: string): string | undefined {
  if (name.length > 15) return "it has more than 15 characters";
  return NAME.test(name) ? undefined : 'it must start with a letter and have only letters, digits, ".", "_" and "-" in it';
}

/** As for an interface; and these are FRR's own words. */
export function vrfProblem(name: string): string | undefined {
  return ["default", "all"].includes(name) ? "it means something else to FRR" : interfaceProblem(name);
}

export function isObjectName(name: string): boolean {
  return OBJECT.test(name);
}
