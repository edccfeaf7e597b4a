import { setTimeout as sleep } from "node:timers/promises";
import { accessAs } from "../../lab/kube/identities.ts";
import type { ReadObject } from "../../lab/sites/application.ts";
import { FailoverPolicy, type FailoverStatus } from "../../src/api/failover/failover-policy.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { Peers } from "../../src/failover/token/peers.ts";
import { PolicyController } from "../../src/failover/policy-controller.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { ClusterAccess } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { KubeError } from "../../src/kube/client/error.ts";
import type { ResourceClient } from "../../src/kube/client/resource-client.ts";
import type { EventText } from "../../src/kube/events/event-correlator.ts";
import { createLog } from "../../src/kube/log.ts";
import { WriteBudget } from "../../src/kube/status/budget.ts";
import { StatusWriter } from "../../src/kube/status/status-writer.ts";

/** A write that the server has carried out. */
export interface SentWrite {
  readonly verb: string;
  readonly kind: string;
  readonly name: string;
  readonly body: unknown;
}

export interface TestControllerOptions {
  /** That of the admin of the cluster. */
  access: ClusterAccess;
  /** Policies of other namespaces are other controllers' business; without one, all policies are its own. */
  namespace?: string;
  /** Called before a write is sent. */
  onWrite?: (write: SentWrite) => Promise<void>;
  /** Called after a write, before the controller gets the response. */
  onWritten?: (write: SentWrite) => Promise<void>;
  absentMs?: number;
  /** Namespaces whose policies may act everywhere. */
  everywhere?: readonly string[];
}

const { signal } = new AbortController();
const WRITES = new Set(["create", "patch", "patchStatus", "replace", "replaceStatus", "apply", "delete"]);

/** The failover controller of one namespace or of all, in this process, that keeps count of what it writes and can be killed between any two writes. */
export class TestController {
  readonly writes: SentWrite[] = [];
  readonly reads: string[] = [];
  readonly events: EventText[] = [];
  readonly #options: TestControllerOptions;
  readonly #client: KubeClient;
  readonly #stop = new AbortController();
  readonly #death = Promise.withResolvers<void>();
  readonly #ended: Promise<unknown>;
  #isDead = false;
  #writesLeft = Infinity;

