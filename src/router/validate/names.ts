import type { L2VNISpec } from "../model/specs.ts";
import { interfaceNameProblem } from "../../hostnet/interface-name.ts";
import { quote } from "../../ip/error.ts";
import type { FieldProblem } from "./field-error.ts";

/** What the kernel can call an interface and we are willing to. */
export function nameProblems(field: string, label: "Interface" | "VRF" | "Bridge", name: unknown): FieldProblem[] {
  if (typeof name !== "string" || name === "") return [{ field, message: `${label} name is empty` }];
  const problem = interfaceNameProblem(name);
  return problem === undefined ? [] : [{ field, message: `${label} name ${quote(name)} ${problem}` }];
}

/** Names that every router uses, or that mean something else in FRR. */
const TAKEN = /^(default|all|lo|lound)$/;

export function vrfFieldProblems(field: string, name: unknown): FieldProblem[] {
  const problems = nameProblems(field, "VRF", name);
  if (problems.length > 0 || !TAKEN.test(String(name))) return problems;
  return [{ field, message: `VRF name ${String(name)} is reserved for the router` }];
}

/** The VRF that an L2VNI belongs to; none if it is disconnected. */
export function vrfOf(name: string, { vrf, disconnected }: L2VNISpec): string | undefined {
  return vrf || (disconnected ? undefined : name);
}

/** The names that a VNI's links have in the router's namespace. */
export function vniLinkNames(vni: number, { veth }: { veth: boolean }): string[] {
  return [`vni${vni}`, `br-pe-${vni}`, ...(veth ? [`pe-${vni}`] : [])];
}
