import { cp } from "node:fs/promises";
import { join } from "node:path";
import type { ControlPlane } from "../kube/control-plane.ts";
import { startProxy } from "../kube/proxy.ts";
import type { StartedMachine } from "../machine/start.ts";
import { hostOf, type Net } from "../net/net.ts";
import { keepReturnRoutes } from "../net/return-routes.ts";
import { Kubelet } from "../pods/kubelet.ts";
import { POD_NETWORK, startPodNetwork } from "../pods/pod-network.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { Log } from "../../src/kube/log.ts";

interface KubeNodesOptions {
  readonly plane: ControlPlane;
  readonly client: KubeClient;
  readonly net: Net;
  readonly network: StartedMachine["network"];
  /** Whether clients are behind the nodes' routers. */
  readonly routers: boolean;
  /** The lab's own, which every host sees. */
  readonly directory: string;
  readonly log: Log;
}

/** What makes the lab's nodes nodes of a real cluster: pods, a network for them, and kube-proxy. Returns what ends it. */
export async function startKubeNodes({
  plane,
  client,
  net,
  network,
  routers,
  directory,
  log,
}: KubeNodesOptions): Promise<() => Promise<void>> {
  const stop = new AbortController();
  await startPodNetwork(net, network);
  const kubeconfig = join(directory, "kube-proxy.kubeconfig");
  await cp(await plane.server.kubeconfig("proxy"), kubeconfig);
  const proxies = net.topology.nodes.map((node) =>
    startProxy(hostOf(net, node), {
      binaries: plane.binaries,
      kubeconfig,
      podNetwork: POD_NETWORK,
      logFile: join(directory, `kube-proxy-${node}.log`),
    }),
  );
  const processes = [...proxies, ...(routers ? net.topology.nodes.map((node) => keepReturnRoutes(hostOf(net, node), net.topology)) : [])];
  new Kubelet({ client, net, log }).start(stop.signal);
  return async () => {
    stop.abort();
    await Promise.all(processes.map((process) => process.kill()));
  };
}
