import type { Lease } from "../../api/core/lease.ts";
import type { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/error.ts";

type Verb = "get" | "create" | "replace";

/** For tests with fake time: the Leases of a server, with its answers, delays and faults. */
export class MemoryLeases {
  readonly stored = new Map<string, Lease>();
  readonly writes: Lease[] = [];
  /** Before the request is sent. */
  before: (verb: Verb) => Promise<void> | void = () => {};
  /** After the server has carried it out, before the answer arrives. */
  after: (verb: Verb) => Promise<void> | void = () => {};
  /** Without it an abort comes too late: the request is answered nevertheless. */
  endsAborted = true;
  #version = 0;

  client(check: () => void = () => {}): KubeClient {
    const verbs = {
      get: (name: string, { signal }: { signal: AbortSignal }) => this.#answer("get", signal, () => this.#found(name)),
      create: (lease: Lease, { signal }: { signal: AbortSignal }) =>
        this.#answer("create", signal, () => {
          check();
          return this.#create(lease);
        }),
      replace: (lease: Lease, { signal }: { signal: AbortSignal }) =>
        this.#answer("replace", signal, () => {
          check();
          return this.#replace(lease);
        }),
    };
    const client = { resource: () => verbs, fenced: (inner: () => void) => this.client(inner), apart: () => client };
    return client as unknown as KubeClient;
  }

  put(lease: Lease): Lease {
    this.#version += 1;
    const stored = structuredClone({ ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.#version) } });
    this.stored.set(lease.metadata.name, stored);
    return stored;
  }

  async #answer<T>(verb: Verb, signal: AbortSignal, act: () => T): Promise<T> {
    if (!this.endsAborted) return this.#carryOut(verb, act);
    const aborted = new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason as Error);
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
    return Promise.race([this.#carryOut(verb, act), aborted]);
  }

  async #carryOut<T>(verb: Verb, act: () => T): Promise<T> {
    await this.before(verb);
    const result = act();
    await this.after(verb);
    return result;
  }

  #found(name: string): Lease {
    const lease = this.stored.get(name);
    if (!lease) throw new KubeError("NotFound", `leases "${name}" not found`);
    return structuredClone(lease);
  }

  #create(lease: Lease): Lease {
    if (this.stored.has(lease.metadata.name)) throw new KubeError("AlreadyExists", `leases "${lease.metadata.name}" already exists`);
    return this.#store(lease);
  }

  #replace(lease: Lease): Lease {
    if (this.#found(lease.metadata.name).metadata.resourceVersion !== lease.metadata.resourceVersion) {
      throw new KubeError("Conflict", `the Lease ${lease.metadata.name} has been modified`);
    }
    return this.#store(lease);
  }

  #store(lease: Lease): Lease {
    const stored = this.put(lease);
    this.writes.push(stored);
    return structuredClone(stored);
  }
}
