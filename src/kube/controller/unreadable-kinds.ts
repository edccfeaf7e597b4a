import { metaTime } from "../../api/time.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { Source } from "./source.ts";
import type { Cache } from "../cache/cache.ts";

/** Why a report on a configuration may be outdated or not in effect, through no fault of its author. */
export interface ReadProblem {
  readonly reason: "ConfigurationUnreadable" | "SecretUnreadable";
  readonly message: string;
}

type Followed = Pick<Cache<KubeObject>, "kind" | "onConnection">;

/** A server ends watches every few minutes, and is unreachable for a moment now and then: not worth reporting. */
const PATIENCE_MS = 30_000;

export class UnreadableKinds implements Source {
  readonly #caches: readonly Followed[];
  readonly #key: string;
  readonly #lost = new Map<string, Date>();

  constructor(caches: readonly Followed[], key: string) {
    this.#caches = caches;
    this.#key = key;
  }

  impairment(): ReadProblem | undefined {
    if (this.#lost.size === 0) return undefined;
    const parts = [...this.#lost].map(([plural, since]) => `${plural} since ${metaTime(since)}`).sort();
    return { reason: "ConfigurationUnreadable", message: `Access denied: ${parts.join(", ")}` };
  }

  subscribe(enqueue: (key: string) => void): () => void {
    const ends = this.#caches.map((cache) => this.#follow(cache, () => enqueue(this.#key)));
    return () => {
      for (const end of ends) end();
      this.#lost.clear();
    };
  }

  #follow(cache: Followed, ring: () => void): () => void {
    const { plural } = cache.kind;
    let timer: NodeJS.Timeout | undefined;
    const end = cache.onConnection((state) => {
      clearTimeout(timer);
      const since = new Date();
      if (state === "connected") {
        if (this.#lost.delete(plural)) ring();
        return;
      }
      timer = setTimeout(() => {
        this.#lost.set(plural, since);
        ring();
      }, PATIENCE_MS);
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }
}
