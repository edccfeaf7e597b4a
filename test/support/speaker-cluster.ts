import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { vi } from "vitest";
import { installIdentities } from "../../lab/kube/identities.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { EndpointSlice } from "../../src/api/core/endpoint-slice.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Service } from "../../src/api/core/service.ts";
import { keyOf, type Kind, type KubeObject } from "../../src/api/kind.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { membersName, printMembers } from "../../src/kube/members/members.ts";
import { apiServer, type SuiteApiServer } from "./api-server.ts";
import { type FrrInNamespace, frrInNamespace, run } from "./frr.ts";
import { SpeakerNode } from "./speaker-node.ts";

const { signal } = new AbortController();
const PATIENCE_MS = 90_000;
export const METALLB = "metallb-system";
export const OWN = "plumbline-system";
const WRITES = new Set(["create", "update", "patch", "delete"]);
/** Of everything that is a report, or has one in its status. */
const REPORTS = new Set([
  "configurationstates",
  "configurationstatuses",
  "bgpsessionstatuses",
  "servicebgpstatuses",
  "servicel2statuses",
  "ipaddresspools",
  "services",
]);
/** Who reports. */
const OURS = /^(agent-of-|controller)/;

export const eventually = <T>(check: () => Promise<T>) => vi.waitFor(check, { timeout: PATIENCE_MS, interval: 50 });

export interface ServiceOptions {
  ip?: string | readonly string[];
  /** The nodes that have endpoints. */
  on?: readonly string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  spec?: Partial<Service["spec"]>;
}

/** A real API server, nodes whose agents only announce Services, and a router on their segment, 192.168.50.1 in AS 64512. */
export class SpeakerCluster {
  readonly api: SuiteApiServer;
  readonly client: KubeClient;
  readonly tor: FrrInNamespace;
  readonly nodes: readonly SpeakerNode[] = [];

  private constructor(api: SuiteApiServer, tor: FrrInNamespace) {
    this.api = api;
    this.tor = tor;
    this.client = new KubeClient(api.access, { userAgent: "a-person" });
  }

  /** The nodes are worker0, worker1 and so on, 192.168.50.10 and up in AS 64513. No agent runs yet. */
  static async start(suite: string, count: number): Promise<SpeakerCluster> {
    const [api, tor] = await Promise.all([apiServer(suite, { audit: true }), frrInNamespace({ version: "8.4" })]);
    const cluster = new SpeakerCluster(api, tor);
    await installCrds(cluster.client, CUSTOM_KINDS, signal);
    await installIdentities(cluster.client, signal);
    await cluster.client.resource(Namespace).create({ metadata: { name: "shop" } }, { signal });
    await cluster.torIp("link", "add", "br0", "type", "bridge");
    await cluster.torIp("addr", "add", "192.168.50.1/24", "dev", "br0");
    await cluster.torIp("link", "set", "br0", "up");
    for (let index = 0; index < count; index++) await cluster.#addNode(index);
    await cluster.say("router bgp 64512", "no bgp ebgp-requires-policy");
    await cluster.setMembers(cluster.nodes.map(({ name }) => name));
    return cluster;
  }

