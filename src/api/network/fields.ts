import { claims } from "../claims.ts";
import { s } from "../schema.ts";

/** What all kinds of the group have in common. */
export const NETWORK = {
  group: "network.openperouter.io",
  version: "v1alpha1",
  scope: "Namespaced",
  categories: ["plumbline", "openperouter"],
} as const;

export const AGE = { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." } as const;

export function claimsStatus() {
  return s.object({ claims: s.optional(claims()) }, { doc: "The state of this object in the cluster, written by the controller." });
}

export function vrf(doc: string) {
  return s.string({ doc, minLength: 1, maxLength: 15, pattern: "^[a-zA-Z][a-zA-Z0-9_-]*$" });
}

export function vni(doc: string) {
  return s.int({ doc, minimum: 1, maximum: 16_777_215 });
}

export function vxlanPort() {
  return s.default(
    s.int({ doc: "The UDP port of the VXLAN tunnel, the same on every VTEP of the fabric.", minimum: 1, maximum: 65_535 }),
    4789,
  );
}

export function underlayAddressFamily() {
  return s.enum(["IPv4", "IPv6"], { doc: "The address family of the VXLAN tunnels. Default: that of the Underlay's VTEP." });
}
