/** Where an API server is, and as whom we speak to it. */

import { KubeError } from "./error.ts";
import { accessInCluster, inCluster } from "./in-cluster.ts";
import { accessFromKubeconfig, defaultKubeconfig } from "./kubeconfig.ts";

/** What a connection trusts (ca) and what it shows (certificate or token); PEM texts. */
export interface Credential {
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  token?: string | undefined;
}

export interface ClusterAccess {
  /** `https://host:port[/base]`, `http://host:port` or `unix:/path.sock`. */
  readonly server: string;
  /** Where this came from, for error messages: `context lab of /home/ann/.kube/config`. */
  readonly describe: string;
  readonly namespace?: string;
  readonly user?: string;
  /** The name the server's certificate is checked against, where it is not the host's. */
  readonly serverName?: string;
  /** Trust any server certificate. */
  readonly insecure?: boolean;
  /**
   * The identity to use now; asked before every attempt, so rotated files and expired tokens cost one look.
   * `rejected` is one the server has just answered 401 to: a newer one is fetched if there is any.
   */
  identity(rejected?: Credential): Promise<Credential>;
}

/** An access whose identity never changes. */
export function fixedAccess(
  server: string,
  identity: Credential = {},
  rest: Omit<ClusterAccess, "server" | "identity" | "describe"> & { describe?: string } = {},
): ClusterAccess {
  return { describe: server, ...rest, server, identity: () => Promise.resolve(identity) };
}

/** Looks in kubectl's order: the flag, KUBECONFIG, the pod we run in, ~/.kube/config. */
export async function findAccess(options: { kubeconfig?: string; context?: string } = {}): Promise<ClusterAccess> {
  const context = options.context === undefined ? {} : { context: options.context };
  if (options.kubeconfig !== undefined) return accessFromKubeconfig({ path: options.kubeconfig, ...context });
  if (process.env["KUBECONFIG"]) return accessFromKubeconfig(context);
  if (inCluster() && options.context === undefined) return accessInCluster();
  try {
    return await accessFromKubeconfig(context);
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== "NoKubeconfig") throw error;
    throw new KubeError(
      "NoKubeconfig",
      `No kubeconfig found: --kubeconfig and KUBECONFIG are not set, this is not a pod, and ${defaultKubeconfig()} does not exist; set --kubeconfig or KUBECONFIG`,
      { cause: error },
    );
  }
}

export { accessFromKubeconfig, accessFromText } from "./kubeconfig.ts";
export { accessInCluster } from "./in-cluster.ts";
