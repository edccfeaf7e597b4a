import { join } from "node:path";
import { cacheDirectory } from "../../src/util/cache-directory.ts";
import { memoryDirectory } from "../kube/etcd.ts";
import { CONTROL_PLANE_GB } from "../kube/control-plane.ts";
import type { Feature } from "../kernel/select.ts";
import { type MachineKernel, startMachine } from "../machine/start.ts";
import type { LabHost } from "../net/lab-host.ts";
import { hostOf, type Net, startNet } from "../net/net.ts";
import { writeTopologyManifests } from "../net/topology-manifests.ts";
import { DEFAULT_TOPOLOGY, managementHost, type NodeName, numberOf, type Topology } from "../net/topology.ts";
import type { Progress } from "../progress.ts";
import { Node } from "../../src/api/core/node.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import type { Log } from "../../src/kube/log.ts";
import { addControllerComponents } from "../../src/cli/shared/controller-components.ts";
import type { PageAddress } from "../../src/cli/dashboard/page-address.ts";
import { Agent, replaceWithNodes } from "./agents.ts";
import { builtProgram } from "./program.ts";
import { applyManifests, type LabApi, METALLB_NAMESPACE, NAMESPACE, ROUTER_NAMESPACE, startEmbeddedApi, startKubeApi } from "./api.ts";
import { AnnouncedServices } from "./announced-services.ts";
import { startKubeNodes } from "./kube-nodes.ts";
import { startNameServer } from "./name-server.ts";
import { EMULATED_PORTS, BackendEmulators } from "./backend-emulators.ts";

