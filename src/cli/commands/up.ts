import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { parseListenAddress } from "../../embedded/credentials.ts";
import { type Embedded, startEmbedded } from "../../embedded/embedded.ts";
import { LockError } from "../../embedded/lock.ts";
import type { Prefix } from "../../ip/prefix.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { Manager } from "../../kube/controller/manager.ts";
import { createLog, type Log } from "../../kube/log.ts";
import { allowTargetOption, CHECKS, LOAD_BALANCER, ROUTER_HOST_DEFAULTS } from "../shared/agent-options.ts";
import { embeddedAccess, stateDirectoryOf } from "../shared/connection.ts";
import { addControllerComponents } from "../shared/controller-components.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { localPageOption, type PageAddress } from "../dashboard/page-address.ts";
import { untilStopped } from "../shared/signals.ts";
import { recordUp } from "../shared/running-ups.ts";
import { type LiveView, lineView, screenView } from "../live-view/view.ts";

interface UpOptions {
  dir: string;
  listen?: string;
  router?: boolean;
  loadbalancer?: boolean;
  connectivity?: boolean;
  allowTarget: readonly Prefix[];
  pageAddress?: PageAddress;
}

const NAMESPACE = "plumbline-system";
const ROUTER_NAMESPACE = "openperouter-system";
const METALLB_NAMESPACE = "metallb-system";

export function configure(command: Command): void {
  command
    .option("--dir <directory>", "directory of manifests (recursive)", process.env["PLUMBLINE_DIR"] || ".")
    .option("--listen <address>", "also serve on TCP, with TLS, and write a kubeconfig for kubectl: 127.0.0.1:6443, :6443", listenAddress)
    .option("--router", "also run the router of this machine, and create its Node; needs root and FRR")
    .option("--loadbalancer", "also announce Services from this machine, and create its Node; needs root and, for BGP, FRR")
    .option("--connectivity", "also run the connectivity checks of this machine, and create its Node")
    .addOption(allowTargetOption())
    .addOption(localPageOption())
    .addHelpText(
      "after",
      `
Runs until Ctrl-C. Edit the files, or use it from another terminal. State is kept in DIR/.plumbline, or in your
cache if you cannot write to DIR.

Examples:
  plumbline up --dir examples
  plumbline up --dir examples --listen 127.0.0.1:6443
  plumbline up --dir examples --router --loadbalancer
  plumbline up --dir examples --connectivity
`,
    )
    .action(run);
}

async function run({ dir, listen, router = false, loadbalancer = false, connectivity = false, ...options }: UpOptions): Promise<void> {
  const flag = router ? "--router" : "--loadbalancer";
  if ((router || loadbalancer) && process.getuid?.() !== 0)
    throw new CliError(`${flag} needs root: it changes this machine's network`, EXIT.misuse);
  if (!(await stat(dir).catch(() => undefined))?.isDirectory()) {
    throw new CliError(`${dir} is not a directory: create it, or use --dir`, EXIT.misuse);
  }
  const directory = resolve(dir);
  const stateDirectory = stateDirectoryOf(directory);
  let view: LiveView | undefined;
  const log = createLog({ level: "warn", pretty: true, write: (line) => (view ? view.tell(line.trimEnd()) : process.stderr.write(line)) });
  const stopped = untilStopped();

  await using embedded = await start(directory, stateDirectory, listen, log);
  const forget = recordUp({ directory, endpoint: { socket: embedded.socket } });
  const stop = new AbortController();
  const isElsewhere = stateDirectory !== join(directory, ".plumbline");
  const lines = head(dir, embedded, { router, loadbalancer });
  if (isElsewhere)
    lines.splice(1, 0, `You cannot write to ${dir}: state is kept in ${stateDirectory}. To create objects, serve a copy of ${dir}.`);
  const onTerminal = process.stdout.isTTY && process.env["TERM"] !== "dumb";
  const onPage = (line: string) => {
    if (onTerminal) lines.splice(1, 0, line);
    else view?.tell(line);
  };
  const controller = runParts(
    embedded,
    { directory, stateDirectory, router, loadbalancer, connectivity, ...options, log, onPage },
    stop.signal,
  );
  view = onTerminal ? screenView(embedded, lines) : lineView(embedded, lines);
  try {
    await Promise.race([stopped, controller]);
  } finally {
    view.close();
    view = undefined;
    stop.abort();
    forget();
    await controller;
    process.stdout.write(`Stopped. State is kept in ${isElsewhere ? stateDirectory : join(dir, ".plumbline")}.\n`);
    if (router) process.stdout.write(`The router keeps running. To remove it: ${ownName()} router clean --yes\n`);
    if (loadbalancer) process.stdout.write(`Announcements stay. To remove them: ${ownName()} loadbalancer clean --yes\n`);
  }
}

interface Parts {
  router: boolean;
  loadbalancer: boolean;
  connectivity: boolean;
  allowTarget: readonly Prefix[];
  pageAddress?: PageAddress;
}

