import { parseKey, type KubeObject } from "../../api/kind.ts";
import type { Cache } from "../cache/cache.ts";
import { isKubeError } from "../client/error.ts";
import type { ResourceClient } from "../client/resource-client.ts";
import type { StatusEntry } from "./entry.ts";
import { statusOf, type StatusOf, type StatusRequest } from "./plan.ts";
import { StatusAltered } from "./retry-policy.ts";

export type StatusClient<T extends KubeObject> = Pick<ResourceClient<T>, "get" | "create" | "patch" | "patchStatus" | "delete">;

export class StatusRequests<T extends KubeObject> {
  readonly #resource: StatusClient<T>;
  readonly #cache: Pick<Cache<T>, "get">;
  readonly #same: (stored: StatusOf<T> | undefined, next: StatusOf<T>) => boolean;

  constructor(
    resource: StatusClient<T>,
    cache: Pick<Cache<T>, "get">,
    same: (stored: StatusOf<T> | undefined, next: StatusOf<T>) => boolean,
  ) {
    this.#resource = resource;
    this.#cache = cache;
    this.#same = same;
  }

  async observe(entry: StatusEntry<T>, signal: AbortSignal): Promise<void> {
    const { name, ...namespace } = parseKey(entry.key);
    entry.doubt = false;
    entry.ask();
    try {
      entry.learn(await this.#resource.get(name, { ...namespace, signal }));
    } catch (error) {
      if (isKubeError(error, "NotFound")) return entry.learnMissing(this.#cache.get(entry.key));
      entry.doubt = true;
      throw error;
    }
  }

  async send(entry: StatusEntry<T>, step: StatusRequest<T>, signal: AbortSignal): Promise<void> {
    const ref = parseKey(entry.key);
    entry.ask();
    switch (step.do) {
      case "create":
        return entry.learn(await this.#resource.create(step.object, { signal }));
      case "patch":
        return entry.learn(await this.#resource.patch(ref, step.patch, { resourceVersion: step.resourceVersion, signal }));
      case "patch-status": {
        const answer = await this.#resource.patchStatus(ref, step.patch, { resourceVersion: step.resourceVersion, signal });
        entry.learn(answer);
        StatusAltered.unless(this.#same(statusOf(answer), step.next), entry.key);
        return;
      }
      case "delete":
        await this.#resource.delete(ref, { uid: step.uid, resourceVersion: step.resourceVersion, signal });
        entry.learnMissing(this.#cache.get(entry.key));
    }
  }
}
