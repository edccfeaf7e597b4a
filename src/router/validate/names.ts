import { quote } from "../../ip/error.ts";
import type { Complaint } from "./complaint.ts";

const NAME = /^[A-Za-z][A-Za-z0-9._-]*$/;

/** What the kernel can call an interface and we are willing to: up to 15 characters, a letter first. */
export function nameComplaints(field: string, words: "Interface" | "VRF" | "Bridge", name: unknown): Complaint[] {
  if (typeof name !== "string" || name === "") return [{ field, message: `${words} name is empty` }];
  if (name.length > 15) return [{ field, message: `${words} name ${quote(name)} has more than 15 characters` }];
  if (NAME.test(name)) return [];
  return [
    { field, message: `${words} name ${quote(name)} must start with a letter and have only letters, digits, ".", "_" and "-" in it` },
  ];
}

/** Names that mean something else in the router's namespace, or in FRR. */
const TAKEN = /^(default|all|lo|lound|pt-ns|(vni|br-pe-|pe-)[0-9]+)$/;

export function vrfComplaints(field: string, name: unknown): Complaint[] {
  const complaints = nameComplaints(field, "VRF", name);
  if (complaints.length > 0 || !TAKEN.test(String(name))) return complaints;
  return [{ field, message: `VRF name ${String(name)} is taken by the router itself` }];
}
