import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClusterAccess, Credential } from "./access.ts";
import { KubeError } from "./error.ts";
import { RotatedFile } from "./rotated-file.ts";

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

export function inCluster(): boolean {
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
