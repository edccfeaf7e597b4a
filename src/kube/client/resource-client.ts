import { apiVersionOf, type Kind, type KubeObject, type ObjectMeta } from "../../api/kind.ts";
import { isKubeError, KubeError } from "./error.ts";
import { notJson, errorFromStatus } from "./error-from-response.ts";
import type { Call, Transport } from "./transport.ts";
import { type WatchEvent, WatchStream } from "./watch-stream.ts";

export interface ObjectRef {
  name: string;
  namespace?: string;
}

export interface Selection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export interface ListOptions extends Selection {
  /** Objects per page, by default 500. 0 means all at once. */
  limit?: number;
  resourceVersion?: string;
  signal: AbortSignal;
}

export interface WatchOptions extends Selection {
  resourceVersion?: string;
  /** Everything that is there as ADDED, then a bookmark with initialEventsEnd, then the changes. */
  sendInitialEvents?: boolean;
  /** Throws Timeout after this long without data; 90 s, since a server sends a bookmark every minute. */
  idleMs?: number;
  onOpen?: () => void;
  signal: AbortSignal;
}

export interface WriteOptions {
  fieldManager?: string;
  signal: AbortSignal;
}

export interface PatchOptions extends WriteOptions {
  /** The patch fails with Conflict if the object has another version. */
  resourceVersion?: string;
}

export interface DeleteOptions {
  uid?: string;
  resourceVersion?: string;
  propagationPolicy?: "Background" | "Foreground" | "Orphan";
  signal: AbortSignal;
}

export type ObjectManifest<T extends KubeObject> = Omit<Partial<T>, "metadata"> & { metadata: Partial<ObjectMeta> };

export interface Page<T> {
  items: T[];
  resourceVersion: string;
}

interface RawList<T> {
  items?: T[];
  metadata?: { resourceVersion?: string; continue?: string };
}

const PAGE = 500;
const IDLE_MS = 90_000;
const MERGE_PATCH = "application/merge-patch+json";
const APPLY_PATCH = "application/apply-patch+yaml";

export class ResourceClient<T extends KubeObject> {
  readonly #transport: Transport;
  readonly #kind: Kind<T>;
  readonly #check: (() => void) | undefined;

  /** `check` throws to stop a write. */
  constructor(transport: Transport, kind: Kind<T>, check: (() => void) | undefined) {
    this.#transport = transport;
    this.#kind = kind;
    this.#check = check;
  }

  async get(name: string, options: { namespace?: string; signal: AbortSignal }): Promise<T> {
    return (await this.#read("get", this.#path({ ...options, name }), options.signal)) as T;
  }

  /** All pages of one version; if that version expires, everything at once. */
  async list(options: ListOptions): Promise<Page<T>> {
    try {
      return await this.#collect(options);
    } catch (error) {
      if (!isKubeError(error, "Gone") || options.limit === 0) throw error;
      return this.#collect({ ...options, limit: 0 });
    }
  }

  async #collect(options: ListOptions): Promise<Page<T>> {
    const whole: Page<T> = { items: [], resourceVersion: "" };
    for await (const page of this.pages(options)) {
      for (const item of page.items) whole.items.push(item);
      whole.resourceVersion = page.resourceVersion;
    }
    return whole;
  }

  async *pages(options: ListOptions): AsyncGenerator<Page<T>, void> {
    const { signal, limit = PAGE, labelSelector, fieldSelector, resourceVersion } = options;
    const path = this.#collection(options.namespace);
    const apiVersion = apiVersionOf(this.#kind);
    let next: string | undefined;
    do {
      const list = (await this.#read("list", path, signal, {
        labelSelector,
        fieldSelector,
        limit: limit === 0 ? undefined : String(limit),
        // A continue token contains its version.
        resourceVersion: next === undefined ? resourceVersion : undefined,
        continue: next,
      })) as RawList<T>;
      if (list?.metadata?.resourceVersion === undefined) {
        throw notJson(this.#transport.access, { method: "GET", path }, JSON.stringify(list));
      }
      const items = list.items ?? [];
      // A list names the kind only once; items get it too.
      for (const item of items) {
        item.apiVersion ??= apiVersion;
        item.kind ??= this.#kind.kind;
      }
      yield { items, resourceVersion: list.metadata.resourceVersion };
      next = list.metadata.continue || undefined;
    } while (next !== undefined);
  }

  async create(object: ObjectManifest<T>, options: WriteOptions): Promise<T> {
    const path = this.#collection(object.metadata.namespace, object.metadata.name ?? "to create");
    return this.#write({ verb: "create", method: "POST", path, body: this.#named(object), repeatable: false }, options);
  }

  async replace(object: T, options: WriteOptions): Promise<T> {
    return this.#replace(object, options);
  }

  async replaceStatus(object: T, options: WriteOptions): Promise<T> {
    return this.#replace(object, options, "status");
  }

  async patch(ref: ObjectRef, patch: object, options: PatchOptions): Promise<T> {
    return this.#patch(ref, patch, options);
  }

