import { s } from "../schema.ts";

export function nodeSelector() {
  return s.labelSelector({ doc: "Selects nodes by their labels. Missing or empty: every node." });
}

export function underlayAddressFamily() {
  return s.enum(["ipv4", "ipv6"], { doc: "The address family of the VXLAN tunnels. Default: that of the Underlay's VTEP." });
}
