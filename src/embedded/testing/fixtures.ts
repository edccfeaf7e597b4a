/** What the tests of this room build their cases from. */
import type { JsonObject } from "../../api/admission/value.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { ApiError } from "../store/api-error.ts";
import { CORE_KINDS } from "../kinds/core-kinds.ts";
import { customKind, type ServedKind } from "../kinds/served-kind.ts";
import type { ChangeLog } from "../store/change-log.ts";
import { Store } from "../store/store.ts";

const kinds = [...CORE_KINDS, customKind(L3VNI), customKind(RouterNodeConfigurationStatus)];

export function kindNamed(name: string): ServedKind {
  const kind = kinds.find((served) => served.kind === name);
  if (!kind) throw new Error(`no kind ${name}`);
  return kind;
}

/** A store with the namespace `default`. */
export function newStore(ledger?: ChangeLog, onFault?: (error: unknown) => void): Store {
  const store = new Store(kinds, { ...(ledger && { ledger }), ...(onFault && { onFault }) });
  store.create(kindNamed("Namespace"), undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } });
  return store;
}

export function l3vni(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: "openpe.openperouter.github.io/v1alpha1",
    kind: "L3VNI",
    metadata: { name, ...metadata },
    spec: { vrf: "red", vni: 100, ...spec },
  };
}

export function configMap(name: string, data: Record<string, string> = {}, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data };
}

/** An edit of an object's metadata alone. */
export const withMetadata =
  (change: JsonObject) =>
  (stored: object | undefined): JsonObject => ({
    ...stored,
    metadata: { ...(stored as { metadata: object } | undefined)?.metadata, ...change },
  });

/** The refusal of an operation, as far as the test wants to see it. */
export function faultOf(operation: () => unknown): { code: number; reason: string | undefined; message: string } {
  try {
    operation();
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, reason: error.reason, message: error.message };
    throw error;
  }
  throw new Error("it was not refused");
}
