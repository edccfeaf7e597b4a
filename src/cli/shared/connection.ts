import { hash } from "node:crypto";
import { accessSync, constants, existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import type { ClusterAccess } from "../../kube/client/access.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { printError } from "../../kube/printable.ts";
import type { BundleAccess } from "../support-bundle/serve-bundle.ts";
import { cacheDirectory } from "../../util/cache-directory.ts";
import { CliError, EXIT } from "./exit.ts";
import { warn } from "../print/warn.ts";
import { runningInstances } from "./running-ups.ts";
import { VERSION } from "./version.ts";

export interface ClusterOptions {
  kubeconfig?: string;
  context?: string;
}

export interface ConnectionOptions extends ClusterOptions {
  dir?: string;
  /** Only in read-only commands. */
  bundle?: string;
}

/** For programs that run in a cluster. */
export function withCluster(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "path to the kubeconfig (default: KUBECONFIG, then the pod's service account, then ~/.kube/config)")
    .option("--context <name>", "kubeconfig context to use (default: its current context)");
}

/** For every command that connects to an API server, embedded or not. */
export function withConnection(command: Command): Command {
  return command
    .option(
      "--dir <directory>",
      "use the `plumbline up` of this directory (default: PLUMBLINE_DIR, then the running `plumbline up` or lab)",
    )
    .option(
      "--kubeconfig <file>",
      "path to the kubeconfig of a cluster (default: KUBECONFIG, then the pod's service account, then ~/.kube/config)",
    )
    .option("--context <name>", "kubeconfig context to use (default: its current context)");
}

/** For every read-only command: it can also read a bundle. */
export function withReadSource(command: Command): Command {
  return withConnection(command).option("--bundle <file>", "read this support bundle instead of a server");
}

export async function connectToCluster(options: ClusterOptions): Promise<KubeClient> {
  const { findAccess } = await import("../../kube/client/access.ts");
  return clientOf(await findAccess(options));
}

export async function connect(options: ConnectionOptions): Promise<KubeClient> {
  return clientOf(await selectAccess(options));
}

/** In this order: flags, PLUMBLINE_DIR, KUBECONFIG, the pod's service account, a running `up` or lab of this user, ~/.kube/config. */
async function selectAccess({ dir, bundle, ...cluster }: ConnectionOptions): Promise<ClusterAccess> {
  const byFlag = cluster.kubeconfig !== undefined || cluster.context !== undefined;
  if (bundle !== undefined) {
    if (dir !== undefined || byFlag) throw new CliError("--bundle cannot be combined with --dir, --kubeconfig or --context", EXIT.misuse);
    return bundleAccess(bundle);
  }
  if (dir !== undefined && byFlag) throw new CliError("--dir cannot be combined with --kubeconfig or --context", EXIT.misuse);
  const directory = dir ?? (byFlag ? undefined : process.env["PLUMBLINE_DIR"]);
  if (directory) return accessTo(directory);

  if (!byFlag && !process.env["KUBECONFIG"] && !process.env["KUBERNETES_SERVICE_HOST"]) {
    const [up, ...others] = await runningInstances();
    if (up && others.length > 0) {
      const directories = [up, ...others].map(({ directory }) => directory);
      throw new CliError(
        `Several \`plumbline up\` are running, on ${directories.join(" and ")}: choose one with --dir or --kubeconfig`,
        EXIT.misuse,
      );
    }
    const endpoint = up?.endpoint;
    if (up && endpoint && "socket" in endpoint) return embeddedAccess(up.directory, endpoint.socket);
    if (endpoint && "kubeconfig" in endpoint) cluster = { kubeconfig: endpoint.kubeconfig };
  }
  const { findAccess } = await import("../../kube/client/access.ts");
  try {
    return await findAccess(cluster);
  } catch (error) {
    if (byFlag || process.env["KUBECONFIG"] || !isKubeError(error, "NoKubeconfig")) throw error;
    throw new CliError("No API server found: set KUBECONFIG or --dir, or run `plumbline up`", EXIT.unknown, { cause: error });
  }
}

async function bundleAccess(file: string): Promise<ClusterAccess> {
  const { serveBundle } = await import("../support-bundle/serve-bundle.ts");
  const access = await serveBundle(file);
  printError(`Support bundle taken at ${access.takenAt}; AGE columns count from now\n`);
  return access;
}

/** The current time, or for a bundle the time it was taken. */
export function snapshotTime({ access }: KubeClient): number {
  const { takenAt } = access as Partial<BundleAccess>;
  return takenAt === undefined ? Date.now() : Date.parse(takenAt);
}

function accessTo(directory: string): ClusterAccess {
  const socket = join(stateDirectoryOf(directory), "api.sock");
  if (!existsSync(socket)) {
    throw new CliError(
      `No \`plumbline up\` is running on ${directory} (${socket} not found): run plumbline up --dir ${directory}`,
      EXIT.unknown,
    );
  }
  return embeddedAccess(directory, socket);
}

/** The state and the socket of `plumbline up`: in the directory, or in the user's cache if the directory is not writable. */
export function stateDirectoryOf(directory: string): string {
  const root = resolve(directory);
  const own = join(root, ".plumbline");
  if ([own, root].some(isWritable) || !existsSync(root)) return own;
  return join(cacheDirectory(), "up", hash("sha256", root).slice(0, 16));
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Defined here and not in kube/, so that a command that uses a socket does not load the kubeconfig reader. */
export function embeddedAccess(directory: string, socket: string): ClusterAccess {
  return { server: `unix:${socket}`, describe: `\`plumbline up\` on ${directory}`, identity: () => Promise.resolve({}) };
}

function clientOf(access: ClusterAccess): KubeClient {
  const warned = new Set<string>();
  return new KubeClient(access, {
    userAgent: `plumbline/${VERSION}`,
    onWarning(text) {
      if (!warned.has(text)) warn(text);
      warned.add(text);
    },
  });
}
