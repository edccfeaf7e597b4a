import { bgpNeighbors, type BgpNeighbor } from "../../frr/neighbors.ts";
import { bgpRoute, bgpTable, type BgpRoute } from "../../frr/routes.ts";
import type { ShowClient } from "../../frr/show-json.ts";
import type { NodePaths } from "../support-bundle/node-state.ts";
import { NODE_PATHS, type ReachableNode } from "../support-bundle/reachable-nodes.ts";
import { runOnNode, type RunOnNode } from "../support-bundle/run-on-node.ts";
import { kernelRoutes } from "./kernel-routes.ts";

/** What one FRR of a node and the kernel have. */
export interface InstanceRoutes {
  readonly node: string;
  readonly instance: "loadbalancer" | "router";
  readonly neighbors: readonly BgpNeighbor[];
  readonly routes: readonly BgpRoute[];
  /** As `VRF PREFIX`. */
  readonly kernel: ReadonlySet<string>;
}

/** Reads the routes to the targets, addresses or prefixes; all routes without one. */
export async function readRoutes(
  { name, run }: ReachableNode,
  targets: readonly string[] | undefined,
  signal: AbortSignal,
  paths: NodePaths = NODE_PATHS,
): Promise<InstanceRoutes[]> {
  const instances = [
    { instance: "loadbalancer", directory: paths.lbFrrRunDirectory, netns: paths.hostNetns },
    { instance: "router", directory: paths.frrRunDirectory, netns: paths.routerNetns },
  ] as const;
  const present = await runOnNode(
    run,
    instances.map(({ directory }) => ["test", "-S", `${directory}/bgpd.vty`]),
  );
  // A shell that cannot be had answers nothing; a socket that is not there ends the test with 1.
  const failed = present.find(({ code }) => code !== 0 && code !== 1);
  if (failed) throw new Error(failed.stderr.trim() || `the commands ended with ${failed.code}`);
  const running = instances.filter((_, at) => present[at]?.code === 0);
  return Promise.all(
    running.map(async ({ instance, directory, netns }) => {
      const frr = frrThrough(run, directory);
      const neighbors = await bgpNeighbors(frr, signal);
      const vrfs = [...new Set(neighbors.map(({ vrf }) => vrf))];
      const routes = await Promise.all(vrfs.map((vrf) => routesOf(frr, vrf, targets, signal)));
      const kernel = await kernelRoutes(run, netns);
      return { node: name, instance, neighbors, routes: routes.flat(), kernel };
    }),
  );
}

async function routesOf(frr: ShowClient, vrf: string, targets: readonly string[] | undefined, signal: AbortSignal): Promise<BgpRoute[]> {
  if (!targets) return [...(await bgpTable(frr, vrf, "IPv4", signal)), ...(await bgpTable(frr, vrf, "IPv6", signal))];
  const found = await Promise.all(targets.map((target) => bgpRoute(frr, vrf, target, signal)));
  return found.filter((route) => route !== undefined);
}

/** FRR's daemons by `vtysh` on the node. */
function frrThrough(run: RunOnNode, directory: string): ShowClient {
  return {
    vty: (daemon) =>
      Promise.resolve({
        async run(line) {
          const { code, stdout, stderr } = await run(["vtysh", "--vty_socket", directory, "-d", daemon, "-c", line]);
          if (code !== 0) throw new Error(`vtysh: ${stderr.trim() || stdout.trim() || `ended with ${code}`}`);
          return { status: 0, text: stdout };
        },
      }),
  };
}
