import { hostname } from "node:os";
import { type Command, Option } from "commander";
import { Service } from "../../api/core/service.ts";
import { addressOf } from "../../ip/address.ts";
import { parseMaskedPrefix } from "../../ip/prefix.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { print } from "../../kube/printable.ts";
import { colorizeFor } from "../print/color.ts";
import { Columns } from "../print/columns.ts";
import { printItems } from "../print/items.ts";
import { warn } from "../print/warn.ts";
import { namespaceOf } from "../resources/selection.ts";
import { type InstanceRoutes, readRoutes } from "../routes/read-routes.ts";
import { exitCodeOf, routeRows, sessionCounts, type RouteRow, type SessionCounts } from "../routes/route-rows.ts";
import { connect, type ConnectionOptions, withConnection } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { clusterNodes, labNodes, thisNode, type ReachableNode } from "../support-bundle/reachable-nodes.ts";

interface RoutesOptions extends ConnectionOptions {
  node?: string;
  namespace?: string;
  plumblineNamespace: string;
  output: "text" | "json";
}

export function configure(command: Command): void {
  withConnection(command)
    .argument("[target]", "a prefix, an address, or a Service as NAME or NAMESPACE/NAME (default: the sessions with their counts)")
    .option("--node <name>", "only this node")
    .option("-n, --namespace <name>", "namespace of the Service (default: the kubeconfig's, else default)")
    .option("--plumbline-namespace <name>", "namespace of the pods of DaemonSet plumbline-frr", "plumbline-system")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Asks FRR and the kernel of each node, for the load balancer and for the router: was a prefix sent to the peer of a session (adj-rib-out), received from
it, selected as best path, and is it in the kernel's table of that VRF. The lab and the machine of \`plumbline up\` (as root) are read directly, the nodes
of a cluster with \`kubectl exec\` in the pods of DaemonSet plumbline-frr. Exit code 1 when no session sends the
target (a default route is not enough), 3 when a node could not be read.

Examples:
  plumbline routes
  plumbline routes shop/web
  plumbline routes 192.168.11.200 --node node1
  plumbline routes 10.100.0.0/24 -o json
`,
    )
    .action(run);
}

async function run(target: string | undefined, options: RoutesOptions): Promise<void> {
  const client = await connect(options);
  const { signal } = new AbortController();
  try {
    const targets = target === undefined ? undefined : await targetsOf(client, target, options, signal);
    const { found, isComplete } = await readAll(await nodesOf(client, options, signal), targets, signal);
    const rows = targets ? found.flatMap(routeRows) : found.flatMap(sessionCounts);
    if (options.output === "json") printItems("Routes", rows);
    else if (rows.length > 0) print(`${draw(rows)}\n`);
    else print(targets ? `No node has a route to ${targets.join(", ")}\n` : "No node has a BGP session\n");
    if (targets) process.exitCode = exitCodeOf(found.flatMap(routeRows), targets, { isComplete });
    else if (!isComplete) process.exitCode = EXIT.unknown;
  } finally {
    client.close();
  }
}

/** The addresses of a Service, or what was given. */
async function targetsOf(client: KubeClient, target: string, options: RoutesOptions, signal: AbortSignal): Promise<string[]> {
  const address = addressOf(target);
  if (address) return [address.toString()];
  if (/^[\d.]+\/\d+$|:.*\/\d+$/.test(target)) return [parseMaskedPrefix(target).toString()];
  const [name = "", namespace = namespaceOf(client, options)] = target.split("/").toReversed();
  const { status } = await client.resource(Service).get(name, { namespace, signal });
  const addresses = (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);
  if (addresses.length === 0) throw new CliError(`Service ${namespace}/${name} has no address`, EXIT.no);
  return addresses;
}

async function nodesOf(client: KubeClient, options: RoutesOptions, signal: AbortSignal): Promise<readonly ReachableNode[]> {
  const { server } = client.access;
  const { node, plumblineNamespace: namespace } = options;
  const all =
    (await labNodes(server, signal)) ??
    (server.startsWith("unix:") ? machine(signal) : await clusterNodes(client, { ...options, namespace }, signal));
  const nodes = all.filter(({ name }) => node === undefined || name === node);
  if (nodes.length > 0) return nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (node !== undefined && all.length > 0)
    throw new CliError(`Node ${node} not found, only ${all.map(({ name }) => name).join(", ")}`, EXIT.no);
  throw new CliError(`No pod of DaemonSet plumbline-frr runs in namespace ${namespace}: check --plumbline-namespace`, EXIT.no);
}

function machine(signal: AbortSignal): ReachableNode[] {
  const here = thisNode(process.env["NODE_NAME"] ?? hostname(), signal);
  if (!here) throw new CliError("Reading FRR and the kernel of this machine needs root", EXIT.no);
  return [here];
}

/** A node that cannot be read costs only itself. */
async function readAll(
  nodes: readonly ReachableNode[],
  targets: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<{ found: InstanceRoutes[]; isComplete: boolean }> {
  let isComplete = true;
  const found = await Promise.all(
    nodes.map(async (node) => {
      try {
        return await readRoutes(node, targets, signal);
      } catch (error) {
        warn(`${node.name}: ${error instanceof Error ? error.message : String(error)}`);
        isComplete = false;
        return [];
      }
    }),
  );
  return { found: found.flat(), isComplete };
}

function draw(rows: readonly (RouteRow | SessionCounts)[]): string {
  const isRoute = rows.some((row) => "prefix" in row);
  const head = ["NODE", "INSTANCE", "VRF", ...(isRoute ? ["PREFIX"] : []), "PEER", "STATE", "SENT", "RECEIVED", "SELECTED", "IN KERNEL"];
  const lines = rows.map((row) => {
    const { node, instance, vrf, peer = "(own)", state = "-", sent, received, selected, inKernel } = row;
    const cells = [sent, received, selected, inKernel].map((cell) => (typeof cell === "number" ? String(cell) : cell ? "yes" : "no"));
    return [node, instance, vrf, ...("prefix" in row ? [row.prefix] : []), peer, state, ...cells];
  });
  const cells = [head, ...lines].map((line) => line.map((text) => ({ text })));
  return new Columns(colorizeFor(process.stdout)).lines(cells).join("\n");
}
