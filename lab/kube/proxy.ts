import { createWriteStream } from "node:fs";
import type { RemoteProcess } from "../machine/machine.ts";
import type { LabHost } from "../net/lab-host.ts";
import { LabError } from "../error.ts";
import type { KubeBinaries } from "./binary.ts";

/** kube-proxy in a node's network namespace, in nftables mode. */
export function startProxy(
  host: LabHost,
  options: { binaries: KubeBinaries; kubeconfig: string; podNetwork: string; logFile: string },
): RemoteProcess {
  const command = options.binaries.command("kube-proxy");
  if (!command) throw new LabError("NoBinaries", "The binaries in KUBEBUILDER_ASSETS bring no kube-proxy; unset it to use our own build");
  const proxy = host.start([
    ...command,
    `--kubeconfig=${options.kubeconfig}`,
    "--proxy-mode=nftables",
    `--hostname-override=${host.name}`,
    `--cluster-cidr=${options.podNetwork}`,
    // The limits are the machine's, which is not the lab's to change.
    "--conntrack-max-per-core=0",
  ]);
  const log = createWriteStream(options.logFile);
  proxy.onOutput = (chunk) => void log.write(chunk);
  proxy.onErrors = (chunk) => void log.write(chunk);
  return proxy;
}
