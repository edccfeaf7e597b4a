import type { L3VNI } from "../api/openpe/l3vni.ts";
import type { Underlay } from "../api/openpe/underlay.ts";
import type { Cache } from "../kube/cache/cache.ts";
import { controller, type Runnable } from "../kube/controller/controller.ts";
import { changesOf } from "../kube/controller/source.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { Log } from "../kube/log.ts";
import { farImports } from "./validate/imports.ts";

interface ConfigurationWarningsOptions {
  /** Of the router's namespace. */
  l3vnis: Pick<Cache<L3VNI>, "list" | "subscribe" | "waitForSync">;
  underlays: Pick<Cache<Underlay>, "list" | "subscribe" | "waitForSync">;
  events: Pick<EventRecorder, "record">;
  log: Log;
}

const ALL = "imports";

/** A warning Event on each L3VNI that imports what only other VNIs export, when that begins. */
export function configurationWarnings({ l3vnis, underlays, events, log }: ConfigurationWarningsOptions): Runnable {
  let known = new Map<string, string>();
  return controller(ALL, {
    watches: [changesOf(l3vnis, () => [ALL]), changesOf(underlays, () => [ALL])],
    log,
    reconcile() {
      const all = l3vnis.list();
      const before = known;
      known = new Map();
      for (const l3vni of all) {
        const message = farImports(l3vni, all, underlays.list())
          .map((found) => `${found.field}: ${found.message}`)
          .join("; ");
        if (message === "") continue;
        const { uid = "" } = l3vni.metadata;
        known.set(uid, message);
        if (before.get(uid) === message) continue;
        const object = { ...l3vni, apiVersion: "openpe.openperouter.github.io/v1alpha1", kind: "L3VNI" };
        events.record(object, { type: "Warning", reason: "ImportsOtherVni", message });
      }
      return Promise.resolve(undefined);
    },
  });
}
