import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Node } from "../../src/api/core/node.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import type { RouterHostOptions } from "../../src/cli/shared/agent-options.ts";
import { addAgentComponents } from "../../src/cli/shared/agent-components.ts";
import { addControllerComponents } from "../../src/cli/shared/controller-components.ts";
import { frrOf } from "../../src/cli/shared/router-on-node.ts";
import { startEmbedded, type Embedded } from "../../src/embedded/embedded.ts";
import type { FrrInstance } from "../../src/frr/instance.ts";
import { fixedAccess } from "../../src/kube/testing/fixed-access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { createLog } from "../../src/kube/log.ts";
import { run, removeFrrWhenGone } from "./frr.ts";

const NAMESPACE = "openperouter-system";
const { signal } = new AbortController();

/** A machine made of two network namespaces, `eth1` in one of them leading to a neighbor, and an embedded API that its agent serves. */
export class RouterNode {
  readonly name = "n1";
  readonly hostOptions: RouterHostOptions & { hostNetns: string };
  readonly neighbor: string;
  readonly client: KubeClient;
  readonly frr: FrrInstance;
  readonly directory: string;
  readonly #embedded: Embedded;
  readonly #sweep: () => Promise<void>;
  #agent: { stop: AbortController; ended: Promise<void> } | undefined;

  private constructor(id: string, directory: string, embedded: Embedded) {
    this.directory = directory;
    this.neighbor = `${id}n`;
    this.hostOptions = {
      routerNetns: `${id}r`,
      hostNetns: `${id}h`,
      stateDirectory: join(directory, "state"),
      frrRunDirectory: `/run/frr/${id}`,
    };
    this.#embedded = embedded;
    this.client = new KubeClient(fixedAccess(`unix:${embedded.socket}`));
    this.frr = frrOf(this.hostOptions, createLog({ level: "silent" }));
    this.#sweep = removeFrrWhenGone(this.hostOptions.routerNetns, this.frr, directory);
  }

  static async create(): Promise<RouterNode> {
    const id = `plt${randomBytes(3).toString("hex")}`;
    const directory = await mkdtemp(join(tmpdir(), "plumbline-agent-"));
    const site = join(directory, "site");
    await mkdir(site);
    const embedded = await startEmbedded({ directory: site, log: createLog({ level: "error" }) });
    const node = new RouterNode(id, directory, embedded);
    for (const netns of [node.hostOptions.hostNetns, node.neighbor]) {
      await run("ip", "netns", "add", netns);
      await run("ip", "-n", netns, "link", "set", "lo", "up");
    }
    await node.plugIn();
    await node.client.resource(Node).create({ metadata: { name: node.name }, spec: {} }, { signal });
    return node;
  }

  /** A new `eth1`, as on the first day. */
  async plugIn(): Promise<void> {
    await this.host("link", "add", "eth1", "type", "veth", "peer", "name", "eth1", "netns", this.neighbor);
    await this.host("addr", "add", "192.168.11.3/24", "dev", "eth1");
    await this.host("link", "set", "eth1", "up");
    await run("ip", "-n", this.neighbor, "addr", "add", "192.168.11.2/24", "dev", "eth1");
    await run("ip", "-n", this.neighbor, "link", "set", "eth1", "up");
  }

  /** `ip` in the namespace that plays the machine's own. */
  host(...args: string[]): Promise<string> {
    return run("ip", "-n", this.hostOptions.hostNetns, ...args);
  }

  /** `ip` in the router's. */
  router(...args: string[]): Promise<string> {
    return run("ip", "-n", this.hostOptions.routerNetns, ...args);
  }

  vtysh(...lines: string[]): Promise<string> {
    const command = ["vtysh", "--vty_socket", this.hostOptions.frrRunDirectory];
    return run("nsenter", `--net=/run/netns/${this.hostOptions.routerNetns}`, ...command, ...lines.flatMap((line) => ["-c", line]));
  }

  /** The agent, and the controller with it, in this process; or one that finds no API server. */
  startAgent(hostOptions: Partial<RouterHostOptions> = {}, { away } = { away: false }): void {
    const stop = new AbortController();
    const log = createLog({ level: "silent" });
    const client = new KubeClient(fixedAccess(`unix:${away ? join(this.directory, "nobody.sock") : this.#embedded.socket}`));
    const manager = new Manager({ client, log });
    const shared = { manager, client, log, namespace: "plumbline-system", routerNamespace: NAMESPACE };
    addControllerComponents({ ...shared, waitForOldWrites: () => Promise.resolve() });
    const agent = addAgentComponents({ ...shared, node: this.name, hostOptions: { ...this.hostOptions, ...hostOptions }, startFrr: true });
    this.#agent = { stop, ended: agent.run(stop.signal, away ? { restoreAfterMs: 0 } : {}) };
  }

  async stopAgent(): Promise<void> {
    this.#agent?.stop.abort();
    await this.#agent?.ended;
    this.#agent = undefined;
  }

  status(): Promise<RouterNodeConfigurationStatus> {
    return this.client.resource(RouterNodeConfigurationStatus).get(this.name, { namespace: NAMESPACE, signal });
  }

  async remove(): Promise<void> {
    await this.stopAgent();
    await this.frr.stop();
    this.client.close();
    await this.#embedded.stop();
    await this.#sweep();
    for (const netns of [this.hostOptions.hostNetns, this.neighbor]) await run("ip", "netns", "del", netns);
    await rm(this.directory, { recursive: true, force: true });
  }
}
