import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { CUSTOM_KINDS } from "../api/kinds.ts";
import type { Log } from "../kube/log.ts";
import { issueForServer, loadAuthority, parseListenAddress, writeKubeconfig } from "./credentials.ts";
import { resourceName } from "./fault.ts";
import { Garbage } from "./garbage.ts";
import { discovery } from "./http/discovery.ts";
import { apiHandler, type Handler } from "./http/handler.ts";
import { openapi } from "./http/openapi.ts";
import { plumblinePaths, type FileProblem } from "./http/plumbline.ts";
import { listenOnSocket, listenOnTcp, type Listening } from "./http/server.ts";
import { Journal } from "./journal.ts";
import { Keeping } from "./keeping.ts";
import { CORE_KINDS } from "./kinds/core-kinds.ts";
import { customKind } from "./kinds/served-kind.ts";
import { Store } from "./store.ts";

export interface EmbeddedOptions {
  /** The user's manifests. */
  readonly directory: string;
  /** What programs change, the socket, the lock; `.plumbline` in the directory. */
  readonly stateDirectory?: string;
  /** Also on TCP, with TLS: `127.0.0.1:6443`. */
  readonly listen?: string;
  readonly log: Log;
}

export interface Embedded {
  readonly store: Store;
  /** The unix socket; `unix:<socket>` is the server of a ClusterAccess. */
  readonly socket: string;
  /** Where it listens on TCP, and the file that gives access there. */
  readonly tcp: { readonly url: string; readonly kubeconfig: string } | undefined;
  problems(): readonly FileProblem[];
  stop(): Promise<void>;
}

const problems = (): readonly FileProblem[] => [];

/** There from the start, as in a cluster that Plumbline is installed in. */
const NAMESPACES = ["default", "kube-system", "openperouter-system", "metallb-system", "plumbline-system"];

/** A Kubernetes API without a cluster, over the manifests of a directory. */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { directory, stateDirectory = join(directory, ".plumbline"), log } = options;
  await using started = new AsyncDisposableStack();
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 });

  const { store, journal } = openStore(join(stateDirectory, "state.log"), log);
  started.defer(() => journal.close());
  const keeping = new Keeping(store, undefined);

  const stopped = new AbortController();
  const garbage = new Garbage(store, keeping, log).run(stopped.signal);
  started.defer(async () => {
    stopped.abort();
    await garbage;
  });

  const extras = [discovery(store.kinds), openapi(store.kinds), plumblinePaths(store, problems)];
  const handler = apiHandler({ store, keeping, log, extras });
  const socket = join(stateDirectory, "api.sock");
  started.defer(() => rm(socket, { force: true }));
  stopWith(started, await listenOnSocket(socket, handler));
  const tcp = options.listen === undefined ? undefined : await listenWithTls(options.listen, stateDirectory, handler, started);

  const running = started.move();
  return { store, socket, tcp, problems, stop: () => running.disposeAsync() };
}

function openStore(path: string, log: Log): { store: Store; journal: Journal } {
  const kinds = [...CORE_KINDS, ...CUSTOM_KINDS.map(customKind)];
  const resources = new Set(kinds.map(resourceName));
  const { journal, restored, damage } = Journal.open(path, { log, serves: (resource) => resources.has(resource) });
  if (damage) log.error(damage, "the state was damaged; what could not be read back is lost, everything else is there");
  const store = new Store(kinds, { ledger: journal, restored });
  journal.compactFrom(() => store.snapshot());

  const namespaces = store.kindOf("v1", "Namespace");
  for (const name of namespaces ? NAMESPACES : []) {
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    if (namespaces && !store.find(namespaces, { name })) store.create(namespaces, undefined, body);
  }
  return { store, journal };
}

async function listenWithTls(
  listen: string,
  stateDirectory: string,
  handler: Handler,
  started: AsyncDisposableStack,
): Promise<Embedded["tcp"]> {
  const address = parseListenAddress(listen);
  const authority = await loadAuthority(stateDirectory);
  const listening = await listenOnTcp(address, { ...issueForServer(authority, address), authority: authority.certificate }, handler);
  stopWith(started, listening);
  const kubeconfig = join(stateDirectory, "kubeconfig");
  started.defer(() => rm(kubeconfig, { force: true }));
  return { url: await writeKubeconfig(kubeconfig, authority, { ...address, port: listening.port ?? address.port }), kubeconfig };
}

function stopWith(started: AsyncDisposableStack, listening: Listening): void {
  started.defer(() => listening.close());
}
