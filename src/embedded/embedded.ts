import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { CUSTOM_KINDS } from "../api/crds/kinds.ts";
import type { Log } from "../kube/log.ts";
import { issueForServer, loadAuthority, parseListenAddress, writeKubeconfig } from "./credentials.ts";
import { resourceName } from "./store/api-error.ts";
import { AppliedManifests, protectApplied } from "./directory/applied-manifests.ts";
import { ManifestDirectory } from "./directory/directory.ts";
import type { Problem } from "./directory/problems.ts";
import { StoreTarget } from "./directory/store-target.ts";
import { Garbage } from "./garbage.ts";
import { discovery } from "./http/discovery.ts";
import { apiHandler, type Handler } from "./http/handler.ts";
import { openapi } from "./http/openapi.ts";
import { plumblinePaths } from "./http/own-endpoints.ts";
import { listenOnSocket, listenOnTcp, type Listening } from "./http/server.ts";
import { StateJournal } from "./journal.ts";
import { FileWriteBack } from "./directory/write-back.ts";
import { assertOwn, takeLock } from "./lock.ts";
import { CORE_KINDS } from "./kinds/core-kinds.ts";
import { customKind } from "./kinds/served-kind.ts";
import { reportProblems } from "./problem-events.ts";
import { Store } from "./store/store.ts";

export interface EmbeddedOptions {
  readonly directory: string;
  /** For the journal, the socket and the lock. Defaults to `.plumbline` in the directory. */
  readonly stateDirectory?: string;
  /** A TCP address with TLS: `127.0.0.1:6443`. */
  readonly listen?: string;
  readonly log: Log;
}

export interface Embedded {
  readonly store: Store;
  /** The server of a ClusterAccess is `unix:<socket>`. */
  readonly socket: string;
  readonly tcp: { readonly url: string; readonly kubeconfig: string } | undefined;
  /** Problems of the files, and lost records of the journal. */
  problems(): readonly Problem[];
  stop(): Promise<void>;
}

/** Created at the start, as in a cluster with Plumbline. */
const NAMESPACES = ["default", "kube-system", "openperouter-system", "metallb-system", "plumbline-system"];

export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { directory, stateDirectory = join(directory, ".plumbline"), log } = options;
  await using started = new AsyncDisposableStack();
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 });
  assertOwn(stateDirectory);
  const lock = takeLock(join(stateDirectory, "lock"), "plumbline up");
  started.defer(() => lock.release());

  protectApplied(directory);
  const { store, journal, damage } = openStore(join(stateDirectory, "state.log"), log);
  started.defer(() => journal.close());
  const sink = new StoreTarget(store);
  const manifests = new ManifestDirectory({ root: directory, sink, known: sink.known(), log });
  started.defer(sink.onDeleted((key) => manifests.lost(key)));
  started.defer(reportProblems(manifests.problems, store, log));
  const keeping = new FileWriteBack(store, new AppliedManifests(manifests, sink));

  const stopped = new AbortController();
  const background = (work: Promise<void>) =>
    started.defer(() => {
      stopped.abort();
      return work;
    });
  background(new Garbage(store, keeping, log).run(stopped.signal));
  await manifests.load(stopped.signal);
  background(manifests.run(stopped.signal));
  const problems = () => [...damage, ...manifests.problems.list()];

  const extras = [discovery(store.kinds), openapi(store.kinds), plumblinePaths(store, problems)];
  const handler = apiHandler({ store, keeping, log, extras });
  const socket = join(stateDirectory, "api.sock");
  started.defer(() => rm(socket, { force: true }));
  stopWith(started, await listenOnSocket(socket, handler, log));
  const tcp = options.listen === undefined ? undefined : await listenWithTls(options.listen, { stateDirectory, handler, log }, started);

  const running = started.move();
  return { store, socket, tcp, problems, stop: () => running.disposeAsync() };
}

function openStore(path: string, log: Log): { store: Store; journal: StateJournal; damage: readonly Problem[] } {
  const kinds = [...CORE_KINDS, ...CUSTOM_KINDS.map(customKind)];
  const resources = new Set(kinds.map(resourceName));
  const { journal, restored, damage } = StateJournal.open(path, { log, serves: (resource) => resources.has(resource) });
  if (damage) log.error(damage, "state file damaged; some records are lost, all others are restored");
  const lost = damage?.lost.map(({ line, subject }): Problem => {
    const message = `record (${subject}) is damaged and lost; the damaged file is kept as ${damage.setAside}`;
    return { path, line, level: "warning", message };
  });
  const store = new Store(kinds, {
    ledger: journal,
    restored,
    onFault: (error) => log.error({ error }, "a listener of the embedded API failed"),
  });
  journal.compactFrom(() => store.snapshot());

  const namespaces = store.kindOf("v1", "Namespace");
  for (const name of namespaces ? NAMESPACES : []) {
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    if (namespaces && !store.find(namespaces, { name })) store.create(namespaces, undefined, body);
  }
  return { store, journal, damage: lost ?? [] };
}

async function listenWithTls(
  listen: string,
  { stateDirectory, handler, log }: { stateDirectory: string; handler: Handler; log: Log },
  started: AsyncDisposableStack,
): Promise<Embedded["tcp"]> {
  const address = parseListenAddress(listen);
  const authority = await loadAuthority(stateDirectory);
  const listening = await listenOnTcp(address, { ...issueForServer(authority, address), authority: authority.certificate }, handler, log);
  stopWith(started, listening);
  const kubeconfig = join(stateDirectory, "kubeconfig");
  started.defer(() => rm(kubeconfig, { force: true }));
  return { url: await writeKubeconfig(kubeconfig, authority, { ...address, port: listening.port ?? address.port }), kubeconfig };
}

function stopWith(started: AsyncDisposableStack, listening: Listening): void {
  started.defer(() => listening.close());
}
