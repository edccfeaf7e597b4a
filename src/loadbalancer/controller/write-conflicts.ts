import { backoffMs } from "../../util/backoff.ts";
import { servicesWithWriteConflicts } from "../metrics.ts";
import type { Service } from "../../api/core/service.ts";

interface WriteHistory {
  /** The last written value. */
  readonly written: string;
  repairs: number;
  notBefore: number;
  /** The conflict ends if no repair happens until then. */
  quietAt: number;
}

type WriteAction =
  /** Our last value is unchanged. */
  | { readonly is: "news" }
  /** Another writer has changed it: restore it now. `begins`: the limit for immediate repairs is reached. */
  | { readonly is: "repair"; readonly begins: boolean }
  /** Another writer has changed it: wait before restoring it. */
  | { readonly is: "wait"; readonly ms: number };

/** Number of immediate repairs before backoff. */
const IMMEDIATE_REPAIRS = 3;
const BACKOFF = { minMs: 1_000, maxMs: 300_000 };
const QUIET_MS = 60_000;

/** Services whose addresses another writer keeps changing. Backs off, so that two programs do not overwrite each other in a loop. */
export class WriteConflicts {
  readonly #histories = new Map<string, WriteHistory>();
  readonly #conflicting = new Set<string>();

  /** A patch is due. */
  beforeWrite(key: string, wanted: string): WriteAction {
    const now = performance.now();
    const history = this.#histories.get(key);
    if (history?.written !== wanted) return { is: "news" };
    if (now >= history.quietAt) this.#end(key, history);
    if (now < history.notBefore) return { is: "wait", ms: history.notBefore - now };
    history.repairs += 1;
    const waitMs = history.repairs < IMMEDIATE_REPAIRS ? 0 : backoffMs(history.repairs - IMMEDIATE_REPAIRS, BACKOFF);
    history.notBefore = now + waitMs;
    history.quietAt = now + Math.max(QUIET_MS, 2 * waitMs);
    if (history.repairs === IMMEDIATE_REPAIRS) this.#begin(key);
    return { is: "repair", begins: history.repairs === IMMEDIATE_REPAIRS };
  }

  /** The server has it now. */
  afterWrite(key: string, written: string): void {
    if (this.#histories.get(key)?.written === written) return;
    this.#resolved(key);
    this.#histories.set(key, { written, repairs: 0, notBefore: 0, quietAt: 0 });
  }

  /** The Service is as desired. Returns the milliseconds until the conflict ends, "over" when it ends, undefined without a conflict. */
  whenUnchanged(key: string): number | "over" | undefined {
    const history = this.#histories.get(key);
    if (!history || !this.#conflicting.has(key)) return undefined;
    const ms = history.quietAt - performance.now();
    if (ms > 0) return ms;
    this.#end(key, history);
    return "over";
  }

  forget(key: string): void {
    this.#histories.delete(key);
    this.#resolved(key);
  }

  clear(): void {
    this.#histories.clear();
    this.#conflicting.clear();
    servicesWithWriteConflicts.set(0);
  }

  #end(key: string, history: WriteHistory): void {
    history.repairs = 0;
    this.#resolved(key);
  }

  #begin(key: string): void {
    this.#conflicting.add(key);
    servicesWithWriteConflicts.set(this.#conflicting.size);
  }

  #resolved(key: string): void {
    this.#conflicting.delete(key);
    servicesWithWriteConflicts.set(this.#conflicting.size);
  }
}

/** The field manager that last wrote the Service's addresses; undefined if the server does not record it. */
export function conflictingManager({ metadata: { managedFields = [] } }: Service): string | undefined {
  const owners = (managedFields as Partial<Managed>[]).filter(
    ({ manager, fieldsV1 }) => manager && fieldsV1?.["f:status"]?.["f:loadBalancer"],
  );
  return owners.sort((a, b) => ((a.time ?? "") < (b.time ?? "") ? 1 : -1))[0]?.manager;
}

interface Managed {
  readonly manager: string;
  readonly time: string;
  readonly fieldsV1: { readonly "f:status"?: { readonly "f:loadBalancer"?: object } };
}
