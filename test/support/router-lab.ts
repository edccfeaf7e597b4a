import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseAllDocuments } from "yaml";
import type { ExecOutcome } from "../../lab/machine/machine.ts";
import type { LabHost } from "../../lab/net/lab-host.ts";
import { hostAddress, type NodeName, type Segment } from "../../lab/net/topology.ts";
import { silent } from "../../lab/progress.ts";
import type { KubeObject } from "../../src/api/kind.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { ROUTER_NAMESPACE } from "../../lab/cli/api.ts";
import { FAULTS } from "../../lab/faults/faults.ts";
import type { Fault } from "../../lab/faults/fault.ts";
import { LAB_MANIFESTS, type RouterLab, startRouterLab } from "../../lab/cli/router-lab.ts";
import { Traffic } from "../../lab/cli/traffic.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { createLog } from "../../src/kube/log.ts";
import { NODES } from "./nodes.ts";

/** For `expect.poll`: long, because a busy machine is slow, and User-Mode Linux on it slower. */
export const EVENTUALLY = { timeout: 240_000, interval: 200 };
const PING_EVERY_MS = 100;
/** Pings that were on their way when something was looked at. */
const CONVERGENCE_MS = 600;

type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;
type Failed = NonNullable<Status["failedResources"]>[number];

/** The lab as a suite uses it: real API server, FRR, agents with the chart's identities, and kernel. Configuration comes and goes through the API. */
export class TestLab {
  readonly #lab: RouterLab;
  readonly #signal = new AbortController().signal;

  private constructor(lab: RouterLab) {
    this.#lab = lab;
  }

  static async start(): Promise<TestLab> {
    const log = createLog({ level: "error" });
    return new TestLab(await startRouterLab({ kube: true, speakers: true, log, progress: silent, signal: new AbortController().signal }));
  }

  stop(): Promise<void> {
    return this.#lab.stop();
  }

  get client(): RouterLab["api"]["client"] {
    return this.#lab.api.client;
  }

  get lab(): RouterLab {
    return this.#lab;
  }

  host(name: string): LabHost {
    return this.#lab.host(name);
  }

  /** On a host of the lab, whatever the exit code. */
  exec(host: string, ...command: string[]): Promise<ExecOutcome> {
    return this.host(host).run(command);
  }

  /** Of the router's FRR on a node. */
  async show<T>(node: NodeName, line: string): Promise<T> {
    return JSON.parse(await this.host(node).do(["vtysh", "-N", "plumbline-router", "-c", line])) as T;
  }

  /** Makes objects be as these manifests say, new or not. */
  async apply(text: string): Promise<void> {
    for (const document of parseAllDocuments(text)) await this.#applyOne(document.toJS() as KubeObject & { spec?: object });
  }

  /** Of the manifests that the lab comes with: `red.yaml`. */
  async applyExample(file: string): Promise<void> {
    await this.apply(await readFile(join(LAB_MANIFESTS, file), "utf8"));
  }

