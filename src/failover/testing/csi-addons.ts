import { type Condition, keyOf } from "../../api/kind.ts";
import { metaTime } from "../../api/time.ts";
import type { VolumeReplication } from "../observe/external-kinds.ts";

/** For tests: the gRPC codes that csi-addons tells apart, and one for all others. */
type Code = "FailedPrecondition" | "NotFound" | "Unimplemented" | "Internal";
type Answer<T> = T | { readonly code: Code; readonly message: string };

export const rejected = (code: Code, message: string = code) => ({ code, message });

/** A storage driver, one volume of it. */
export interface FakeDriver {
  enable(): Answer<object>;
  promote(force: boolean): Answer<object>;
  demote(): Answer<object>;
  resync(force: boolean): Answer<{ readonly ready: boolean }>;
  info(): Answer<{ readonly replicates: boolean; readonly lastSyncTime?: string }>;
}

/** Does what it is asked to at once; the other side is demoted and has everything. */
export const OBEDIENT: FakeDriver = {
  enable: () => ({}),
  promote: () => ({}),
  demote: () => ({}),
  resync: () => ({ ready: true }),
  info: () => ({ replicates: true }),
};

export type CsiAddonsVersion = "0.12" | "0.13" | "0.14";

type Status = NonNullable<VolumeReplication["status"]> & { lastCompletionTime?: string };

/** What starts the next reconcile of a volume, beside a change of its generation and a restart. */
export type Next = "after 15 s" | "after 30 s" | "with backoff" | "for its info" | "nothing";

export interface Reconciled {
  /** Nothing: no status is written. */
  readonly status?: Status;
  readonly next: Next;
}

interface ReconcileInput {
  readonly driver: FakeDriver;
  readonly version: CsiAddonsVersion;
  readonly now: Date;
  /** Class, claim or group: what cannot be found. */
  readonly missing?: string;
}

/** One reconcile of csi-addons, from what it read: which calls it makes, what it writes, and whether it comes back. */
export function reconcile(volume: VolumeReplication, { driver, version, now, missing }: ReconcileInput): Reconciled {
  const pass = new Pass(volume, version, now);
  if (missing !== undefined) return { ...pass.failed(pass.wanted, missing), next: "with backoff" };
  if (volume.spec.replicationState === "primary") return primary(volume, pass, driver);
  return secondary(volume, pass, driver);
}

function primary({ status }: VolumeReplication, pass: Pass, driver: FakeDriver): Reconciled {
  if (status?.state !== "Primary") {
    const enabled = driver.enable();
    // An error of it is returned, also where the volume is Secondary.
    if ("code" in enabled) return { ...pass.failed("primary", enabled.message, enabled.code), next: "with backoff" };
    const promoted = driver.promote(false);
    const last = "code" in promoted && promoted.code === "FailedPrecondition" ? driver.promote(true) : promoted;
    if ("code" in last) return pass.failed("primary", last.message);
    pass.promoted();
  } else if (pass.version !== "0.12") pass.promoted();

  const info = driver.info();
  if (!("code" in info)) {
    pass.replicates(info.replicates ? "True" : "False");
    return pass.done("Primary", "for its info", info.lastSyncTime === undefined ? {} : { lastSyncTime: info.lastSyncTime });
  }
  if (info.code === "Unimplemented") return pass.done("Primary", "nothing");
  if (info.code === "NotFound") return pass.done("Primary", "for its info");
  if (pass.version !== "0.14") return { next: "with backoff" };
  pass.replicates("Unknown");
  return pass.done("Primary", "for its info");
}

function secondary({ spec, status }: VolumeReplication, pass: Pass, driver: FakeDriver): Reconciled {
  if (spec.replicationState === "secondary") {
    const demoted = driver.demote();
    if ("code" in demoted) return pass.failed("secondary", demoted.message);
    pass.demoted();
    if (status?.state !== "Secondary") return pass.kept("after 15 s", "Secondary");
  }
  const resynced = driver.resync(spec.replicationState === "resync" || spec.autoResync === true);
  if ("code" in resynced) return pass.failed("resync", resynced.message);
  pass.resyncing();
  if (!resynced.ready) return pass.kept("after 30 s");
  pass.inSync();
  // Here it stops: no requeue, whatever the other side does from now on.
  return pass.done("Secondary", "nothing", spec.replicationState === "secondary" ? { lastSyncTime: undefined } : {});
}

/** The status on its way, each condition set as csi-addons sets it. */
class Pass {
  readonly wanted: VolumeReplication["spec"]["replicationState"];
  readonly version: CsiAddonsVersion;
  readonly #status: Status;
  readonly #generation: number;
  readonly #now: string;
  readonly #conditions: Condition[];

