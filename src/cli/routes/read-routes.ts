import { bgpNeighbors, type BgpNeighbor } from "../../frr/neighbors.ts";
import { bgpRoute, bgpTable, type BgpRoute } from "../../frr/routes.ts";
import { list, record, text, type ShowClient } from "../../frr/show-json.ts";
import type { NodePaths } from "../support-bundle/node-state.ts";
import { NODE_PATHS, type ReachableNode } from "../support-bundle/reachable-nodes.ts";
import { runOnNode, type RunOnNode } from "../support-bundle/run-on-node.ts";

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

/** The routes of all VRFs of a network namespace, as `VRF PREFIX`; those of the main table are of VRF `default`. */
async function kernelRoutes(run: RunOnNode, netns: string | undefined): Promise<ReadonlySet<string>> {
  const ip = ["ip", ...(netns === undefined ? [] : ["-n", netns]), "-j", "-d"];
  const [four, six, links] = await runOnNode(run, [
    [...ip, "-4", "route", "show", "table", "all"],
    [...ip, "-6", "route", "show", "table", "all"],
    [...ip, "link", "show", "type", "vrf"],
  ]);
  const vrfs = new Map(list(parsed(links?.stdout)).map((link) => [tableOf(link), text(record(link)["ifname"]) ?? ""]));
  vrfs.set("main", "default");
  return new Set([...routesIn(parsed(four?.stdout), 32, vrfs), ...routesIn(parsed(six?.stdout), 128, vrfs)]);
}

function* routesIn(answer: unknown, bits: number, vrfs: ReadonlyMap<string, string>): Iterable<string> {
  for (const route of list(answer).map(record)) {
    const [vrf, prefix] = [vrfs.get(tableName(route["table"]) ?? "main"), text(route["dst"])];
    if (vrf === undefined || prefix === undefined || (text(route["type"]) ?? "unicast") !== "unicast") continue;
    const whole = prefix === "default" ? (bits === 32 ? "0.0.0.0/0" : "::/0") : prefix;
    yield `${vrf} ${whole.includes("/") ? whole : `${whole}/${bits}`}`;
  }
}

function tableOf(link: unknown): string {
  return tableName(record(record(record(link)["linkinfo"])["info_data"])["table"]) ?? "";
}

/** Of a table without a name, its number. */
function tableName(value: unknown): string | undefined {
  return typeof value === "number" ? value.toString() : text(value);
}

/** Nothing at all is how `ip -j` says that there is none. */
function parsed(output = ""): unknown {
  return output.trim() === "" ? [] : JSON.parse(output);
}
