import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { CUSTOM_KINDS } from "../api/kinds.ts";
import type { Log } from "../kube/log.ts";
import { resourceName } from "./fault.ts";
import { Garbage } from "./garbage.ts";
import { discovery } from "./http/discovery.ts";
import { apiHandler } from "./http/handler.ts";
import { listenOnSocket } from "./http/server.ts";
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
  readonly log: Log;
}

export interface Embedded {
  readonly store: Store;
  /** The unix socket; `unix:<socket>` is the server of a ClusterAccess. */
  readonly socket: string;
  stop(): Promise<void>;
}

/** There from the start, as in a cluster that Plumbline is installed in. */
const NAMESPACES = ["default", "kube-system", "openperouter-system", "metallb-system", "plumbline-system"];

/** A Kubernetes API without a cluster, over the manifests of a directory. */
export async function startEmbedded({
  directory,
  stateDirectory = join(directory, ".plumbline"),
  log,
}: EmbeddedOptions): Promise<Embedded> {
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 });
  const kinds = [...CORE_KINDS, ...CUSTOM_KINDS.map(customKind)];
  const resources = new Set(kinds.map(resourceName));
  const { journal, restored, damage } = Journal.open(join(stateDirectory, "state.log"), {
    log,
    serves: (resource) => resources.has(resource),
  });
  if (damage) log.error(damage, "the state was damaged; what could not be read back is lost, everything else is there");
  const store = new Store(kinds, { ledger: journal, restored });
  journal.compactFrom(() => store.snapshot());
  const namespaces = store.kindOf("v1", "Namespace");
  if (!namespaces) throw new Error("namespaces are not served");
  for (const name of NAMESPACES) {
    if (!store.find(namespaces, { name })) store.create(namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  const keeping = new Keeping(store, undefined);
  const stopped = new AbortController();
  const garbage = new Garbage(store, keeping, log).run(stopped.signal);
  const socket = join(stateDirectory, "api.sock");
  const listening = await listenOnSocket(socket, apiHandler({ store, keeping, log, extras: [discovery(store.kinds)] }));
  return {
    store,
    socket,
    async stop() {
      await listening.close();
      await rm(socket, { force: true });
      stopped.abort();
      await garbage;
      await journal.close();
    },
  };
}
