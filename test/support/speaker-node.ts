import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessAs } from "../../lab/kube/identities.ts";
import { Node } from "../../src/api/core/node.ts";
import { LOAD_BALANCER, type LoadBalancerHostOptions, type RouterHostOptions } from "../../src/cli/shared/agent-options.ts";
import { addAgentComponents } from "../../src/cli/shared/agent-components.ts";
import { loadBalancerFrr } from "../../src/cli/shared/loadbalancer-on-node.ts";
import type { FrrInstance } from "../../src/frr/instance.ts";
import { fixedAccess } from "../../src/kube/testing/fixed-access.ts";
import type { ClusterAccess } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { createLog } from "../../src/kube/log.ts";
import { run, removeFrrWhenGone } from "./frr.ts";

const { signal } = new AbortController();

interface AgentStart extends Partial<LoadBalancerHostOptions> {
  away?: boolean;
  as?: ClusterAccess;
  restoreAfterMs?: number;
}

/** A machine made of one network namespace with `eth0` in a bridge of its neighbors, whose agent only announces Services. */
export class SpeakerNode {
  readonly name: string;
  readonly netns: string;
  readonly frr: FrrInstance;
  readonly directory: string;
  readonly hostOptions: RouterHostOptions & { hostNetns: string };
  readonly loadbalancer: LoadBalancerHostOptions;
  readonly #access: ClusterAccess;
  readonly #sweep: () => Promise<void>;
  #agent: { stop: AbortController; ended: Promise<void> } | undefined;

  private constructor(name: string, access: ClusterAccess, directory: string) {
    const id = `plt${randomBytes(3).toString("hex")}`;
    this.name = name;
    this.netns = id;
    this.directory = directory;
    this.hostOptions = {
      routerNetns: `${id}r`,
      hostNetns: id,
      stateDirectory: join(directory, "state"),
      frrRunDirectory: `/run/frr/${id}r`,
    };
    this.loadbalancer = { ...LOAD_BALANCER, lbFrrRunDirectory: `/run/frr/${id}`, sessionPollInterval: 200 };
    this.frr = loadBalancerFrr(this.hostOptions, this.loadbalancer, createLog({ level: "silent" }));
    this.#access = access;
    this.#sweep = removeFrrWhenGone(id, this.frr, directory);
  }

  /** `address` is that of its `eth0`, which ends in the namespace `segment` as `<netns>`. */
  static async create(
    name: string,
    access: ClusterAccess,
    { address, segment }: { address: string; segment: string },
  ): Promise<SpeakerNode> {
    const node = new SpeakerNode(name, access, await mkdtemp(join(tmpdir(), "plumbline-speaker-")));
    await run("ip", "netns", "add", node.netns);
    await node.ip("link", "set", "lo", "up");
    await node.ip("link", "add", "eth0", "type", "veth", "peer", "name", node.netns, "netns", segment);
    await node.ip("addr", "add", address, "dev", "eth0");
    await node.ip("link", "set", "eth0", "up");
    await run("ip", "-n", segment, "link", "set", node.netns, "up");
    const client = new KubeClient(access);
    await client.resource(Node).create({ metadata: { name }, spec: {} }, { signal });
    const addresses = [{ type: "InternalIP" as const, address: address.replace(/\/.*/, "") }];
    await client.resource(Node).patchStatus({ name }, { status: { addresses } }, { signal });
    client.close();
    return node;
  }

  ip(...args: string[]): Promise<string> {
    return run("ip", "-n", this.netns, ...args);
  }

  vtysh(...lines: string[]): Promise<string> {
    const command = ["vtysh", "--vty_socket", this.loadbalancer.lbFrrRunDirectory];
    return run("nsenter", `--net=/run/netns/${this.netns}`, ...command, ...lines.flatMap((line) => ["-c", line]));
  }

  /** The process of one of its daemons, if it runs. */
  async frrPid(daemon: string): Promise<number | undefined> {
    const text = await readFile(join(this.loadbalancer.lbFrrRunDirectory, `${daemon}.pid`), "utf8").catch(() => "");
    return text === "" ? undefined : Number(text);
  }

  /** The agent, in this process; or one that finds no API server, or has less rights there. */
  startAgent({
    away = false,
    as = accessAs({ agentOf: this.name }, this.#access),
    restoreAfterMs = away ? 0 : 10_000,
    ...more
  }: AgentStart = {}): void {
    const stop = new AbortController();
    const log = createLog({ level: process.env["SPEAKER_LOG"] === undefined ? "silent" : "debug" }).child({ node: this.name });
    const access = away ? fixedAccess(`unix:${join(this.directory, "nobody.sock")}`) : as;
    const client = new KubeClient(access, { userAgent: `agent-of-${this.name}` });
    const manager = new Manager({ client, log });
    const agent = addAgentComponents({
      manager,
      client,
      log,
      node: this.name,
      namespace: "plumbline-system",
      hostOptions: this.hostOptions,
      loadbalancer: { ...this.loadbalancer, ...more },
      startFrr: true,
    });
    this.#agent = { stop, ended: agent.run(stop.signal, { restoreAfterMs }) };
  }

  async stopAgent(): Promise<void> {
    this.#agent?.stop.abort();
    await this.#agent?.ended;
    this.#agent = undefined;
  }

  async remove(): Promise<void> {
    await this.stopAgent();
    await this.frr.stop();
    await this.#sweep();
    await rm(this.directory, { recursive: true, force: true });
  }
}
