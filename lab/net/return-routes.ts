import type { RemoteProcess } from "../machine/machine.ts";
import type { LabHost } from "./lab-host.ts";
import { TENANT_RETURN_ROUTE } from "./tenant.ts";
import type { Topology } from "./topology.ts";

/** The router's end of the lab's L3Passthrough. */
const PASSTHROUGH_ROUTER = "192.169.12.1";

/** Keeps a node's routes to the clients behind its router: the load balancer accepts no routes from its peers. */
export function keepReturnRoutes(host: LabHost, { tors }: Topology): RemoteProcess {
  const routes = [...tors.map(({ clientNetwork }) => ({ network: clientNetwork, via: PASSTHROUGH_ROUTER })), TENANT_RETURN_ROUTE];
  const lines = routes.map(({ network, via }) => `ip route show ${network} | grep -q . || ip route add ${network} via ${via} 2>/dev/null`);
  // The links come with the router, and new ones when a person deletes them.
  return host.start(["sh", "-c", `while sleep 3; do ${lines.join("; ")}; done`]);
}