  constructor(options: TestControllerOptions) {
    this.#options = options;
    this.#client = new KubeClient(accessAs("controller", options.access), { userAgent: `failover-${options.namespace ?? "all"}` });
    const client = this.#observed(this.#client);
    const log = createLog({ level: "silent" });
    const budget = new WriteBudget();
    const policies = new Cache(client, FailoverPolicy, { ...(options.namespace !== undefined && { namespace: options.namespace }), log });
    const writer = new StatusWriter<FailoverPolicy>({ kind: FailoverPolicy, client, cache: policies, budget, log });
    const events = { record: (_object: KubeObject, text: EventText) => void this.events.push(text) };
    const peers = new Peers(client, { mustRead: true, uidOf: (key) => policies.get(key)?.metadata.uid });
    const { absentMs, everywhere } = options;
    const switching = new PolicyController({
      client,
      policies,
      writer,
      events,
      budget,
      log,
      peers,
      ...(absentMs !== undefined && { absentMs }),
      ...(everywhere && { everywhere }),
    });
    policies.start(this.#stop.signal);
    const writing = new AbortController();
    const writes = writer.run(writing.signal);
    this.#ended = switching
      .run(this.#stop.signal)
      .finally(() => writing.abort())
      .then(() => writes);
  }

  /** Resolves when it has died. */
  get death(): Promise<void> {
    return this.#death.promise;
  }

  async stop(): Promise<void> {
    if (this.#isDead) return;
    this.#stop.abort();
    await this.#ended;
    this.#client.close();
  }

  /** Until it has asked and written nothing for so long, and forgets what it did before. */
  async atRest(quietMs: number): Promise<void> {
    const requests = () => this.reads.length + this.writes.length;
    for (let before = -1; before !== requests();) {
      before = requests();
      await sleep(quietMs);
    }
    this.reads.length = 0;
    this.writes.length = 0;
  }

  /** It dies after so many further writes, before the response to the last one. */
  dieAfter(writes: number): void {
    this.#writesLeft = writes;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** As SIGKILL: nothing that it would still do is done. */
  kill(): void {
    this.#isDead = true;
    this.#stop.abort();
    this.#client.close();
    this.#death.resolve();
  }

  /** Those to other objects than policies, as `Kind name`, in their order; those of one kind that follow on one another by name. */
  get changes(): string[] {
    const runs: { kind: string; names: string[] }[] = [];
    for (const { kind, name } of this.writes) {
      if (kind === "FailoverPolicy") continue;
      if (runs.at(-1)?.kind !== kind) runs.push({ kind, names: [] });
      runs.at(-1)?.names.push(name);
    }
    return runs.flatMap(({ kind, names }) => names.toSorted().map((name) => `${kind} ${name}`));
  }

  #observed(client: KubeClient): KubeClient {
    return new Proxy(client, {
      get: (target, property) => {
        if (property === "resource") return (kind: Kind) => this.#observedResource(target.resource(kind), kind);
        if (property === "request") {
          return (method: string, path: string, rest: Parameters<KubeClient["request"]>[2]) => {
            this.reads.push(`${method} ${path}`);
            return target.request(method, path, rest);
          };
        }
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === "function" ? (value as () => unknown).bind(target) : value;
      },
    });
  }

  #observedResource(resource: ResourceClient<KubeObject>, kind: Kind): ResourceClient<KubeObject> {
    return new Proxy(resource, {
      get: (target, property) => {
        const value = (Reflect.get(target, property, target) as (...args: unknown[]) => unknown).bind(target);
        if (WRITES.has(String(property))) {
          return (...args: [KubeObject & { name?: string }, ...unknown[]]) => {
            const name = args[0].name ?? args[0].metadata.name;
            return this.#send({ verb: String(property), kind: kind.kind, name, body: args[1] }, () => value(...args) as Promise<unknown>);
          };
        }
        return (...args: unknown[]) => {
          if (property === "get" || property === "list") this.reads.push(`${property} ${kind.kind}`);
          return value(...args);
        };
      },
    });
  }

  async #send(write: SentWrite, send: () => Promise<unknown>): Promise<unknown> {
    await this.#options.onWrite?.(write);
    if (this.#isDead) throw new KubeError("Fenced", "dead");
    const answer = await send();
    await this.#options.onWritten?.(write);
    this.writes.push(write);
    this.#writesLeft -= 1;
    if (this.#writesLeft > 0) return answer;
    this.kill();
    throw new KubeError("Fenced", "dead");
  }
}

/** The policies of a cluster, for tests that wait for them. */
export class PolicyWatch {
  readonly #cache: Cache<FailoverPolicy>;
  readonly #stop = new AbortController();

  constructor(client: KubeClient) {
    this.#cache = new Cache(client, FailoverPolicy);
    this.#cache.start(this.#stop.signal);
  }

  /** Until the policy of the namespace is as it should be. `look` sees what it says on the way. */
  async until(
    namespace: string,
    isSo: (policy: FailoverPolicy) => boolean,
    onStatus: (status: FailoverStatus) => void = () => {},
    name = "site",
  ): Promise<FailoverPolicy> {
    const found = Promise.withResolvers<FailoverPolicy>();
    const unsubscribe = this.#cache.subscribe(({ type, object }) => {
      if (type === "deleted" || object.metadata.namespace !== namespace || object.metadata.name !== name) return;
      if (object.status) onStatus(object.status);
      if (isSo(object)) found.resolve(object);
    });
    try {
      return await found.promise;
    } finally {
      unsubscribe();
    }
  }

  /** Waits until the switch of this generation is complete and the finalizer is removed. */
  async complete(namespace: string, generation: number, onStatus?: (status: FailoverStatus) => void): Promise<FailoverStatus> {
    const { status = {} } = await this.until(namespace, (policy) => isComplete(policy, generation), onStatus);
    return status;
  }

  async gone(namespace: string): Promise<void> {
    const gone = Promise.withResolvers<void>();
    const unsubscribe = this.#cache.subscribe(({ type, object }) => {
      if (type === "deleted" && object.metadata.namespace === namespace) gone.resolve();
    });
    await gone.promise;
    unsubscribe();
  }

  stop(): void {
    this.#stop.abort();
  }
}

function isComplete({ metadata, status = {} }: FailoverPolicy, generation: number): boolean {
  const isTrue = status.conditions?.some(({ type, status: value }) => type === "Complete" && value === "True") === true;
  return isTrue && metadata.generation === generation && status.observedGeneration === generation && !metadata.finalizers?.length;
}

/** Changes the spec. Returns its generation. */
export async function want(client: KubeClient, namespace: string, spec: Partial<FailoverPolicy["spec"]>): Promise<number> {
  const { metadata } = await client.resource(FailoverPolicy).patch({ name: "site", namespace }, { spec }, { signal });
  return metadata.generation ?? 0;
}

/** An application as it was read, without what a switch there and back changes, and without what differs between two of them. */
export function comparable(namespace: string, objects: Record<string, ReadObject>): Record<string, ReadObject> {
  const plain = Object.entries(objects).map(([key, { spec, annotations }]) => {
    const kept = Object.entries(annotations).filter(([name]) => !/^(reconcile\.fluxcd\.io|deployment\.kubernetes\.io)\//.test(name));
    return [key, { spec, annotations: Object.fromEntries(kept) }];
  });
  const text = JSON.stringify(Object.fromEntries(plain))
    .replaceAll(namespace, "shop")
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "uid")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:]{8}Z/g, "time");
  return JSON.parse(text) as Record<string, ReadObject>;
}
