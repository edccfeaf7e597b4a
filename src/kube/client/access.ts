import { KubeError } from "./error.ts";
import { accessFromKubeconfig, defaultKubeconfig } from "./kubeconfig.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { RotatedFile } from "./rotated-file.ts";

/** The trusted CA, and a certificate or token; PEM texts. */
export interface Credential {
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  token?: string | undefined;
}

export interface ClusterAccess {
  /** `https://host:port[/base]`, `http://host:port` or `unix:/path.sock`. */
  readonly server: string;
  /** The origin, for error messages: `context lab of /home/ann/.kube/config`. */
  readonly describe: string;
  readonly namespace?: string;
  readonly user?: string;
  /** The expected name in the server's certificate, if it differs from the host. */
  readonly serverName?: string;
  readonly insecure?: boolean;
  /**
   * Called before every attempt, so that rotated files and expired tokens are noticed. `rejected` was answered with 401: a newer one is
   * fetched, if there is one.
   */
  identity(rejected?: Credential): Promise<Credential>;
}

/** In kubectl's order: the flag, KUBECONFIG, the pod's service account, ~/.kube/config. */
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

/** The pod's service account. The kubelet rotates its token and CA. */
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