export interface RouterLabOptions {
  /** Three nodes and one ToR without. */
  readonly topology?: Topology;
  /** The real API server instead of the embedded one. */
  readonly kube?: boolean;
  /** `own`, `uml`, or the path of a User-Mode Linux. Without it one that has what the lab needs. On one without VRF the nodes have no routers. */
  readonly kernel?: string | undefined;
  /** What is configured from the start; nothing without. Files, and directories for what is in them. */
  readonly manifests?: (lab: { routers: boolean; directory: string }) => readonly string[] | Promise<readonly string[]>;
  /** Whether each node gets a BGP speaker that is not ours, at the other end of a HostSession. */
  readonly speakers?: boolean;
  /** Whether something answers for services where there are no pods. */
  readonly standIns?: boolean;
  /** Given where nodes check what they reach: there is a name server, and they try this often, such as `10s`. */
  readonly checkInterval?: string;
  /** How often agents say that they are alive, such as `2s`; as they do by themselves without. */
  readonly heartbeat?: string;
  /** How long an agent may be silent. */
  readonly silenceMs?: number;
  /** Where the page is served; there is none without. */
  readonly page?: PageAddress | undefined;
  /** Which nodes have an agent; all of them without. */
  readonly agentsOn?: readonly NodeName[];
  readonly log: Log;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

export interface RouterLab {
  readonly api: LabApi;
  readonly kernel: MachineKernel;
  /** Whether the nodes have routers: a kernel without VRF cannot have them. */
  readonly routers: boolean;
  readonly net: Net;
  readonly services: AnnouncedServices;
  readonly agents: ReadonlyMap<string, Agent>;
  /** Plumbline as the hosts run it. */
  readonly program: string;
  /** Logs of the agents and the console of User-Mode Linux; gone with the lab. */
  readonly directory: string;
  /** As the machine's. */
  readonly gone: Promise<string>;
  /** A line that says where the page is. */
  readonly page: Promise<string> | undefined;
  host(name: string): LabHost;
  restartController(): Promise<void>;
  stop(): Promise<void>;
}

/** The manifests of the lab as it comes. */
export const LAB_MANIFESTS = join(import.meta.dirname, "../manifests");
const KUBE_MANIFESTS = join(import.meta.dirname, "../kube/manifests");

interface LabManifestsOptions {
  readonly kube: boolean;
  readonly routers: boolean;
  readonly checks?: boolean;
  readonly topology?: Topology;
  /** The lab's own, for what depends on the topology. */
  readonly directory: string;
}

/** What belongs into a lab of this form. A later path replaces what an earlier one has under the same name. */
export async function labManifests(options: LabManifestsOptions): Promise<string[]> {
  const { kube, routers, checks = false, topology = DEFAULT_TOPOLOGY } = options;
  const directory = join(options.directory, "topology-manifests");
  const generated = await writeTopologyManifests(directory, topology, { kube, routers });
  if (!kube) return [LAB_MANIFESTS, directory];
  const router = ["underlay.yaml", "red.yaml", "blue.yaml", "passthrough.yaml", "loadbalancer/peer.yaml"];
  const meshes = ["connectivity/to-nodes.yaml", "connectivity/to-services.yaml", "connectivity/to-names.yaml"];
  const files = ["loadbalancer/pools.yaml", "loadbalancer/services.yaml", ...(routers ? router : []), ...(checks ? meshes : [])];
  const own = ["pods.yaml", routers ? "tenant.yaml" : "peer.yaml"];
  return [
    ...files.filter((file) => !generated.includes(file)).map((file) => join(LAB_MANIFESTS, file)),
    ...own.map((file) => join(KUBE_MANIFESTS, file)),
    ...generated.map((file) => join(directory, file)),
  ];
}

/** ToRs, nodes with their agents, clients, the API and the controller. All of it is gone with this process, however that ends. */
export async function startRouterLab(options: RouterLabOptions): Promise<RouterLab> {
  const { topology = DEFAULT_TOPOLOGY, log, progress, signal } = options;
  await using started = new AsyncDisposableStack();
  const memory = await memoryDirectory("lab");
  started.defer(() => memory.remove());
  const directory = memory.path;
  const features: readonly Feature[] = options.kernel === "own" ? [] : ["vrf", ...(options.kube ? (["nftables"] as const) : [])];
  const machine = await startMachine({
    directory,
    progress,
    signal,
    use: options.kernel,
    features,
    besideGb: options.kube ? CONTROL_PLANE_GB : 0,
  });
  started.defer(() => machine.stop());
  signal.throwIfAborted();

  const { network, kernel } = machine;
  const routers = !kernel.missing.includes("vrf");
  const manifests = (await options.manifests?.({ routers, directory })) ?? [];
  const apiOptions = { directory, address: network.outside, progress, signal };
  const api = await (options.kube ? startKubeApi(apiOptions) : startEmbeddedApi({ ...apiOptions, manifests, log }));
  started.defer(() => api.stop());
  for (const node of topology.nodes) await createNode(api.client, node, network.address(managementHost(node)), signal);
  // Not before all nodes are there: pods spread over those that there are.
  if (api.plane) await applyManifests(api.client, manifests, signal);
  let controller = await runController(api.controller, options);
  started.defer(() => controller.stop());

  const net = await startNet({
    topology,
    started: machine,
    keep: [directory, cacheDirectory()],
    routers,
    speakers: options.speakers ?? false,
    progress,
    signal,
  });
  if (api.plane) {
    progress.step("Starting kube-proxy and the pods");
    started.defer(await startKubeNodes({ plane: api.plane, client: api.client, net, network, routers, directory, log }));
  }
  const stop = new AbortController();
  started.defer(() => stop.abort());
  const services = new AnnouncedServices(api.client);
  services.start(stop.signal);
  const withStandIns = options.standIns === true && !api.plane;
  if (withStandIns) {
    const standIns = new BackendEmulators({ client: api.client, services, net, network, log });
    started.defer(() => standIns.stop());
    await standIns.start(stop.signal);
  }
  if (options.checkInterval !== undefined)
    started.defer(await startNameServer({ machine: machine.machine, address: network.inside, net, services }));
  progress.step("Starting the agents");
  const program = await builtProgram(directory);
  const agents = new Map<string, Agent>();
  for (const node of options.agentsOn ?? topology.nodes) {
    const agent = new Agent({
      host: hostOf(net, node),
      program,
      kubeconfig: await api.agentKubeconfig(node),
      logFile: join(directory, `agent-${node}.log`),
      router: routers,
      standInPorts: withStandIns ? EMULATED_PORTS : undefined,
      checkInterval: options.checkInterval,
      heartbeat: options.heartbeat,
      onEnd: (code) => log.warn({ node, code }, "the agent exited and is restarted"),
    });
    agents.set(node, agent);
    started.defer(() => agent.stop());
  }
  if (api.plane) replaceWithNodes({ api, agents, log, signal: stop.signal });
  progress.done();
  const running = started.move();
  return {
    api,
    kernel,
    routers,
    net,
    services,
    agents,
    program,
    directory,
    gone: machine.gone,
    page: controller.page,
    host: (name) => hostOf(net, name),
    async restartController() {
      await controller.stop();
      controller = await runController(api.controller, options);
    },
    stop: () => running.disposeAsync(),
  };
}

async function createNode(client: KubeClient, node: NodeName, address: string, signal: AbortSignal): Promise<void> {
  const labels = { "kubernetes.io/hostname": node, rack: numberOf(node) === 1 ? "a" : "b" };
  const nodes = client.resource(Node);
  await nodes.create({ apiVersion: "v1", kind: "Node", metadata: { name: node, labels }, spec: {} }, { signal });
  // A node without conditions is not ready to the scheduler, and a new one is tainted until someone has looked at it.
  const status = {
    addresses: [{ type: "InternalIP", address }],
    conditions: [
      { type: "Ready", status: "True", reason: "Lab", message: "A node of the lab", lastTransitionTime: new Date().toISOString() },
    ],
    capacity: { pods: "250" },
    allocatable: { pods: "250" },
  };
  await nodes.patchStatus({ name: node }, { status }, { signal });
  await nodes.patch({ name: node }, { spec: { taints: null } }, { signal });
}

interface LabController {
  readonly page: Promise<string> | undefined;
  stop(): Promise<void>;
}

/** The lab's only controller: it needs no election. */
async function runController(
  { access }: KubeClient,
  { log, silenceMs, page: address }: Pick<RouterLabOptions, "log" | "silenceMs" | "page">,
): Promise<LabController> {
  // Its own: the manager closes it.
  const client = new KubeClient(access, { userAgent: "controller" });
  const stop = new AbortController();
  const manager = new Manager({ client, log });
  addControllerComponents({
    manager,
    client,
    log,
    namespace: NAMESPACE,
    routerNamespace: ROUTER_NAMESPACE,
    loadBalancer: { namespace: METALLB_NAMESPACE },
    waitForOldWrites: noOldWrites,
    ...(silenceMs === undefined ? {} : { silenceMs }),
  });
  const namespaces = { routerNamespace: ROUTER_NAMESPACE, metallbNamespace: METALLB_NAMESPACE };
  const page = address && (await import("../../src/cli/dashboard/local-page.ts")).addLocalPage({ manager, namespaces, address, log });
  const running = manager.run(stop.signal);
  return {
    page,
    stop() {
      stop.abort();
      return running;
    },
  };
}

function noOldWrites(): Promise<void> {
  return Promise.resolve();
}
