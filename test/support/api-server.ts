import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { inject } from "vitest";
import { ApiServer } from "../../lab/kube/api-server.ts";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { silent } from "../../lab/progress.ts";
import { accessFromKubeconfig, type ClusterAccess } from "../../src/kube/client/access.ts";

export interface SuiteApiServer {
  server: ApiServer;
  /** As a member of system:masters. */
  access: ClusterAccess;
  stop(): Promise<void>;
}

/** A real API server for one suite, with nothing in it, ready in about four seconds. */
export async function apiServer(suite: string, options: { audit?: boolean; flags?: readonly string[] } = {}): Promise<SuiteApiServer> {
  const lab = inject("lab");
  const id = `${suite}-${randomBytes(3).toString("hex")}`;
  const server = await ApiServer.start({
    binaries: await kubeBinaries(silent),
    directory: join(lab.directory, id),
    etcd: lab.etcd,
    prefix: `/${id}`,
    ...options,
  });
  return { server, access: await accessFromKubeconfig({ path: await server.kubeconfig("admin") }), stop: () => server.kill() };
}
