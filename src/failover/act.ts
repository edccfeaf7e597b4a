import { FailoverPolicy, type FailoverToken } from "../api/failover/failover-policy.ts";
import { keyOf, type KubeObject } from "../api/kind.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isKubeError, type KubeError } from "../kube/client/error.ts";
import type { Log } from "../kube/log.ts";
import type { WrittenVersion } from "./observe/cached-reader.ts";
import type { WatchedKind } from "./observe/watched-kinds.ts";
import type { SwitchPlan, SwitchStep, PlannedWrite } from "./steps/step.ts";
import type { PolicyFailure } from "./policy/failure.ts";
import { isVolumeKind } from "./policy/managed.ts";

/** Set on a policy while a switch is running, so that it cannot be deleted halfway. */
const finalizer = "plumbline.dev/failover";

export interface WriteResult {
  readonly failures: readonly PolicyFailure[];
  readonly written: readonly WrittenVersion[];
  /** An object changed since it was read: plan again. */
  readonly again: boolean;
  /** The same as a failure, for where it goes on like that. */
  readonly conflictFailures: readonly PolicyFailure[];
}

export interface WriteDeps {
  client: KubeClient;
  log: Log;
  /** Called when nothing more is written to the policy itself: a status that was written before would make those writes conflict. */
  onPolicyWritten?: () => void;
}

/**
 * Makes the writes of a plan, each only if its object is still the one that was looked at: in safe mode step after step, in unsafe mode at once. A write that is refused costs only its own resource, but for one of Flux, which would undo what comes after.
 */
export async function act(plan: SwitchPlan, policy: FailoverPolicy, deps: WriteDeps, signal: AbortSignal): Promise<WriteResult> {
  const steps = plan.steps.filter(({ state }) => state === "Act");
  const pass = new WritePass(deps, signal);
  const withFinalizer = hasFinalizer(policy) ? policy : await pass.hold(policy);
  // A token comes before everything that it allows.
  const token = steps.find((step) => step.token !== undefined)?.token;
  if (token !== undefined && !pass.isOver) await pass.writeToken(withFinalizer, token, plan.forced);
  deps.onPolicyWritten?.();
  if (!pass.isOver) await (plan.mode === "safe" ? inOrder(steps, pass) : atOnce(steps, pass));
  return pass;
}

/** What writing met with, as far as the plan still wants to write it. */
export function stillFailingWrites(failures: readonly PolicyFailure[], { steps }: SwitchPlan): PolicyFailure[] {
  const acting = steps.filter(({ state }) => state === "Act");
  const writes = acting.flatMap((step) => step.writes);
  return failures.filter(({ kind, namespace = "", name }) => {
    if (kind === FailoverPolicy.kind) return acting.length > 0;
    return writes.some(
      ({ kind: { kind: written }, object: { metadata } }) =>
        written === kind && metadata.name === name && (metadata.namespace ?? "") === namespace,
    );
  });
}

export function hasFinalizer({ metadata }: FailoverPolicy): boolean {
  return metadata.finalizers?.includes(finalizer) === true;
}

/**
 * Whether nothing is left to hold the policy for. One that is deleted does not wait for what no longer exists: with its namespace all of that goes
 * first, and a finalizer that stays would block the namespace forever.
 */
export function mayRemoveFinalizer({ metadata }: FailoverPolicy, { complete, rejections, steps, resources, to }: SwitchPlan): boolean {
  if (complete || metadata.deletionTimestamp === undefined) return complete;
  const volumes = resources.filter(({ resource }) => isVolumeKind(resource.kind));
  const required = to === "primary" && volumes.length > 0 ? volumes : resources;
  // Nothing is left to be written when the application is waited for, and it may never come.
  const isWritten = steps.every(({ name, state }) => state === "Done" || name === "AwaitWorkloads");
  return rejections.length > 0 || isWritten || required.every(({ state }) => state === "Not Found");
}

/** The switch is over, or will never be: the policy may go. */
export async function removeFinalizer(policy: FailoverPolicy, deps: WriteDeps, signal: AbortSignal): Promise<WriteResult> {
  const pass = new WritePass(deps, signal);
  await pass.release(policy);
  return pass;
}

async function inOrder(steps: readonly SwitchStep[], pass: WritePass): Promise<void> {
  for (const step of steps) {
    if (step.name === "ScaleDown" && pass.fluxGoesOn) continue;
    // One kind may depend on the one before it, as HelmReleases on Kustomizations; objects of the same kind do not.
    for (const writes of Map.groupBy(step.writes, ({ kind }) => kind.kind).values()) {
      await allOf(writes.map((write) => pass.write(step, write)));
    }
    if (pass.again || pass.isUnpromoted) return;
  }
}

async function atOnce(steps: readonly SwitchStep[], pass: WritePass): Promise<void> {
  const all = steps.flatMap((step) => step.writes.map((write) => ({ step, write })));
  await allOf(all.filter(({ write }) => !write.after).map(({ step, write }) => pass.write(step, write)));
  await allOf(all.filter(({ write }) => write.after).map(({ step, write }) => pass.write(step, write)));
}

/** No write outlives its pass, also if another one fails. */
async function allOf(writes: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(writes);
  await Promise.all(writes);
}

