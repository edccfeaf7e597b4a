import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Document, parseAllDocuments } from "yaml";
import type { LabHost } from "../../lab/net/lab-host.ts";
import { ACCESS_LINK, type NodeName, underlayAddress } from "../../lab/net/topology.ts";
import { silent } from "../../lab/progress.ts";
import type { ConnectAttempt } from "../../lab/services/connect.ts";
import { Node } from "../../src/api/core/node.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Service } from "../../src/api/core/service.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { ServiceL2Status } from "../../src/api/metallb/service-l2-status.ts";
import { type AnnouncedService, targetsOf } from "../../lab/cli/announced-services.ts";
import { METALLB_NAMESPACE } from "../../lab/cli/api.ts";
import { Connections } from "../../lab/cli/connections.ts";
import { FAULTS } from "../../lab/faults/faults.ts";
import type { Fault } from "../../lab/faults/fault.ts";
import { labManifests, type RouterLab, startRouterLab } from "../../lab/cli/router-lab.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { createLog } from "../../src/kube/log.ts";
import { AddressHistory } from "./service-addresses.ts";
import { NODES } from "./nodes.ts";

const PATIENCE_MS = 120_000;
const POLL_MS = 50;
const CONNECT_EVERY_MS = 100;
/** A third of what a cluster has: nothing here is about how long it is. */
const SILENCE_MS = 15_000;
/** With connectivity checks and shorter timeouts, as in the drill. */
const WITH_CHECKS = { checkInterval: "3s", heartbeat: "2s", silenceMs: 8_000 };
/** Longer than an attempt may take. */
const QUIET_MS = 3_000;

/** Where a node is found: its own address, and its MAC on the client's segment. */
export interface NodeAddresses {
  readonly ip: string;
  readonly mac: string;
}

/** The lab on a real cluster as a suite uses it: kube-proxy, pods, agents and FRR are real, and a client connects ten times a second all along. */
export class ServiceLab {
  readonly lab: RouterLab;
  readonly signal = new AbortController().signal;
  readonly attempts: ConnectAttempt[] = [];
  readonly addressHistory: AddressHistory;
  readonly #connections: Connections;
  /** What the lab itself had to say. */
  readonly #reported: readonly string[];

