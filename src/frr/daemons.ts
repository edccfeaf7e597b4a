import type { FrrVersion } from "./router.ts";

export type Daemon = "mgmtd" | "zebra" | "bgpd" | "bfdd" | "staticd";

/** The daemons of a router, in the order in which they start. */
export function daemonsOf(version: Pick<FrrVersion, "major">): readonly Daemon[] {
  return version.major >= 10 ? ["mgmtd", "zebra", "bgpd", "bfdd", "staticd"] : ["zebra", "bgpd", "bfdd", "staticd"];
}
