import { join } from "node:path";
import { ApiServer } from "../lab/kube/api-server.ts";
import { kubeBinaries } from "../lab/kube/binary.ts";
import { memoryDirectory, startEtcd } from "../lab/kube/etcd.ts";
import { progressOn } from "../lab/progress.ts";
import type { Child } from "../lab/child.ts";

/** Where the contestants of one bench meet: a real API server with its data in memory. */
export interface Arena {
  server: ApiServer;
  /** A cluster-admin's. */
  kubeconfig: string;
  /** In memory, and gone with the arena. */
  directory: string;
}

/** Nothing of it is left afterwards, however the work or the process ends. */
export async function inArena<R>(options: { audit?: boolean }, work: (arena: Arena) => Promise<R>): Promise<R> {
  const binaries = await kubeBinaries(progressOn(process.stderr));
  const memory = await memoryDirectory("bench");
  const directory = memory.path;
  let etcd: Child | undefined;
  let server: ApiServer | undefined;
  try {
    const started = await startEtcd(binaries, directory);
    etcd = started.child;
    server = await ApiServer.start({
      binaries,
      directory: join(directory, "kube-apiserver"),
      etcd: started.url,
      prefix: "/bench",
      ...options,
    });
    return await work({ server, kubeconfig: await server.kubeconfig("admin"), directory });
  } finally {
    await server?.kill();
    await etcd?.kill();
    await memory.remove();
  }
}
