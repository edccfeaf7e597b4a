import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Child } from "../child.ts";
import { LabError } from "../error.ts";
import type { Progress } from "../progress.ts";
import { ApiServer, startPart, type ClientName } from "./api-server.ts";
import { KUBERNETES_VERSION, kubeBinaries, type KubeBinaries, type Part } from "./binary.ts";
import { memoryDirectory, startEtcd } from "./etcd.ts";

/** Memory of all parts: 0.7 GB after the start. */
export const CONTROL_PLANE_GB = 1;

export interface ControlPlane {
  binaries: KubeBinaries;
  server: ApiServer;
  /** A cluster-admin's kubeconfig. */
  kubeconfig: string;
  directory: string;
  parts: readonly Child[];
  stop(): Promise<void>;
}

const FAST_CLIENT = ["--kube-api-qps=1000", "--kube-api-burst=2000"];

interface ControlPlaneOptions {
  kwok: boolean;
  /** Whether nodes with a silent kubelet are tainted and their pods evicted; default: true. */
  nodeLifecycle?: boolean;
  progress: Progress;
  address?: string;
}

/** etcd, kube-apiserver, kube-controller-manager and kube-scheduler; kwok too when nodes should look alive. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { progress } = options;
  const binaries = await kubeBinaries(progress);
  const memory = await memoryDirectory("kube");
  const directory = memory.path;
  const parts: Child[] = [];
  const stop = async () => {
    await Promise.all(parts.map((part) => part.kill()));
    await server?.kill();
    await memory.remove();
  };
  let server: ApiServer | undefined;
  try {
    progress.step("Starting etcd");
    const etcd = await startEtcd(binaries, directory);
    parts.push(etcd.child);
    progress.step(`Starting kube-apiserver ${KUBERNETES_VERSION}`);
    server = await ApiServer.start({
      binaries,
      directory: join(directory, "kube-apiserver"),
      etcd: etcd.url,
      prefix: "/lab",
      ...(options.address === undefined ? {} : { address: options.address }),
    });

    progress.step("Starting controller-manager and scheduler");
    const { kwok, nodeLifecycle } = options;
    parts.push(...(await startControllers(binaries, server, { nodeLifecycle, ...(kwok ? { stages: await kwokStages(binaries) } : {}) })));
    progress.done();
    return { binaries, server, kubeconfig: await server.kubeconfig("admin"), directory, parts, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface ControllersOptions {
  nodeLifecycle?: boolean | undefined;
  /** What kwok does with nodes and pods; without them there is no kwok. */
  stages?: string;
}

/** What makes a bare API server a cluster: kube-controller-manager, kube-scheduler, and kwok in the place of every kubelet. */
export async function startControllers(binaries: KubeBinaries, server: ApiServer, options: ControllersOptions): Promise<Child[]> {
  const parts: Child[] = [];
  const start = async (part: Part, identity: ClientName, flags: string[]) => {
    const kubeconfig = await server.kubeconfig(identity);
    parts.push(startPart(binaries, part, [`--kubeconfig=${kubeconfig}`, ...flags], join(server.directory, `${part}.log`)));
  };
  await start("kube-controller-manager", "controller-manager", [
    ...FAST_CLIENT,
    "--use-service-account-credentials",
    `--service-account-private-key-file=${join(server.directory, "service-account.pem")}`,
    `--root-ca-file=${await server.writeCa()}`,
    "--leader-elect=false",
    "--secure-port=0",
    // A claim whose binding met a conflict is looked at again only then, after 15 s by default.
    "--pvclaimbinder-sync-period=1s",
    ...(options.nodeLifecycle === false ? ["--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"] : []),
  ]);
  await start("kube-scheduler", "scheduler", [...FAST_CLIENT, "--leader-elect=false", "--secure-port=0"]);
  if (options.stages !== undefined) {
    const stages = join(server.directory, "stages.yaml");
    await writeFile(stages, options.stages);
    await start("kwok", "admin", ["--manage-all-nodes=true", `--config=${stages}`]);
  }
  return parts;
}

/** kwok does nothing without stages; our binary prints those that kwok brings. */
export async function kwokStages(binaries: KubeBinaries): Promise<string> {
  const command = binaries.command("kwok-stages");
  if (!command) throw new LabError("NoBinaries", "The binaries in KUBEBUILDER_ASSETS bring no kwok; unset it to use our own build");
  const [program, ...args] = command;
  return (await promisify(execFile)(program, args)).stdout;
}
