/** Where an API server is, and as whom we speak to it. */

import { KubeError } from "./error.ts";
import { accessFromKubeconfig, defaultKubeconfig } from "./kubeconfig.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { RotatedFile } from "./rotated-file.ts";

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

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

function inCluster(): boolean {
  return Boolean(process.env["KUBERNETES_SERVICE_HOST"] && process.env["KUBERNETES_SERVICE_PORT"]);
}

/** The service account of the pod we run in. The kubelet rotates its token and its CA under us. */
export async function accessInCluster(directory = SERVICE_ACCOUNT): Promise<ClusterAccess> {
  const host = process.env["KUBERNETES_SERVICE_HOST"];
  const port = process.env["KUBERNETES_SERVICE_PORT"];
  if (!host || !port) {
    throw new KubeError(
      "NoKubeconfig",
      "This is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; set --kubeconfig or KUBECONFIG",
    );
  }
  const token = new RotatedFile(join(directory, "token"), "the pod's service account");
  const ca = new RotatedFile(join(directory, "ca.crt"), "the pod's service account");
  await token.read();
  const namespace = await readFile(join(directory, "namespace"), "utf8").catch(() => "");

  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    describe: "the pod's service account",
    ...(namespace.trim() === "" ? {} : { namespace: namespace.trim() }),
    async identity(rejected?: Credential): Promise<Credential> {
      const afresh = rejected !== undefined;
      return { token: (await token.read(afresh)).trim(), ca: await ca.read(afresh) };
    },
  };
}