  async #addNode(index: number): Promise<void> {
    const location = { address: `192.168.50.${10 + index}/24`, segment: this.tor.netns };
    const node = await SpeakerNode.create(`worker${index}`, this.api.access, location);
    await this.torIp("link", "set", node.netns, "master", "br0");
    (this.nodes as SpeakerNode[]).push(node);
  }

  node(index: number): SpeakerNode {
    return this.nodes[index] as SpeakerNode;
  }

  torIp(...args: string[]): Promise<string> {
    return run("ip", "-n", this.tor.netns, ...args);
  }

  /** Lines of configuration for the router of the segment. */
  async say(...lines: string[]): Promise<void> {
    await this.#vtysh("configure terminal", ...lines);
  }

  /** The router has sessions with all nodes. */
  async greet(...more: string[]): Promise<void> {
    for (const index of this.nodes.keys()) {
      const neighbor = `neighbor 192.168.50.${10 + index}`;
      await this.say(
        "router bgp 64512",
        `${neighbor} remote-as 64513`,
        `${neighbor} timers connect 1`,
        ...more.map((line) => `${neighbor} ${line}`),
      );
    }
  }

  /** Resets its sessions. */
  async clear(): Promise<void> {
    await this.#vtysh("clear bgp *");
  }

  /** What it shows. */
  show(what: string): Promise<string> {
    return this.#vtysh(`show ${what}`);
  }

  #vtysh(...lines: string[]): Promise<string> {
    const { netns, instance } = this.tor;
    const args = lines.flatMap((line) => ["-c", line]);
    return run("nsenter", `--net=/run/netns/${netns}`, "vtysh", "--vty_socket", instance.runDirectory, ...args);
  }

  /** With the public keys of their agents, or as a controller of an earlier version. */
  async setMembers(live: readonly string[], keys: Record<string, string> = {}): Promise<void> {
    const members = { metadata: { name: membersName, namespace: OWN }, data: printMembers({ live, keys, indexes: {}, freed: [] }) };
    await this.client.resource(ConfigMap).apply(members, { fieldManager: "test", force: true, signal });
  }

  create<T extends KubeObject>(kind: Kind<T>, name: string, spec: object = {}, namespace = METALLB): Promise<T> {
    return this.client.resource(kind).create({ metadata: { name, namespace }, spec } as never, { signal });
  }

  patch<T extends KubeObject>(kind: Kind<T>, name: string, patch: object, namespace = METALLB): Promise<T> {
    return this.client.resource(kind).patch({ name, namespace }, patch, { signal });
  }

  async remove(kind: Kind, name: string, namespace = METALLB): Promise<void> {
    await this.client.resource(kind).delete({ name, namespace }, { signal });
  }

  async get<T extends KubeObject>(kind: Kind<T>, name: string, namespace = METALLB): Promise<T | undefined> {
    try {
      return await this.client.resource(kind).get(name, { namespace, signal });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /** All of the kind, by namespace/name. */
  async all<T extends KubeObject>(kind: Kind<T>): Promise<Map<string, T>> {
    const { items } = await this.client.resource(kind).list({ signal });
    return new Map(items.map((object) => [keyOf(object), object]));
  }

  async names(kind: Kind): Promise<string[]> {
    return [...(await this.all(kind)).keys()].sort();
  }

  /** A LoadBalancer Service in namespace `shop`, as kube would have made it; and, with an address, the controller. */
  async service(name: string, { ip, on = ["worker0"], labels = {}, annotations = {}, spec = {} }: ServiceOptions): Promise<void> {
    const metadata = { name, namespace: "shop", labels, annotations };
    const ports = [{ port: 80, protocol: "TCP" as const }];
    await this.client
      .resource(Service)
      .create({ metadata, spec: { type: "LoadBalancer", ports, selector: { app: name }, ...spec } }, { signal });
    await this.endpoints(name, on);
    if (ip !== undefined) await this.address(name, ip);
  }

  async address(name: string, ip: string | readonly string[]): Promise<void> {
    const ingress = [ip].flat().map((one) => ({ ip: one }));
    await this.client.resource(Service).patchStatus({ name, namespace: "shop" }, { status: { loadBalancer: { ingress } } }, { signal });
  }

  /** A ready endpoint on each of these nodes. */
  async endpoints(name: string, on: readonly string[], conditions: object = { ready: true }): Promise<void> {
    const slice = {
      metadata: { name: `${name}-1`, namespace: "shop", labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4" as const,
      endpoints: on.map((nodeName, index) => ({ addresses: [`10.244.0.${index + 1}`], conditions, nodeName })),
      ports: [{ port: 80, protocol: "TCP" }],
    };
    await this.client.resource(EndpointSlice).apply(slice, { fieldManager: "test", force: true, signal });
  }

  /** What agents and the controller reported, in the order in which the API server carried it out: `patch bgpsessionstatuses/status metallb-system/worker0-peer1`. */
  async writes(): Promise<string[]> {
    const lines = (await readFile(this.api.server.auditLog, "utf8")).split("\n").filter((line) => line.endsWith("}"));
    return lines
      .map((line) => JSON.parse(line) as AuditLine)
      .filter(({ verb, userAgent = "", objectRef }) => WRITES.has(verb) && OURS.test(userAgent) && isReport(objectRef))
      .map(({ verb, objectRef: { resource = "", subresource, namespace = "", name = "" } = {} }) =>
        [verb, subresource === undefined ? resource : `${resource}/${subresource}`, `${namespace}/${name}`].join(" "),
      );
  }

  /** What agents have asked of these objects, as `watch agent-of-worker0`. */
  async requestsSince(since: Date, resource: string, namespace: string): Promise<string[]> {
    const lines = (await readFile(this.api.server.auditLog, "utf8")).split("\n").filter((line) => line.endsWith("}"));
    return lines
      .map((line) => JSON.parse(line) as AuditLine)
      .filter(({ requestReceivedTimestamp, userAgent = "", objectRef }) => {
        const isAbout = objectRef?.resource === resource && objectRef.namespace === namespace;
        return isAbout && OURS.test(userAgent) && Date.parse(requestReceivedTimestamp) > since.getTime();
      })
      .map(({ verb, userAgent = "" }) => `${verb} ${userAgent}`);
  }

  /** What they write while this happens, and in the moments after it; so much as has to be written is waited for. */
  async writesDuring(happens: () => Promise<unknown>, afterMs = 1_500, atLeast = 0): Promise<string[]> {
    const before = await this.writes();
    await happens();
    await vi.waitUntil(async () => (await this.writes()).length >= before.length + atLeast, { timeout: PATIENCE_MS, interval: 50 });
    await sleep(afterMs);
    return (await this.writes()).slice(before.length);
  }

  /** Resolves when everything that happened is reported. */
  async atRest(): Promise<void> {
    await eventually(async () => {
      const writes = await this.writesDuring(() => Promise.resolve(), 4_000);
      if (writes.length > 0) throw new Error(`reports are still written: ${writes.join(", ")}`);
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.remove()));
    this.client.close();
    await this.tor.stop();
    await this.api.stop();
  }
}

interface AuditLine {
  verb: string;
  requestReceivedTimestamp: string;
  userAgent?: string;
  objectRef?: { resource?: string; subresource?: string; namespace?: string; name?: string };
}

function isReport(reference: AuditLine["objectRef"]): boolean {
  return REPORTS.has(reference?.resource ?? "");
}
