import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LabHost } from "../../lab/net/lab-host.ts";
import type { NodeName } from "../../lab/net/topology.ts";
import { silent } from "../../lab/progress.ts";
import { type OutageEntry, PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { Service } from "../../src/api/core/service.ts";
import { FAULTS } from "../../lab/faults/faults.ts";
import { LAB_MANIFESTS, type RouterLab, startRouterLab } from "../../lab/cli/router-lab.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { createLog } from "../../src/kube/log.ts";
import { plumbline } from "./command-line.ts";
import { NODES } from "./nodes.ts";

const PATIENCE_MS = 180_000;
const POLL_INTERVAL_MS = 100;
const MANIFESTS = ["loadbalancer/services.yaml", "../kube/manifests/pods.yaml", "connectivity"];
const SERVICES = ["web", "wiki"];

/** From just before until just after something was done, in milliseconds of the clock on the wall. */
export interface TimeRange {
  readonly from: number;
  readonly by: number;
}

/** The lab of `plumbline lab up --kube`, with what connectivity checks need and nothing else. */
export class ChecksLab {
  readonly #lab: RouterLab;
  readonly #checks: Cache<PodNetworkConnectivityCheck>;
  readonly #stop = new AbortController();

  private constructor(lab: RouterLab) {
    this.#lab = lab;
    this.#checks = new Cache(lab.api.client, PodNetworkConnectivityCheck);
    this.#checks.start(this.#stop.signal);
  }

  static async start(checkInterval: string): Promise<ChecksLab> {
    const { signal } = new AbortController();
    const lab = await startRouterLab({
      kube: true,
      manifests: () => MANIFESTS.map((path) => join(LAB_MANIFESTS, path)),
      checkInterval,
      log: createLog({ level: "error" }),
      progress: silent,
      signal,
    });
    // Otherwise kube-proxy picks a pod of any node for each attempt, and a Service check fails now and then while one node cannot be reached.
    for (const name of SERVICES) {
      const where = { name, namespace: "default" };
      await lab.api.client.resource(Service).patch(where, { spec: { internalTrafficPolicy: "Local" } }, { signal });
    }
    return new ChecksLab(lab);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#lab.stop();
  }

  host(name: string): LabHost {
    return this.#lab.host(name);
  }

  /** `node1 to endpoint/default/web on node2`, for every check. */
  names(): string[] {
    return this.#checks.list().map(nameOf).toSorted();
  }

  /** Those whose condition says this. */
  saying(status: "True" | "False" | "Unknown"): string[] {
    const found = this.#checks.list().filter((check) => reachable(check) === status);
    return found.map(nameOf).toSorted();
  }

  /** Every outage of a check, oldest first. */
  outages(name: string): readonly OutageEntry[] {
    return this.#named(name)?.status?.outages?.toReversed() ?? [];
  }

  uid(name: string): string {
    return this.#named(name)?.metadata.uid ?? "";
  }

  /** Breaks or fixes something as `lab break` does. */
  async fault(name: string, node: NodeName, how: "break" | "fix"): Promise<TimeRange> {
    const fault = FAULTS[name];
    if (!fault?.fix) throw new TypeError(`there is no fault ${name} that can be fixed`);
    const context = {
      node,
      nodes: NODES,
      client: this.#lab.api.client,
      host: (host: string) => this.host(host),
      signal: this.#stop.signal,
    };
    const from = Date.now();
    await (how === "break" ? fault.break(context) : fault.fix(context));
    return { from, by: Date.now() };
  }

  /** What `plumbline connectivity` says is at fault. */
  async blamed(): Promise<string[]> {
    const { stdout, stderr } = await plumbline(["connectivity", "-o", "json"], { KUBECONFIG: this.#lab.api.kubeconfig });
    if (stdout === "") throw new Error(stderr);
    const { items } = JSON.parse(stdout) as { items: { blame: { sentence: string }[] }[] };
    return items.flatMap(({ blame }) => blame.map(({ sentence }) => sentence));
  }

  async eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s\n${this.#picture()}`);
      await sleep(POLL_INTERVAL_MS);
    }
  }

  #named(name: string): PodNetworkConnectivityCheck | undefined {
    return this.#checks.list().find((check) => nameOf(check) === name);
  }

  #picture(): string {
    const lines = this.#checks.list().map((check) => `${nameOf(check)}: ${reachable(check)} ${condition(check)?.message ?? ""}`);
    return lines.toSorted().join("\n");
  }
}

function nameOf({ spec, metadata: { annotations = {} } }: PodNetworkConnectivityCheck): string {
  const what = annotations["plumbline.dev/target"] ?? "";
  const node = what.startsWith("endpoint/") ? ` on ${annotations["plumbline.dev/target-node"]}` : "";
  return `${spec.sourcePod} to ${what === "host" ? spec.targetEndpoint : what}${node}`;
}

function condition({ status }: PodNetworkConnectivityCheck) {
  return status?.conditions?.find(({ type }) => type === "Reachable");
}

function reachable(check: PodNetworkConnectivityCheck): string {
  return condition(check)?.status ?? "Unknown";
}