  constructor({ metadata, spec, status = {} }: VolumeReplication, version: CsiAddonsVersion, now: Date) {
    this.wanted = spec.replicationState;
    this.version = version;
    this.#status = status;
    this.#generation = metadata.generation ?? 0;
    this.#now = metaTime(now);
    this.#conditions = structuredClone(status.conditions ?? []);
  }

  promoted(): void {
    this.#set("Completed", "True", "Promoted");
    this.#set("Degraded", "False", "Healthy");
    this.#set("Resyncing", "False", "NotResyncing");
  }

  demoted(): void {
    this.#set("Completed", "True", "Demoted");
    this.#set("Degraded", "True", "VolumeDegraded");
    this.#set("Resyncing", "False", "NotResyncing");
  }

  resyncing(): void {
    this.demoted();
    this.#set("Resyncing", "True", "ResyncTriggered");
  }

  inSync(): void {
    this.#set("Degraded", "False", "Healthy");
    this.#set("Resyncing", "False", "NotResyncing");
  }

  replicates(status: Condition["status"]): void {
    if (this.version === "0.12") return;
    this.#set("Replicating", status, { True: "Replicating", False: "NotReplicating", Unknown: "Unknown" }[status]);
  }

  /** The state stays as it was; a Secondary is tried again every 15 s, anything else ever more rarely. */
  failed(to: VolumeReplication["spec"]["replicationState"], message: string, enabling?: Code): Reconciled {
    const reason = { primary: "FailedToPromote", secondary: "FailedToDemote", resync: "FailedToResync" }[to];
    this.#set("Completed", "False", reason, message);
    this.#set("Degraded", "True", "Error", message);
    this.#set("Resyncing", "False", to === "resync" ? "FailedToResync" : "NotResyncing");
    if (to === "primary") {
      if (enabling === "FailedPrecondition") this.#set("Validated", "False", "PrerequisiteNotMet", message);
      else this.#set("Validated", "True", "PrerequisiteMet");
    }
    return this.kept(this.#status.state === "Secondary" ? "after 15 s" : "with backoff");
  }

  /** Written with the state that it has, or is given. */
  kept(next: Next, state = this.#status.state ?? "Unknown"): Reconciled {
    const conditions = this.#conditions.filter(({ type }) => type !== "Replicating" || state !== "Secondary" || this.version !== "0.14");
    return { status: { ...this.#status, state, observedGeneration: this.#generation, conditions }, next };
  }

  done(state: "Primary" | "Secondary", next: Next, changes: { lastSyncTime?: string | undefined } = {}): Reconciled {
    const { status = {} } = this.kept(next, state);
    const { lastSyncTime, ...rest } = { ...status, ...changes, lastCompletionTime: this.#now };
    return { status: { ...rest, ...(lastSyncTime !== undefined && { lastSyncTime }) }, next };
  }

  #set(type: string, status: Condition["status"], reason: string, message = ""): void {
    const given = { type, status, reason, message, observedGeneration: this.#generation };
    const at = this.#conditions.findIndex((one) => one.type === type);
    const before = this.#conditions[at];
    const next = { ...given, lastTransitionTime: before?.status === status ? before.lastTransitionTime : this.#now };
    if (before) this.#conditions[at] = next;
    else this.#conditions.push(next);
  }
}

const INFO_MS = 3_600_000;
const BACKOFF = { firstMs: 5, mostMs: 1_000_000 };

/** When csi-addons looks at a volume: at each new generation, when it said so, and once after a restart. */
export class CsiAddonsQueue {
  readonly #handled = new Map<string, { readonly generation: number | undefined; readonly dueMs: number; readonly failures: number }>();

  isDue(volume: VolumeReplication, now: Date): boolean {
    const last = this.#handled.get(keyOf(volume));
    return last === undefined || last.generation !== volume.metadata.generation || last.dueMs <= now.getTime();
  }

  handled(volume: VolumeReplication, next: Next, now: Date): void {
    const failures = next === "with backoff" ? (this.#handled.get(keyOf(volume))?.failures ?? 0) + 1 : 0;
    const dueMs = now.getTime() + waitMs(next, failures);
    this.#handled.set(keyOf(volume), { generation: volume.metadata.generation, dueMs, failures });
  }

  /** As by a restart of the controller: it looks at everything once. */
  restart(): void {
    this.#handled.clear();
  }
}

function waitMs(next: Next, failures: number): number {
  if (next === "with backoff") return Math.min(BACKOFF.firstMs * 2 ** (failures - 1), BACKOFF.mostMs);
  return { "after 15 s": 15_000, "after 30 s": 30_000, "for its info": INFO_MS, nothing: Infinity }[next];
}