  async patchStatus(ref: ObjectRef, patch: object, options: PatchOptions): Promise<T> {
    return this.#patch(ref, patch, options, "status");
  }

  async apply(object: ObjectManifest<T>, options: { fieldManager: string; force?: boolean; signal: AbortSignal }): Promise<T> {
    const { name = "", namespace } = object.metadata;
    const path = this.#path({ name, ...(namespace === undefined ? {} : { namespace }) });
    const body = this.#named({ ...object, metadata: { ...object.metadata, managedFields: undefined } });
    const query = { force: options.force ? "true" : undefined };
    return this.#write({ verb: "apply", method: "PATCH", path, query, body, contentType: APPLY_PATCH, repeatable: true }, options);
  }

  async delete(ref: ObjectRef, options: DeleteOptions): Promise<void> {
    const { uid, resourceVersion, propagationPolicy, signal } = options;
    const guarded = uid !== undefined || resourceVersion !== undefined;
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      ...(guarded ? { preconditions: { uid, resourceVersion } } : {}),
      ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    };
    // Without a precondition, a repeated delete could hit a new object of the same name.
    await this.#write({ verb: "delete", method: "DELETE", path: this.#path(ref), body, repeatable: guarded }, { signal });
  }

  /** One watch, until the server ends it or it breaks. Its objects have no managedFields. */
  watch(options: WatchOptions): AsyncIterableIterator<WatchEvent<T>, undefined> {
    const { access } = this.#transport;
    const { plural: resource } = this.#kind;
    const { signal, idleMs = IDLE_MS, labelSelector, fieldSelector, resourceVersion, sendInitialEvents } = options;
    const request = { method: "GET", path: this.#collection(options.namespace) };
    const query = {
      watch: "true",
      allowWatchBookmarks: "true",
      labelSelector,
      fieldSelector,
      resourceVersion,
      ...(sendInitialEvents ? { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" } : {}),
    };
    return new WatchStream<T>({
      signal,
      idleMs,
      open: async () => {
        const response = await this.#transport.stream({ verb: "watch", resource, ...request, query, signal, repeatable: true });
        options.onOpen?.();
        return response;
      },
      error: {
        silent: () =>
          new KubeError("Timeout", `The watch of ${resource} at ${access.server} received nothing for ${idleMs / 1000} s`, request),
        cut: (cause) => new KubeError("Unreachable", `The watch of ${resource} at ${access.server} was cut off`, { ...request, cause }),
        junk: (line, cause) => notJson(access, request, line, cause),
        status: (status) => errorFromStatus(access, request, status.code ?? 500, status),
      },
    });
  }

  #read(verb: "get" | "list", path: string, signal: AbortSignal, query?: Record<string, string | undefined>): Promise<unknown> {
    return this.#transport.call({ verb, resource: this.#kind.plural, method: "GET", path, query, signal, repeatable: true });
  }

  async #write(call: Omit<Call, "resource" | "signal" | "check">, { signal, fieldManager }: WriteOptions): Promise<T> {
    const query = { ...call.query, fieldManager };
    return (await this.#transport.call({ ...call, query, resource: this.#kind.plural, signal, check: this.#check })) as T;
  }

  async #replace(object: T, options: WriteOptions, subresource?: string): Promise<T> {
    if (!object.metadata.resourceVersion) {
      throw new TypeError(`replace of ${this.#kind.kind} ${object.metadata.name} requires a resourceVersion`);
    }
    const path = this.#path(object.metadata, subresource);
    return this.#write({ verb: "update", method: "PUT", path, body: this.#named(object), repeatable: true }, options);
  }

  #patch(ref: ObjectRef, patch: object & { metadata?: object }, options: PatchOptions, subresource?: string): Promise<T> {
    const { resourceVersion } = options;
    const body = resourceVersion === undefined ? patch : { ...patch, metadata: { ...patch.metadata, resourceVersion } };
    const path = this.#path(ref, subresource);
    return this.#write(
      { verb: "patch", method: "PATCH", path, body, contentType: MERGE_PATCH, repeatable: resourceVersion !== undefined },
      options,
    );
  }

  #named(object: object): object {
    return { apiVersion: apiVersionOf(this.#kind), kind: this.#kind.kind, ...object };
  }

  #path({ name, namespace }: ObjectRef, subresource?: string): string {
    if (name === "") throw new TypeError(`${this.#kind.kind} requested without a name`);
    return `${this.#collection(namespace, name)}/${encodeURIComponent(name)}${subresource === undefined ? "" : `/${subresource}`}`;
  }

  /** `name`: the request is about one object, which for a namespaced kind requires a namespace. */
  #collection(namespace: string | undefined, name?: string): string {
    const { group, version, plural, scope, kind } = this.#kind;
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    if (scope === "Cluster") return `${root}/${plural}`;
    if (namespace) return `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
    if (name !== undefined) throw new TypeError(`${kind} ${name} requested without a namespace`);
    return `${root}/${plural}`;
  }
}
