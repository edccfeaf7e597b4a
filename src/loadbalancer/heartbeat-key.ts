import { randomBytes } from "node:crypto";
import { Secret } from "../api/core/secret.ts";
import type { Cache } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/error.ts";
import { controller, type Runnable } from "../kube/controller/controller.ts";
import { changesOf, type Source } from "../kube/controller/source.ts";
import type { Log } from "../kube/log.ts";

/** In the namespace of Plumbline's own objects. */
export const heartbeatSecretName = "plumbline-heartbeat";
const FIELD = "key";
const BYTES = 32;

/** With what the speakers sign their heartbeats to each other; undefined where the Secret does not hold a key. */
export function heartbeatKey(secret: Secret | undefined): Buffer | undefined {
  const key = Buffer.from(secret?.data?.[FIELD] ?? "", "base64");
  return key.length === BYTES ? key : undefined;
}

export interface HeartbeatKeyOptions {
  /** Fenced: only the leader makes one. */
  client: KubeClient;
  namespace: string;
  /** Holds the one Secret. */
  secrets: Pick<Cache<Secret>, "get" | "list" | "subscribe" | "waitForSync">;
  log: Log;
}

/** Sees to it that there is a key. One that is there is never changed: whoever has the old one would not be heard any more. */
export function heartbeatKeyMaker({ client, namespace, secrets, log }: HeartbeatKeyOptions): Runnable {
  const key = `${namespace}/${heartbeatSecretName}`;
  const atStart: Source = {
    subscribe(enqueue) {
      enqueue(key);
      return () => undefined;
    },
  };
  return controller("heartbeat-key", {
    watches: [atStart, changesOf(secrets)],
    log,
    async reconcile(_key, { signal }) {
      const secret = secrets.get(key);
      if (heartbeatKey(secret)) return;
      const data = { [FIELD]: randomBytes(BYTES).toString("base64") };
      try {
        if (secret) await client.resource(Secret).replace({ ...secret, data: { ...secret.data, ...data } }, { signal });
        else await client.resource(Secret).create({ metadata: { name: heartbeatSecretName, namespace }, data }, { signal });
        log.info("heartbeat key made");
      } catch (error) {
        // The watch brings what someone else has made of it.
        if (!isKubeError(error, "AlreadyExists", "Conflict")) throw error;
      }
    },
  });
}
