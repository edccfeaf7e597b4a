import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import type { ClusterAccess } from "../../kube/client/access.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { printError } from "../../kube/printable.ts";
import type { BundleAccess } from "../support-bundle/serve-bundle.ts";
import { CliError, EXIT } from "./exit.ts";
import { warn } from "../print/warn.ts";
import { runningUps } from "./running-ups.ts";
import { VERSION } from "../commands/version.ts";

export interface ClusterOptions {
  kubeconfig?: string;
  context?: string;
}

export interface ConnectionOptions extends ClusterOptions {
  dir?: string;
  /** Only of commands that look. */
  bundle?: string;
}

/** The options of a program that serves a cluster. */
export function withCluster(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "whom to speak to; otherwise KUBECONFIG, the pod's service account, ~/.kube/config")
    .option("--context <name>", "a context of the kubeconfig other than its current one");
}

/** The options of every command by which a person speaks to an API server, embedded or not. */
export function withConnection(command: Command): Command {
  return command
    .option(
      "--dir <directory>",
      "speak to the `plumbline up` of this directory; otherwise PLUMBLINE_DIR, or the one that runs (or the lab)",
    )
    .option("--kubeconfig <file>", "speak to a cluster; otherwise KUBECONFIG, the pod's service account, ~/.kube/config")
    .option("--context <name>", "a context of the kubeconfig other than its current one");
}

/** The options of every command that only looks: it can look at a bundle too. */
export function withLooking(command: Command): Command {
  return withConnection(command).option("--bundle <file>", "look at what `plumbline bundle` wrote, and at no server");
}

export async function connectToCluster(options: ClusterOptions): Promise<KubeClient> {
  const { findAccess } = await import("../../kube/client/access.ts");
  return clientOf(await findAccess(options));
}

export async function connect(options: ConnectionOptions): Promise<KubeClient> {
  return clientOf(await whomToSpeakTo(options));
}

/** The flags, PLUMBLINE_DIR, KUBECONFIG, the pod we run in, a `plumbline up` or lab of this user, ~/.kube/config: the first that there is. */
async function whomToSpeakTo({ dir, bundle, ...cluster }: ConnectionOptions): Promise<ClusterAccess> {
  const byFlag = cluster.kubeconfig !== undefined || cluster.context !== undefined;
  if (bundle !== undefined) {
    if (dir !== undefined || byFlag)
      throw new CliError("--bundle looks at a file; --dir, --kubeconfig and --context at a server: give one", EXIT.misuse);
    return bundleAccess(bundle);
  }
  if (dir !== undefined && byFlag)
    throw new CliError("--dir speaks to a directory, --kubeconfig and --context to a cluster: give one", EXIT.misuse);
  const directory = dir ?? (byFlag ? undefined : process.env["PLUMBLINE_DIR"]);
  if (directory) return accessTo(directory);

  if (!byFlag && !process.env["KUBECONFIG"] && !process.env["KUBERNETES_SERVICE_HOST"]) {
    const [up, ...others] = await runningUps();
    if (up && others.length > 0) {
      const directories = [up, ...others].map(({ directory }) => directory);
      throw new CliError(
        `Several \`plumbline up\` run, on ${directories.join(" and ")}; choose one with --dir or --kubeconfig`,
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
    throw new CliError(
      "There is nobody to speak to: no `plumbline up` runs, --dir, PLUMBLINE_DIR, --kubeconfig and KUBECONFIG are not given, this is not a pod, and ~/.kube/config does not exist; start one with: plumbline up",
      EXIT.unknown,
      { cause: error },
    );
  }
}

async function bundleAccess(file: string): Promise<ClusterAccess> {
  const { serveBundle } = await import("../support-bundle/serve-bundle.ts");
  const access = await serveBundle(file);
  printError(`As it was at ${access.takenAt}; the AGE of tables counts from now\n`);
  return access;
}

/** What time it is for what was read: of a bundle, when it was taken. */
export function timeOf({ access }: KubeClient): number {
  const { takenAt } = access as Partial<BundleAccess>;
  return takenAt === undefined ? Date.now() : Date.parse(takenAt);
}

function accessTo(directory: string): ClusterAccess {
  const socket = join(resolve(directory), ".plumbline", "api.sock");
  if (!existsSync(socket)) {
    throw new CliError(
      `No \`plumbline up\` runs on ${directory}: there is no ${socket}; start it with: plumbline up --dir ${directory}`,
      EXIT.unknown,
    );
  }
  return embeddedAccess(directory, socket);
}

/** Spelled out here and not taken from kube/: whoever speaks to a socket need not load what reads kubeconfigs. */
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
