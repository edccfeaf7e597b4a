import type { KubeObject } from "../api/kind.ts";
import type { L2VNI } from "../api/openpe/l2vni.ts";
import type { L3Passthrough } from "../api/openpe/l3passthrough.ts";
import type { L3VNI } from "../api/openpe/l3vni.ts";
import type { Underlay } from "../api/openpe/underlay.ts";
import type { Cache } from "../kube/cache/cache.ts";
import { controller, type Runnable } from "../kube/controller/controller.ts";
import { changesOf } from "../kube/controller/source.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { Log } from "../kube/log.ts";
import { readObjects, UNCLEAR_VRF, unclearL2VNIs } from "./dialects/read-objects.ts";
import { farImports } from "./validate/imports.ts";

type Watched<T extends KubeObject> = Pick<Cache<T>, "list" | "subscribe" | "waitForSync">;

interface ConfigurationWarningsOptions {
  /** Of the router's namespace. */
  readonly underlays: Watched<Underlay>;
  readonly l2vnis: Watched<L2VNI>;
  readonly l3vnis: Watched<L3VNI>;
  readonly passthroughs: Watched<L3Passthrough>;
  readonly events: Pick<EventRecorder, "record">;
  readonly log: Log;
}

interface Warning {
  readonly kind: "L2VNI" | "L3VNI";
  readonly object: KubeObject;
  readonly reason: string;
  readonly message: string;
}

const ALL = "configuration";

/** A warning Event, when it begins, on each object that nothing rejects and that may not do what was meant. */
export function configurationWarnings({ underlays, l2vnis, l3vnis, passthroughs, events, log }: ConfigurationWarningsOptions): Runnable {
  let known = new Map<string, string>();
  return controller("configuration-warnings", {
    watches: [underlays, l2vnis, l3vnis, passthroughs].map((cache) => changesOf<KubeObject>(cache, () => [ALL])),
    log,
    reconcile() {
      const before = known;
      const stored = { underlays: underlays.list(), l2vnis: l2vnis.list(), l3vnis: l3vnis.list(), passthroughs: passthroughs.list() };
      const warnings = [...importWarnings(stored.l3vnis, stored.underlays), ...vrfWarnings({ ...stored, rawConfigs: [] })];
      known = new Map(warnings.map(({ object, message }) => [object.metadata.uid ?? "", message]));
      for (const { kind, object, reason, message } of warnings) {
        if (before.get(object.metadata.uid ?? "") === message) continue;
        const named = { ...object, apiVersion: "openpe.openperouter.github.io/v1alpha1", kind };
        events.record(named, { type: "Warning", reason, message });
      }
      return Promise.resolve(undefined);
    },
  });
}

function importWarnings(l3vnis: readonly L3VNI[], underlays: readonly Underlay[]): Warning[] {
  return l3vnis.flatMap((object) => {
    const found = farImports(object, l3vnis, underlays);
    const message = found.map((one) => `${one.field}: ${one.message}`).join("; ");
    return message === "" ? [] : { kind: "L3VNI", object, reason: "ImportsOtherVni", message };
  });
}

function vrfWarnings(stored: Parameters<typeof readObjects>[0]): Warning[] {
  return unclearL2VNIs(readObjects(stored)).map((object) => ({
    kind: "L2VNI",
    object,
    reason: "UnclearVrf",
    message: `spec.vrf: ${UNCLEAR_VRF}`,
  }));
}
