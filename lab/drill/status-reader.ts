import { Event } from "../../src/api/core/event.ts";
import { keyOf, type Kind } from "../../src/api/kind.ts";
import type { Cause } from "../../src/explain/answer.ts";
import { CauseGraph } from "../../src/explain/graph.ts";
import { EXPLAINED_KINDS, explainersOf } from "../../src/explain/explainers.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { METALLB_NAMESPACE, ROUTER_NAMESPACE } from "../cli/api.ts";
import { type StatusStatement, statementsOf } from "./statements.ts";

const KINDS: readonly Kind[] = [...EXPLAINED_KINDS, Event];

/** What all statuses of the lab say, and what `why` makes of it, from one moment to the next. */
export class StatusReader {
  readonly #caches: readonly Cache<never>[];
  readonly #graph = new CauseGraph(explainersOf({ routerNamespace: ROUTER_NAMESPACE, metallbNamespace: METALLB_NAMESPACE }));

  constructor(client: KubeClient) {
    this.#caches = KINDS.map((kind) => {
      const cache = new Cache(client, kind);
      cache.subscribe((change) =>
        change.type === "deleted" ? this.#graph.drop(kind, keyOf(change.object)) : this.#graph.put(kind, change.object),
      );
      return cache as unknown as Cache<never>;
    });
  }

  async open(signal: AbortSignal): Promise<void> {
    for (const cache of this.#caches) cache.start(signal);
    for (const cache of this.#caches) await cache.waitForSync(signal);
  }

  statements(): StatusStatement[] {
    return this.#caches.flatMap((cache) => cache.list().flatMap((object) => statementsOf(cache.kind, object)));
  }

  causes(): readonly Cause[] {
    return this.#graph.causes();
  }
}
