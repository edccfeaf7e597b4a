import { createInterface } from "node:readline";
import { keyOf, type ObjectMeta } from "../../api/kind.ts";
import { backoffMs } from "../../util/backoff.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError, KubeError, type Status } from "../../kube/client/error.ts";
import { sleep } from "../../util/sleep.ts";
import { printable } from "../../kube/printable.ts";
import { pathOf } from "../resources/path.ts";
import type { ResourceSelection } from "../resources/selection.ts";
import { acceptOf, read } from "./read.ts";
import type { ChangeType, ObjectView } from "./view.ts";

const RETRY = { minMs: 250, maxMs: 30_000 };
/** A server sends a bookmark every minute. */
const SILENCE_MS = 90_000;

interface WatchOptions<Item> {
  client: KubeClient;
  selection: ResourceSelection;
  view: ObjectView<Item>;
  signal: AbortSignal;
}

/** Prints the objects and then every change, across lost connections, until the signal aborts. */
export async function watch<Item>(options: WatchOptions<Item>): Promise<void> {
  await new Watching(options).run();
}

interface Event {
  type: ChangeType | "BOOKMARK" | "ERROR";
  object: unknown;
}

class Watching<Item> {
  readonly #options: WatchOptions<Item>;
  readonly #versions = new Map<string, string>();
  #resourceVersion = "";

  constructor(options: WatchOptions<Item>) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    // The first list must succeed: with a misspelled server, the user should not wait.
    await this.#list();
    for (let failures = 0; ;) {
      try {
        if (this.#resourceVersion === "") await this.#list();
        await this.#follow(() => (failures = 0));
      } catch (error) {
        if (signal.aborted || !isKubeError(error)) throw error;
        if (error.code === "Gone") this.#resourceVersion = "";
        else {
          if (failures === 0) process.stderr.write(`plumbline: ${printable(error.message)}; retrying\n`);
          failures += 1;
        }
      }
      await sleep(backoffMs(failures + 1, RETRY), signal);
    }
  }

  async #list(): Promise<void> {
    const { client, selection, view, signal } = this.#options;
    const [name] = selection.names;
    const { items, resourceVersion } = await read(client, { ...selection, names: [] }, view, signal);
    const wanted = items.filter((item) => name === undefined || view.metadata(item).name === name);
    const changed = wanted.filter((item) => this.#note(view.metadata(item)));
    this.#resourceVersion = resourceVersion;
    if (changed.length > 0) process.stdout.write(view.whole(changed));
  }

  async #follow(onOpen: () => void): Promise<void> {
    const { client, selection, view, signal } = this.#options;
    const { resource, namespace, selector: labelSelector, names } = selection;
    const fieldSelector = names[0] === undefined ? undefined : `metadata.name=${names[0]}`;
    const resourceVersion = this.#resourceVersion;
    const query = { watch: "true", allowWatchBookmarks: "true", labelSelector, fieldSelector, resourceVersion };
    const path = pathOf(resource, { namespace });
    const stream = await client.stream(path, { query, signal, ...acceptOf(view) });
    onOpen();
    const lost = (why: string, cause?: unknown) =>
      new KubeError("Unreachable", `The watch of ${resource.plural} at ${client.access.server} ${why}`, { cause });
    const silence = setTimeout(() => stream.destroy(lost(`sent nothing for ${SILENCE_MS / 1000} s`)), SILENCE_MS);
    const onAbort = () => stream.destroy(signal.reason as Error);
    signal.addEventListener("abort", onAbort);
    try {
      for await (const line of createInterface({ input: stream })) {
        silence.refresh();
        const { type, object } = JSON.parse(line) as Event;
        if (type === "ERROR") throw errorOf(object as Status);
        for (const item of view.items(object)) {
          const metadata = view.metadata(item);
          this.#resourceVersion = metadata.resourceVersion ?? this.#resourceVersion;
          if (type === "BOOKMARK") continue;
          if (type === "DELETED") this.#versions.delete(keyOf({ metadata }));
          else this.#note(metadata);
          process.stdout.write(view.change(type, item));
        }
      }
      if (stream.errored) throw stream.errored;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw isKubeError(error) ? error : lost("was cut off", error);
    } finally {
      clearTimeout(silence);
      signal.removeEventListener("abort", onAbort);
      stream.destroy();
    }
  }

  #note(metadata: ObjectMeta): boolean {
    const { resourceVersion = "" } = metadata;
    const key = keyOf({ metadata });
    if (this.#versions.get(key) === resourceVersion) return false;
    this.#versions.set(key, resourceVersion);
    return true;
  }
}

function errorOf({ code, message, reason }: Status): KubeError {
  return new KubeError(code === 410 ? "Gone" : "ServerError", message ?? "The server ended the watch", { status: code, reason });
}
