import { interfaceNameProblem } from "../../hostnet/interface-name.ts";

const OBJECT = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** As for an interface, and without FRR's keywords. */
export function vrfProblem(name: string): string | undefined {
  return ["default", "all"].includes(name) ? "is reserved by FRR" : interfaceNameProblem(name);
}

export function isObjectName(name: string): boolean {
  return OBJECT.test(name);
}
