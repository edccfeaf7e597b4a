import type { KubeObject } from "../../src/api/kind.ts";
import type { Cache } from "../../src/kube/cache/cache.ts";
import type { Runnable } from "../../src/kube/controller/controller.ts";

/** Something that does in a lab what another project's controller does in a cluster. */
export interface ControllerEmulator {
  readonly caches: readonly Pick<Cache<KubeObject>, "start" | "waitForSync">[];
  readonly controllers: readonly Runnable[];
}

/** Runs them; resolves when they know what there is. What is returned ends them. */
export async function runControllerEmulators(standIns: readonly ControllerEmulator[]): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const caches = standIns.flatMap((standIn) => standIn.caches);
  for (const cache of caches) cache.start(stop.signal);
  await Promise.all(caches.map((cache) => cache.waitForSync(stop.signal)));
  const ended = Promise.all(standIns.flatMap((standIn) => standIn.controllers.map((controller) => controller.run(stop.signal))));
  return async () => {
    stop.abort();
    await ended;
  };
}
