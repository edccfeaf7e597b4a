import { vrfOf } from "../../router/validate/names.ts";
import { type Command, Option } from "commander";
import { Node } from "../../api/core/node.ts";
import { L2VNI } from "../../api/openpe/l2vni.ts";
import { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RawFRRConfig } from "../../api/openpe/raw-frr-config.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../../api/openpe/underlay.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { print } from "../../kube/printable.ts";
import type { RouterObjects } from "../../router/model/observed.ts";
import { previewNode } from "../../router/preview.ts";
import { plan } from "../../router/plan.ts";
import { connect, type ConnectionOptions, withReadSource } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { printItems } from "../print/items.ts";
import { colorizeFor } from "../print/color.ts";
import { drawTree, type Leaf } from "../router/draw-tree.ts";
import { observeOffline, nodeNamed, nodesOf, routerObjects } from "../router/offline-node.ts";
import { readRouter } from "../router/read-router.ts";

interface TreeOptions extends ConnectionOptions {
  node?: string;
  filename?: string[];
  routerNamespace: string;
  output: "text" | "json";
}

interface Tree {
  readonly node: string;
  readonly resources: readonly Leaf[];
}

export function configure(command: Command): void {
  withReadSource(command)
    .option("--node <name>", "only this node")
    .option("-f, --filename <path...>", "use these manifests instead of the cluster; - for standard input")
    .option("--router-namespace <name>", "namespace of the router's configuration", "openperouter-system")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Exit code 1 when a resource has failed.

Examples:
  plumbline tree
  plumbline tree --node n1
  plumbline tree -f examples --node n1
`,
    )
    .action(run);
}

async function run(options: TreeOptions): Promise<void> {
  const trees = options.filename ? await fromFiles(options.filename, options) : await fromServer(options);
  const colorize = colorizeFor(process.stdout);
  if (options.output === "json") printItems("RouterTree", trees);
  else print(trees.map(({ node, resources }) => `${drawTree(node, resources, colorize)}\n`).join("\n"));
  if (trees.some(({ resources }) => resources.some(({ failures }) => failures.length > 0))) process.exitCode = EXIT.no;
}

async function fromFiles(paths: readonly string[], { node, routerNamespace }: TreeOptions): Promise<Tree[]> {
  const objects = await readRouter(paths, routerNamespace);
  const described = nodesOf(objects);
  const nodes = node !== undefined ? [nodeNamed(node, objects)] : described.length > 0 ? described : [nodeNamed("any node", objects)];
  const router = routerObjects(objects);
  return nodes.map((one) => {
    const observed = observeOffline(one, router, objects);
    const { failures } = previewNode(observed);
    const resources = plan(observed).selected.map((selected) => leafOf(selected, failures, router));
    return { node: one.name, resources };
  });
}

async function fromServer(options: TreeOptions): Promise<Tree[]> {
  const client = await connect(options);
  const { signal } = new AbortController();
  const { routerNamespace: namespace, node } = options;
  try {
    const statuses = await listByName(client, RouterNodeConfigurationStatus, namespace, signal);
    const chosen = statuses.filter(({ metadata }) => node === undefined || metadata.name === node);
    if (chosen.length === 0) throw new CliError(await none(client, node, namespace, signal), EXIT.no);
    const router: RouterObjects = {
      underlays: await listByName(client, Underlay, namespace, signal),
      l2vnis: await listByName(client, L2VNI, namespace, signal),
      l3vnis: await listByName(client, L3VNI, namespace, signal),
      passthroughs: await listByName(client, L3Passthrough, namespace, signal),
      rawConfigs: await listByName(client, RawFRRConfig, namespace, signal),
    };
    return chosen.map(({ metadata, status }) => ({
      node: metadata.name,
      resources: (status?.resources ?? []).map((resource) => leafOf(resource, status?.failedResources ?? [], router)),
    }));
  } finally {
    client.close();
  }
}

async function listByName<T extends KubeObject>(client: KubeClient, kind: Kind<T>, namespace: string, signal: AbortSignal): Promise<T[]> {
  const { items } = await client.resource(kind).list({ namespace, signal });
  return items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

async function none(client: KubeClient, node: string | undefined, namespace: string, signal: AbortSignal): Promise<string> {
  if (node === undefined) return `No node has reported in namespace ${namespace}: check --router-namespace and the agents`;
  const known = await client
    .resource(Node)
    .get(node, { signal })
    .catch((error: unknown) => {
      if (isKubeError(error, "NotFound") || isKubeError(error, "Forbidden")) return undefined;
      throw error;
    });
  return known ? `The agent on node ${node} has not reported yet in namespace ${namespace}` : `Node ${node} not found`;
}

interface Resource {
  readonly kind: string;
  readonly name: string;
  readonly state?: string;
}

type Failed = Resource & Leaf["failures"][number];

function leafOf({ kind, name, state }: Resource, failed: readonly Failed[], router: RouterObjects): Leaf {
  const failures = failed.filter((failure) => failure.kind === kind && failure.name === name);
  return { kind, name, ...notesOn(kind, name, router), ...(state !== undefined && { state }), failures };
}

function notesOn(kind: string, name: string, { underlays, l2vnis, l3vnis }: RouterObjects): Pick<Leaf, "evpn" | "vrf" | "hostSession"> {
  const named = <T extends KubeObject>(objects: readonly T[]) => objects.find(({ metadata }) => metadata.name === name);
  if (kind === "Underlay") return { evpn: named(underlays)?.spec.evpn !== undefined };
  const l2vni = kind === "L2VNI" ? named(l2vnis) : undefined;
  const vrf = l2vni && vrfOf(name, l2vni.spec);
  if (vrf !== undefined) return { vrf };
  const spec = kind === "L3VNI" ? named(l3vnis)?.spec : undefined;
  return spec ? { vrf: spec.vrf, hostSession: spec.hostsession !== undefined } : {};
}