  async #applyOne(object: KubeObject & { spec?: object }): Promise<void> {
    const resource = this.#lab.api.client.resource(kindOf(object.kind ?? ""));
    const metadata = { ...object.metadata, namespace: object.metadata.namespace ?? ROUTER_NAMESPACE };
    try {
      await resource.create({ ...object, metadata }, { signal: this.#signal });
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists")) throw error;
      const stored = await resource.get(metadata.name, { namespace: metadata.namespace, signal: this.#signal });
      await resource.replace({ ...stored, spec: object.spec } as never, { signal: this.#signal });
    }
  }

  async delete(kind: string, name: string): Promise<void> {
    await this.#lab.api.client.resource(kindOf(kind)).delete({ name, namespace: ROUTER_NAMESPACE }, { signal: this.#signal });
  }

  /** Removes all resources except the Underlay, and waits until the nodes have removed them. */
  async clear(): Promise<void> {
    for (const kind of ["RawFRRConfig", "L3Passthrough", "L3VNI", "L2VNI"]) {
      const resource = this.#lab.api.client.resource(kindOf(kind));
      const { items } = await resource.list({ namespace: ROUTER_NAMESPACE, signal: this.#signal });
      for (const { metadata } of items) await this.delete(kind, metadata.name);
    }
    for (const node of NODES) {
      await this.eventually(`${node} is empty`, async () => {
        const status = await this.status(node);
        return status !== undefined && (status.resources ?? []).every(({ kind }) => kind === "Underlay");
      });
    }
  }

  async status(node: NodeName): Promise<Status | undefined> {
    try {
      const options = { namespace: ROUTER_NAMESPACE, signal: this.#signal };
      return (await this.#lab.api.client.resource(RouterNodeConfigurationStatus).get(node, options)).status;
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  async failures(node: NodeName): Promise<Failed[]> {
    return (await this.status(node))?.failedResources ?? [];
  }

  async condition(node: NodeName, type: string): Promise<string | undefined> {
    return (await this.status(node))?.conditions?.find((condition) => condition.type === type)?.status;
  }

  /** What became of a resource on a node, at the generation that it has now: `Applied`. Undefined while the node has not looked at that one. */
  async state(node: NodeName, kind: string, name: string): Promise<string | undefined> {
    const options = { namespace: ROUTER_NAMESPACE, signal: this.#signal };
    const { metadata } = await this.#lab.api.client.resource(kindOf(kind)).get(name, options);
    const found = (await this.status(node))?.resources?.find((resource) => resource.kind === kind && resource.name === name);
    return found?.generation === metadata.generation ? found?.state : undefined;
  }

  /** Until everything that is for all nodes is live on these as it is written now, and all their sessions are up. */
  async ready(nodes: readonly NodeName[] = NODES): Promise<void> {
    for (const node of nodes) {
      await this.eventually(`${node} is ready`, async () => {
        const { conditions = [], resources = [] } = (await this.status(node)) ?? {};
        const is = (type: string, status: string) => conditions.some((condition) => condition.type === type && condition.status === status);
        const live = new Set(resources.map(({ kind, name, generation, state }) => `${kind} ${name} ${generation} ${state}`));
        const wanted = await this.#written();
        return is("Ready", "True") && is("SessionsEstablished", "True") && wanted.every((one) => live.has(one));
      });
    }
  }

  async #written(): Promise<string[]> {
    const kinds = ["Underlay", "L2VNI", "L3VNI"];
    const lists = await Promise.all(
      kinds.map(async (kind) => {
        const { items } = await this.#lab.api.client.resource(kindOf(kind)).list({ namespace: ROUTER_NAMESPACE, signal: this.#signal });
        const forAll = items.filter((item) => !("nodeSelector" in ((item as { spec?: object }).spec ?? {})));
        return forAll.map(({ metadata }) => `${kind} ${metadata.name} ${metadata.generation} Applied`);
      }),
    );
    return lists.flat();
  }

  /** Whether one ping from a network namespace of a node is answered. */
  async pings(node: NodeName, namespace: string, address: string): Promise<boolean> {
    return (await this.exec(node, "ip", "netns", "exec", namespace, "ping", "-c1", "-W1", address)).code === 0;
  }

  /** Waits for a condition; on a timeout the error has the state of the nodes. */
  async eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + EVENTUALLY.timeout;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(`${what}: not within ${EVENTUALLY.timeout / 1000} s\n${await this.#picture()}`);
      await sleep(EVENTUALLY.interval);
    }
  }

  async #picture(): Promise<string> {
    const lines = NODES.map(async (node) => {
      const log = await readFile(join(this.#lab.directory, `agent-${node}.log`), "utf8").catch(() => "");
      return `${node}: ${JSON.stringify(await this.status(node))}\n${log.trimEnd().split("\n").slice(-6).join("\n")}`;
    });
    return (await Promise.all(lines)).join("\n");
  }

  /** A ping every 100 ms from one segment's host on a node to another's. Started when the first answer is there. */
  async traffic(from: { segment: Segment; node: NodeName }, to: { segment: Segment; node: NodeName }): Promise<Traffic> {
    return this.trafficTo(from, hostAddress(to.segment, to.node));
  }

  async trafficTo(from: { segment: Segment; node: NodeName }, address: string): Promise<Traffic> {
    const label = `${from.segment.name}@${from.node} to ${address}`;
    const { name: namespace } = from.segment;
    await this.eventually(`${label} passes`, () => this.pings(from.node, namespace, address));
    const traffic = new Traffic({ label, host: this.host(from.node), namespace, to: address, everyMs: PING_EVERY_MS });
    await this.eventually(`${label} goes on`, () => Promise.resolve(traffic.answered > 5));
    return traffic;
  }

  /** How many of these pings were lost until now. */
  async lost(traffic: readonly Traffic[]): Promise<number[]> {
    await sleep(CONVERGENCE_MS);
    return traffic.map(({ lost }) => lost);
  }

  /** Breaks or fixes something as `lab break` does. */
  async fault(name: string, node: NodeName, how: "break" | "fix" = "break"): Promise<void> {
    const fault: Fault | undefined = FAULTS[name];
    if (!fault) throw new TypeError(`there is no fault ${name}`);
    const context = { node, nodes: NODES, client: this.#lab.api.client, host: (host: string) => this.host(host), signal: this.#signal };
    await (how === "break" ? fault.break(context) : fault.fix?.(context));
  }
}

function kindOf(name: string): (typeof CUSTOM_KINDS)[number] {
  const kind = CUSTOM_KINDS.find((kind) => kind.kind === name);
  if (!kind) throw new TypeError(`there is no kind ${name}`);
  return kind;
}
