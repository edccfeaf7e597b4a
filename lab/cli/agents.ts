import { createWriteStream, type WriteStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { RemoteProcess } from "../machine/machine.ts";
import type { LabHost } from "../net/lab-host.ts";
import { Node } from "../../src/api/core/node.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { Log } from "../../src/kube/log.ts";
import type { LabApi } from "./api.ts";

const AGAIN_AFTER_MS = 1_000;

/** Finds an agent among the processes of a host. */
export const AGENT_PROCESS = "plumbline\\.js agent ";
/** On a host where this file is, as after a loss of power, nothing of ours starts. */
export const SWITCHED_OFF = "/run/plumbline-switched-off";
const WHEN_ON = `while [ -e ${SWITCHED_OFF} ]; do sleep 0.2; done; exec "$@"`;

export interface AgentOptions {
  readonly host: LabHost;
  /** As the host sees it. */
  readonly program: string;
  readonly kubeconfig: string;
  readonly logFile: string;
  /** Whether it is to be a router too. */
  readonly router: boolean;
  /** On which ports something on the node itself answers for services. */
  readonly standInPorts?: string | undefined;
  /** How often it tries each connectivity check: `10s`; as it is by itself without. */
  readonly checkInterval?: string | undefined;
  /** How often it says that it is alive. */
  readonly heartbeat?: string | undefined;
  /** Told when it ended by itself. */
  readonly onEnd: (code: number) => void;
}

/** The agent of one node, started again when it ends, as a kubelet would. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #log: WriteStream;
  readonly #stopped = new AbortController();
  #process: RemoteProcess | undefined;
  #running: Promise<void>;
  #paused = false;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#log = createWriteStream(options.logFile, { flags: "a" });
    this.#running = this.#run();
  }

  /** Kills it at once, as a crash would; it is back a second later unless told to stay away. */
  async kill({ stayAway = false } = {}): Promise<void> {
    this.#paused = stayAway;
    await this.#process?.kill();
  }

  comeBack(): void {
    this.#paused = false;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#process?.kill();
    await this.#running;
    this.#log.end();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      if (!this.#paused) await this.#runOnce(signal);
      await sleep(AGAIN_AFTER_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #runOnce(signal: AbortSignal): Promise<void> {
    const { host, program, kubeconfig, router, standInPorts, checkInterval, heartbeat, onEnd } = this.#options;
    const cache = process.env["NODE_COMPILE_CACHE"];
    const env = cache === undefined ? {} : { NODE_COMPILE_CACHE: cache };
    const parts = [
      ...(router ? [] : ["--router", "off"]),
      ...(standInPorts === undefined ? [] : ["--lb-exempt-ports", standInPorts]),
      ...(checkInterval === undefined ? [] : ["--check-interval", checkInterval]),
      ...(heartbeat === undefined ? [] : ["--heartbeat-interval", heartbeat]),
    ];
    const flags = ["--node", host.name, "--kubeconfig", kubeconfig, "--frr-start", ...parts];
    const agent = host.start(["sh", "-c", WHEN_ON, "sh", process.execPath, ...process.execArgv, program, "agent", ...flags], { env });
    this.#process = agent;
    agent.onOutput = (chunk) => this.#log.write(chunk);
    agent.onErrors = (chunk) => this.#log.write(chunk);
    const code = await agent.ended.catch(() => 255);
    if (!signal.aborted) onEnd(code);
  }
}

interface NodeBoundAgents {
  readonly api: LabApi;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Gives the agent of a Node that was deleted and created again new credentials, and starts it again: a cluster replaces its pod, whose token dies with the Node. */
export function replaceWithNodes({ api, agents, log, signal }: NodeBoundAgents): void {
  const known = new Map<string, string | undefined>();
  const nodes = new Cache(api.client, Node);
  nodes.subscribe(({ object: { metadata } }) => {
    const { name, uid } = metadata;
    const before = known.get(name);
    known.set(name, uid);
    const agent = agents.get(name);
    if (before === undefined || before === uid || !agent) return;
    api
      .agentKubeconfig(name)
      .then(() => agent.kill())
      .catch((error: unknown) => {
        if (!signal.aborted) log.warn({ node: name, error }, "the agent of a new Node has the credentials of the old one");
      });
  });
  nodes.start(signal);
}