/** The writes of one pass and what became of them. */
class WritePass implements WriteResult {
  readonly failures: PolicyFailure[] = [];
  readonly written: WrittenVersion[] = [];
  again = false;
  readonly conflictFailures: PolicyFailure[] = [];
  fluxGoesOn = false;
  isUnpromoted = false;
  readonly #missed = new Set<KubeObject>();
  readonly #client: KubeClient;
  readonly #log: Log;
  readonly #signal: AbortSignal;

  constructor({ client, log }: WriteDeps, signal: AbortSignal) {
    this.#client = client;
    this.#log = log;
    this.#signal = signal;
  }

  async write(step: SwitchStep, { kind, object, patch, description, create, after }: PlannedWrite): Promise<void> {
    if (after && this.#missed.has(after)) return;
    const { namespace = "", name, resourceVersion = "" } = object.metadata;
    try {
      const resource = this.#client.resource(kind);
      const options = { signal: this.#signal };
      const made = create ? resource.create(object, options) : resource.patch(object.metadata, patch, { resourceVersion, ...options });
      const { metadata } = await made;
      this.written.push({ kind: kind.kind as WatchedKind, namespace, name, resourceVersion: metadata.resourceVersion ?? "" });
      this.#log.info({ step: step.name, description }, "failover wrote");
    } catch (error) {
      this.#missed.add(object);
      if (this.#isConflict(error, kind.kind, object, description)) return;
      if (!isBlocker(error)) throw error;
      this.fluxGoesOn ||= step.name === "SuspendFlux";
      this.isUnpromoted ||= step.name === "PromoteVolumes";
      this.#addFailure(kind.kind, object, error, description);
    }
  }

  /** Nothing more can be written in this pass. */
  get isOver(): boolean {
    return this.again || this.failures.length > 0;
  }

  async hold(policy: FailoverPolicy): Promise<FailoverPolicy> {
    const finalizers = [...(policy.metadata.finalizers ?? []), finalizer];
    return this.#orFailure(policy, `add finalizer ${finalizer}`, () => this.#finalizers(policy, finalizers));
  }

  async release(policy: FailoverPolicy): Promise<void> {
    await this.#finalizers(
      policy,
      (policy.metadata.finalizers ?? []).filter((one) => one !== finalizer),
    );
  }

  async #finalizers(policy: FailoverPolicy, finalizers: readonly string[]): Promise<FailoverPolicy> {
    const { resourceVersion = "" } = policy.metadata;
    const patch = { metadata: { finalizers } };
    return this.#onPolicy(policy, () =>
      this.#client.resource(FailoverPolicy).patch(policy.metadata, patch, { resourceVersion, signal: this.#signal }),
    );
  }

  /** The reason of a forced takeover is in the same write, so that a crash right after it does not lose the reason. */
  async writeToken(policy: FailoverPolicy, token: FailoverToken | null, forced: string | undefined): Promise<void> {
    const { resourceVersion = "" } = policy.metadata;
    const patch = { status: { token: token && { copied: null, ...token, forced: forced ?? null } } };
    const description = token
      ? `${token.state === "Held" ? "take" : "write"} token ${token.state} of epoch ${token.epoch}`
      : "delete the token";
    await this.#orFailure(policy, description, () =>
      this.#onPolicy(policy, () =>
        this.#client.resource(FailoverPolicy).patchStatus(policy.metadata, patch, { resourceVersion, signal: this.#signal }),
      ),
    );
    if (!this.isOver) this.#log.info({ key: keyOf(policy), ...token }, "failover token written");
  }

  async #onPolicy(policy: FailoverPolicy, write: () => Promise<FailoverPolicy>): Promise<FailoverPolicy> {
    try {
      return await write();
    } catch (error) {
      if (!this.#isConflict(error, FailoverPolicy.kind, policy, "write the policy")) throw error;
      return policy;
    }
  }

  async #orFailure(policy: FailoverPolicy, text: string, write: () => Promise<FailoverPolicy>): Promise<FailoverPolicy> {
    try {
      return await write();
    } catch (error) {
      if (!isBlocker(error)) throw error;
      this.#addFailure(FailoverPolicy.kind, policy, error, text);
      return policy;
    }
  }

  #addFailure(kind: string, { metadata: { namespace = "", name } }: KubeObject, error: KubeError, text: string): void {
    // It may have arrived all the same, so what comes next has to look first.
    this.again ||= error.code === "Timeout";
    this.failures.push({ kind, namespace, name, ...blocker(error, text) });
  }

  /** Another writer was faster. */
  #isConflict(error: unknown, kind: string, { metadata: { namespace = "", name } }: KubeObject, text: string): boolean {
    if (!isKubeError(error, "Conflict", "NotFound", "AlreadyExists")) return false;
    this.again = true;
    const message = `Could not ${text}: the object keeps changing: ${error.message}`;
    this.conflictFailures.push({ kind, namespace, name, reason: "WriteFailed", message, class: "Transient" });
    return true;
  }
}

/** Whether the server was asked and said no to this write; when it is away, or we are no longer leader, no write can succeed and none is to blame. */
function isBlocker(error: unknown): error is KubeError {
  return isKubeError(error) && !isKubeError(error, "Unreachable", "Unauthorized", "Certificate", "Fenced");
}

function blocker(error: KubeError, text: string): Pick<PolicyFailure, "reason" | "message" | "class"> {
  return {
    reason: error.code === "Forbidden" ? "Forbidden" : "WriteFailed",
    message: `Could not ${text}: ${error.message}`,
    class: isKubeError(error, "Forbidden", "Invalid", "BadRequest") ? "Permanent" : "Transient",
  };
}
