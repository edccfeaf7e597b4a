import { hostname } from "node:os";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Command } from "commander";
import type { Kind } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { print, printError } from "../../kube/printable.ts";
import { gatherObjects, type GatheredObjects } from "../support-bundle/gather-objects.ts";
import { BUNDLE_VERSION, type BundleManifest, MANIFEST, type Missing } from "../support-bundle/manifest.ts";
import { type Content, masked } from "../support-bundle/mask.ts";
import { gatherNode } from "../support-bundle/node-state.ts";
import { writeOwnersFile } from "../support-bundle/tar.ts";
import { packTar } from "../support-bundle/tar.ts";
import { labNodes, NODE_PATHS, thisNode, type ReachableNode } from "../support-bundle/reachable-nodes.ts";
import { connect, type ConnectionOptions, withConnection } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { VERSION } from "../shared/version.ts";

interface BundleOptions extends ConnectionOptions {
  output?: string;
  nodeState?: boolean;
  node: string;
  namespace: string;
}

interface RawFile {
  readonly path: string;
  readonly content: Content;
  readonly objects?: number;
}

interface Gathering {
  readonly files: RawFile[];
  readonly missing: Missing[];
}

export function configure(command: Command): void {
  withConnection(command)
    .option("-o, --output <file>", "file to write (default: plumbline-bundle-TIME.tar.gz in this directory)")
    .option("--node-state", "include FRR and kernel state of this machine; needs root; always on with `up` and in the lab")
    .option("--node <name>", "name of this machine's Node", process.env["NODE_NAME"] ?? hostname())
    .option("--namespace <name>", "namespace of Plumbline's own Leases and pods", "plumbline-system")
    .addHelpText(
      "after",
      `
Writes one archive with all Plumbline objects and the objects they refer to, and the FRR and kernel state of the nodes that can be reached from here.
Secrets are not read; passwords, tokens and keys are masked everywhere. Its MANIFEST.json lists what it contains, what is missing, and why.

Examples:
  plumbline bundle
  plumbline bundle -o edge.tar.gz
  plumbline bundle --node-state --node worker-1   on that node: with its FRR and kernel
  plumbline get plumbline -A --bundle edge.tar.gz
`,
    )
    .action(run);
}

async function run({ output, nodeState = false, node, namespace, ...connection }: BundleOptions): Promise<void> {
  const { signal } = new AbortController();
  const time = new Date();
  const root = `plumbline-bundle-${time.toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
  const file = output ?? `${root}.tar.gz`;
  const client = await connect(connection);
  try {
    const gathering: Gathering = { files: [], missing: [] };
    await addObjects(gathering, client, namespace, nodeState, signal);
    await addNodes(gathering, await reachableNodes(client, { nodeState, node }, signal));
    const { files, missing } = gathering;
    const manifest = { version: VERSION, time: time.toISOString(), server: client.access.server };
    await writeOwnersFile(file, await archive(root, time, manifest, gathering));
    for (const { what, why } of missing) say(`Warning: ${what} is missing: ${why}`);
    say(`${files.length} files, ${missing.length} missing; secrets are masked, names and addresses are not`);
    print(`${file}\n`);
  } finally {
    client.close();
  }
}

/** If there is something else to gather, an unreachable server is only listed as missing. */
async function addObjects(
  { files, missing }: Gathering,
  client: KubeClient,
  namespace: string,
  otherwise: boolean,
  signal: AbortSignal,
): Promise<void> {
  say(`Reading objects of ${client.access.describe}`);
  let gathered: GatheredObjects;
  try {
    gathered = await gatherObjects({ client, namespace, signal });
  } catch (error) {
    if (!otherwise || !(error instanceof Error)) throw error;
    missing.push({ what: "objects", why: error.message });
    return;
  }
  missing.push(...gathered.missing);
  const kinds = gathered.kinds.filter(({ items }) => items.length > 0);
  say(`${kinds.reduce((sum, { items }) => sum + items.length, 0)} objects of ${kinds.length} kinds`);
  for (const { kind, items } of kinds) {
    const list = { apiVersion: "v1", kind: "List", items };
    files.push({
      path: `objects/${titleOf(kind)}.json`,
      content: { json: list },
      objects: items.length,
    });
  }
}

async function addNodes(
  { files, missing }: Gathering,
  { nodes, missing: unreached }: { nodes: readonly ReachableNode[]; missing: Missing[] },
): Promise<void> {
  missing.push(...unreached);
  await Promise.all(
    nodes.map(async ({ name, run }) => {
      say(`Reading FRR and the kernel of ${name}`);
      const below = `nodes/${name.replaceAll(/[^\w.-]/g, "_")}`;
      try {
        const state = await gatherNode(run, NODE_PATHS);
        for (const { path, content } of state.files) files.push({ path: `${below}/${path}`, content });
        for (const { what, why } of state.missing) missing.push({ what: `${below}/${what}`, why });
      } catch (error) {
        missing.push({ what: below, why: error instanceof Error ? error.message : String(error) });
      }
    }),
  );
}

/** All nodes of the connected lab; this machine with `up` or on request. */
async function reachableNodes(
  { access: { server } }: KubeClient,
  { nodeState, node }: { nodeState: boolean; node: string },
  signal: AbortSignal,
): Promise<{ nodes: readonly ReachableNode[]; missing: Missing[] }> {
  const lab = await labNodes(server, signal);
  if (lab) return { nodes: lab, missing: [] };
  if (nodeState || server.startsWith("unix:")) {
    const here = thisNode(node, signal);
    return here
      ? { nodes: [here], missing: [] }
      : { nodes: [], missing: [{ what: `nodes/${node}`, why: "reading FRR and the kernel needs root" }] };
  }
  const why = "not read from here: run plumbline bundle --node-state on the node";
  return { nodes: [], missing: [{ what: "nodes", why }] };
}

type Head = Pick<BundleManifest, "version" | "time" | "server">;

async function archive(root: string, time: Date, head: Head, { files, missing }: Gathering): Promise<Buffer> {
  const manifest: BundleManifest = {
    apiVersion: BUNDLE_VERSION,
    kind: "Bundle",
    ...head,
    files: files.map(({ path, objects }) => (objects === undefined ? { path } : { path, objects })),
    missing,
  };
  const all: RawFile[] = [{ path: MANIFEST, content: { json: manifest } }, ...files];
  const clean = masked(all.map(({ content }) => content));
  const archived = all.map(({ path }, at) => ({ path: `${root}/${path}`, content: Buffer.from(textOf(clean[at])) }));
  return promisify(gzip)(packTar(archived, time));
}

function textOf(content: Content | undefined): string {
  if (!content) throw new CliError("a file of the bundle has no content", EXIT.unknown);
  return "text" in content ? content.text : `${JSON.stringify(content.json, null, 1)}\n`;
}

function titleOf({ plural, group }: Kind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

function say(line: string): void {
  printError(`${line}\n`);
}
