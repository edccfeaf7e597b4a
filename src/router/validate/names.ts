import { interfaceNameProblem } from "../../hostnet/interface-name.ts";
import { quote } from "../../ip/error.ts";
import type { Complaint } from "./field-error.ts";

/** What the kernel can call an interface and we are willing to. */
export function nameComplaints(field: string, words: "Interface" | "VRF" | "Bridge", name: unknown): Complaint[] {
  if (typeof name !== "string" || name === "") return [{ field, message: `${words} name is empty` }];
  const problem = interfaceNameProblem(name);
  return problem === undefined ? [] : [{ field, message: `${words} name ${quote(name)} ${problem}` }];
}

/** Names that every router uses, or that mean something else in FRR. */
const TAKEN = /^(default|all|lo|lound)$/;

export function vrfComplaints(field: string, name: unknown): Complaint[] {
  const complaints = nameComplaints(field, "VRF", name);
  if (complaints.length > 0 || !TAKEN.test(String(name))) return complaints;
  return [{ field, message: `VRF name ${String(name)} is taken by the router itself` }];
}