  private constructor(warnings: readonly string[], lab: RouterLab) {
    this.#reported = warnings;
    this.lab = lab;
    this.addressHistory = new AddressHistory(lab);
    this.#connections = new Connections({
      host: lab.host("client"),
      everyMs: CONNECT_EVERY_MS,
      onAttempt: (attempt) => this.attempts.push(attempt),
    });
  }

  static async start({ checks = false } = {}): Promise<ServiceLab> {
    const warnings: string[] = [];
    const log = createLog({ level: "warn", write: (line) => void warnings.push(line.trimEnd()) });
    return new ServiceLab(
      warnings,
      await startRouterLab({
        kube: true,
        kernel: "own",
        manifests: (lab) => labManifests({ kube: true, checks, ...lab }),
        ...(checks ? WITH_CHECKS : { silenceMs: SILENCE_MS }),
        log,
        progress: silent,
        signal: new AbortController().signal,
      }),
    );
  }

  async stop(): Promise<void> {
    await this.lab.stop();
  }

  host(name: string): LabHost {
    return this.lab.host(name);
  }

  /** A Service as those who announce it tell of it: `web`. */
  service(name: string): AnnouncedService {
    const found = this.lab.services.list().find(({ key }) => key === `default/${name}`);
    return found ?? { key: `default/${name}`, addresses: [], clusterIPs: [], ports: [], bgp: [] };
  }

  address(name: string): string {
    const [address] = this.service(name).addresses;
    if (address === undefined) throw new Error(`Service ${name} has no address`);
    return address;
  }

  /** The node that has wiki's address. */
  holder(): NodeName {
    const node = NODES.find((name) => name === this.service("wiki").l2);
    if (!node) throw new Error("nobody holds wiki's address");
    return node;
  }

  /** Until web is announced by every node, and wiki by one that has its address. */
  async whole(): Promise<void> {
    await this.eventually("web and wiki are announced", async () => {
      const [web] = this.service("web").addresses;
      const { addresses, l2 } = this.service("wiki");
      if (web === undefined || addresses[0] === undefined || l2 === undefined) return false;
      // While not all nodes are candidates again, the address may be about to move.
      const [first, ...others] = await this.#candidates("wiki");
      if (first !== l2 || others.length !== NODES.length - 1) return false;
      return (await this.towards(web)).length === NODES.length && this.addressHistory.holders(addresses[0]).join(" ") === l2;
    });
  }

  async #candidates(name: string): Promise<readonly string[]> {
    const { items } = await this.lab.api.client.resource(ServiceL2Status).list({ namespace: "default", signal: this.signal });
    return items.find(({ status }) => status?.service === name)?.status?.eligibleNodes ?? [];
  }

  /** From now on the client connects to these, and only to these. */
  connectTo(...names: string[]): void {
    this.#connections.aim(targetsOf(names.map((name) => this.service(name))));
  }

  /** The nodes that the tor sends packets for an address to. */
  async towards(address: string): Promise<NodeName[]> {
    const text = await this.host("tor").do(["ip", "-4", "route", "show", address]);
    return NODES.filter((node) => new RegExp(`via ${underlayAddress(node).replaceAll(".", "\\.")}\\b`).test(text));
  }

  /** The tor's sessions with the nodes: how often each has come up, and why it fell last. */
  async torSessions(): Promise<Map<NodeName, { established: number; lastReset: string }>> {
    const text = await this.host("tor").do(["vtysh", "-c", "show bgp neighbors json"]);
    const neighbors = JSON.parse(text) as Record<
      string,
      { connectionsEstablished?: number; lastResetDueTo?: string; lastNotificationReason?: string } | undefined
    >;
    return new Map(
      NODES.map((node) => {
        const { connectionsEstablished = 0, lastResetDueTo = "", lastNotificationReason = "" } = neighbors[underlayAddress(node)] ?? {};
        return [node, { established: connectionsEstablished, lastReset: `${lastResetDueTo}: ${lastNotificationReason}` }];
      }),
    );
  }

  async addressesOf(node: NodeName): Promise<NodeAddresses> {
    const { status } = await this.lab.api.client.resource(Node).get(node, { signal: this.signal });
    const [link] = JSON.parse(await this.host(node).do(["ip", "-j", "link", "show", ACCESS_LINK])) as [{ address: string }];
    return { ip: status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "", mac: link.address };
  }

  /** What became of the attempts to these services that began since then, once all of those are over. */
  async since(moment: number, ...names: string[]): Promise<{ ok: ConnectAttempt[]; failed: ConnectAttempt[]; late: ConnectAttempt[] }> {
    const until = Date.now();
    await sleep(QUIET_MS);
    const keys = new Set(names.map((name) => `default/${name}`));
    const mine = this.attempts.filter(({ name, at }) => keys.has(name) && at >= moment && at <= until);
    return {
      ok: mine.filter(({ by }) => by !== undefined),
      failed: mine.filter(({ by }) => by === undefined),
      late: mine.filter(({ by, ms }) => by !== undefined && ms >= 1_000),
    };
  }

  async eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s\n${await this.#picture()}`);
      await sleep(POLL_MS);
    }
  }

  /** Makes objects be as these manifests say, new or not. */
  async apply(text: string): Promise<void> {
    for (const document of parseAllDocuments(text)) {
      const object = (document as Document).toJS() as KubeObject;
      await this.lab.api.client.resource(kindOf(object)).apply(object, { fieldManager: "test", force: true, signal: this.signal });
    }
  }

  async delete<T extends KubeObject>(kind: Kind<T>, name: string, namespace = METALLB_NAMESPACE): Promise<void> {
    await this.lab.api.client
      .resource(kind)
      .delete({ name, namespace }, { signal: this.signal })
      .catch((error: unknown) => {
        if (!isKubeError(error, "NotFound")) throw error;
      });
  }

  async serviceObject(name: string): Promise<Service> {
    return this.lab.api.client.resource(Service).get(name, { namespace: "default", signal: this.signal });
  }

  /** By component: `speaker-node1 Valid`, with what is wrong behind it. */
  async configurationStates(): Promise<string[]> {
    const { items } = await this.lab.api.client.resource(ConfigurationState).list({ namespace: METALLB_NAMESPACE, signal: this.signal });
    return items
      .map(({ metadata, status }) => `${metadata.name} ${status?.result ?? ""}${status?.lastError ? `: ${status.lastError}` : ""}`)
      .toSorted();
  }

  /** Breaks or fixes something as `lab break` does. */
  async fault(name: string, node: NodeName, how: "break" | "fix" = "break"): Promise<void> {
    const fault: Fault | undefined = FAULTS[name];
    if (!fault) throw new TypeError(`there is no fault ${name}`);
    const context = { node, nodes: NODES, client: this.lab.api.client, host: (host: string) => this.host(host), signal: this.signal };
    await (how === "break" ? fault.break(context) : fault.fix?.(context));
  }

  async #picture(): Promise<string> {
    const logs = NODES.map(async (node) => {
      const log = await readFile(join(this.lab.directory, `agent-${node}.log`), "utf8").catch(() => "");
      return `${node}:\n${log.trimEnd().split("\n").slice(-8).join("\n")}`;
    });
    const services = this.lab.services.list().map((service) => JSON.stringify(service));
    const pods = (await this.lab.api.client.resource(Pod).list({ namespace: "default", signal: this.signal })).items.map(
      ({ metadata, spec, status }) => `${metadata.name} on ${spec.nodeName} ${status?.phase} ${status?.podIP}`,
    );
    return [...services, ...pods, ...(await this.configurationStates()), ...(await Promise.all(logs)), ...this.#reported.slice(-8)].join(
      "\n",
    );
  }
}

function kindOf({ apiVersion = "", kind = "" }: KubeObject): Kind {
  const slash = apiVersion.indexOf("/");
  const [group, version] = [apiVersion.slice(0, Math.max(0, slash)), apiVersion.slice(slash + 1)];
  return { group, version, kind, plural: `${kind.toLowerCase()}s`, scope: "Namespaced" };
}
