import { Secret } from "../../api/core/secret.ts";
import { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { pause, untilAborted } from "../../kube/client/pause.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import { aborted } from "../../kube/controller/ending.ts";
import type { Log } from "../../kube/log.ts";
import { leanSecret } from "../services/lean.ts";

interface Options {
  client: KubeClient;
  namespace: string;
  log: Log;
  onChange(): void;
}

interface Followed {
  readonly cache: Cache<Secret>;
  readonly end: AbortController;
}

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** The Secrets that peers name, and no others: one watch for each. */
export class ReferencedSecrets implements Runnable {
  readonly name = "peers' secrets";
  readonly #options: Options;
  readonly #followed = new Map<string, Followed>();

  constructor(options: Options) {
    this.#options = options;
  }

  get(name: string): Secret | undefined {
    return this.#followed.get(name)?.cache.get(`${this.#options.namespace}/${name}`);
  }

  /** Follows these from now on. Returns those that could not be read in the given time: nothing is known of them, not even that they are missing. */
  async follow(asked: ReadonlySet<string>, withinMs: number, signal: AbortSignal): Promise<string[]> {
    // What no Secret can be called need not be asked for; the API would take some of it for more than a name.
    const names = new Set([...asked].filter((name) => NAME.test(name)));
    for (const [name, { end }] of this.#followed) {
      if (names.has(name)) continue;
      end.abort();
      this.#followed.delete(name);
    }
    for (const name of names) if (!this.#followed.has(name)) this.#followed.set(name, this.#begin(name));

    const unread = () => [...names].filter((name) => !this.#followed.get(name)?.cache.synced);
    if (unread().length === 0) return [];
    const all = Promise.all([...this.#followed.values()].map(({ cache, end }) => cache.waitForSync(end.signal).catch(() => undefined)));
    await Promise.race([untilAborted(all, signal), pause(withinMs, signal)]);
    return unread().sort();
  }

  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    for (const { end } of this.#followed.values()) end.abort();
    this.#followed.clear();
  }

  #begin(name: string): Followed {
    const { client, namespace, log } = this.#options;
    const cache = new Cache(client, Secret, { namespace, fieldSelector: `metadata.name=${name}`, transform: leanSecret, log });
    const end = new AbortController();
    cache.start(end.signal);
    cache.subscribe((change) => {
      // What was there from the start is waited for.
      if (change.type !== "added" || !change.initial) this.#options.onChange();
    });
    return { cache, end };
  }
}