/** A process with its own directory needs no election and no wait for an old leader's writes. */
async function runParts(
  embedded: Embedded,
  {
    directory,
    stateDirectory,
    router,
    loadbalancer,
    connectivity,
    allowTarget,
    pageAddress,
    log,
    onPage,
  }: Parts & {
    directory: string;
    stateDirectory: string;
    log: Log;
    onPage: (line: string) => void;
  },
  signal: AbortSignal,
): Promise<void> {
  const client = new KubeClient(embeddedAccess(directory, embedded.socket));
  const manager = new Manager({ client, log });
  addControllerComponents({
    manager,
    client,
    log,
    namespace: NAMESPACE,
    routerNamespace: ROUTER_NAMESPACE,
    loadBalancer: { namespace: METALLB_NAMESPACE },
    waitForOldWrites: noOldWrites,
  });
  // Last, so that it shares the caches of the other components.
  const addPage = async () => {
    if (!pageAddress) return;
    const { addLocalPage } = await import("../dashboard/local-page.ts");
    const namespaces = { routerNamespace: ROUTER_NAMESPACE, metallbNamespace: METALLB_NAMESPACE };
    void addLocalPage({ manager, namespaces, address: pageAddress, log }).then(onPage);
  };
  if (router || loadbalancer || connectivity) {
    const { addAgentComponents: addAgentParts } = await import("../shared/agent-components.ts");
    const { ensureOwnNode } = await import("../shared/agent-components.ts");
    const node = await ensureOwnNode(client, signal);
    const agent = addAgentParts({
      manager,
      client,
      log,
      node,
      namespace: NAMESPACE,
      // State about changes of this machine outlives the directory. A process that only reads keeps its state in the directory, which needs
      // no root.
      hostOptions: router || loadbalancer ? ROUTER_HOST_DEFAULTS : { ...ROUTER_HOST_DEFAULTS, stateDirectory },
      startFrr: true,
      ...(router && { routerNamespace: ROUTER_NAMESPACE }),
      ...(loadbalancer && { loadbalancer: LOAD_BALANCER }),
      ...(connectivity && { checks: { ...CHECKS, allowTarget } }),
    });
    await addPage();
    return agent.run(signal);
  }
  await addPage();
  return manager.run(signal);
}

/** The command to run this program: in a checkout the path of the launcher. */
function ownName(): string {
  const launcher = join(import.meta.dirname, "../../../plumbline");
  if (!existsSync(launcher)) return "plumbline";
  const path = relative(process.cwd(), launcher);
  return path.includes("/") ? path : `./${path}`;
}

function noOldWrites(): Promise<void> {
  return Promise.resolve();
}

function head(dir: string, { tcp }: Embedded, { router, loadbalancer }: Pick<Parts, "router" | "loadbalancer">): string[] {
  const off = [...(router ? [] : ["router (--router)"]), ...(loadbalancer ? [] : ["load balancer (--loadbalancer)"])];
  return [
    `Plumbline serves ${dir}. Edit the files, or in another terminal: ${ownName()} get plumbline -A`,
    ...(tcp ? [`kubectl: export KUBECONFIG=${tcp.kubeconfig}`] : []),
    ...(off.length > 0 ? [`Off: ${off.join(", ")}. They change this machine's network and need root.`] : []),
    "Press Ctrl-C to stop.",
  ];
}

async function start(directory: string, stateDirectory: string, listen: string | undefined, log: Log): Promise<Embedded & AsyncDisposable> {
  try {
    const embedded = await startEmbedded({ directory, stateDirectory, ...(listen !== undefined && { listen }), log });
    return { ...embedded, [Symbol.asyncDispose]: () => embedded.stop() };
  } catch (error) {
    if (error instanceof LockError && (error.code === "Locked" || error.code === "NotOwn"))
      throw new CliError(error.message, EXIT.no, { cause: error });
    const { syscall, code = "" } = error as NodeJS.ErrnoException;
    if (["EACCES", "EPERM", "EROFS"].includes(code) && syscall !== "listen") {
      throw new CliError(`Cannot write the state directory ${stateDirectory} (${code}): use a --dir that you can write to`, EXIT.unknown, {
        cause: error,
      });
    }
    if (syscall !== "listen") throw error;
    throw new CliError(`cannot listen on ${listen}: ${why(code)}`, EXIT.unknown, { cause: error });
  }
}

function why(code: string): string {
  if (code === "EADDRINUSE") return "the port is in use; choose another";
  if (code === "EADDRNOTAVAIL") return "this machine does not have the address";
  return code === "EACCES" ? "ports below 1024 need root" : code;
}

function listenAddress(text: string): string {
  try {
    parseListenAddress(text);
    return text;
  } catch {
    throw new InvalidArgumentError("Must be an address with a port: 127.0.0.1:6443, [::1]:6443, or :6443 for all addresses.");
  }
}
