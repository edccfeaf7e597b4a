import { failoverFinalizer } from "../api/annotations.ts";
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

export interface WriteResult {
  readonly failures: readonly PolicyFailure[];
  readonly written: readonly WrittenVersion[];
  /** An object changed since it was read: plan again. */
  readonly again: boolean;
  readonly conflictFailures: readonly PolicyFailure[];
}

export interface WriteDeps {
  client: KubeClient;
  log: Log;
  /** Called when nothing more is written to the policy itself: a status written earlier would make those writes conflict. */
  onPolicyWritten?: () => void;
}

/**
 * Executes the writes of a plan, each only if its object has not changed since it was read: step by step in safe mode, all at once in
 * unsafe mode. A rejected write affects only its own resource, except one of Flux, which would revert later writes.
 */
export async function act(plan: SwitchPlan, policy: FailoverPolicy, deps: WriteDeps, signal: AbortSignal): Promise<WriteResult> {
  const steps = plan.steps.filter(({ state }) => state === "Act");
  const pass = new WritePass(deps, signal);
  const withFinalizer = hasFinalizer(policy) ? policy : await pass.hold(policy);
  // The token comes before everything that it allows.
  const token = steps.find((step) => step.token !== undefined)?.token;
  if (token !== undefined && !pass.isOver) await pass.writeToken(withFinalizer, token, plan.forced);
  deps.onPolicyWritten?.();
  if (!pass.isOver) await (plan.mode === "safe" ? inOrder(steps, pass) : atOnce(steps, pass));
  return pass;
}

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
  return metadata.finalizers?.includes(failoverFinalizer) === true;
}

/**
 * Whether nothing blocks the deletion. A deleted policy does not wait for what no longer exists: its namespace deletes the resources first,
 * and a remaining finalizer would block the namespace forever.
 */
export function mayRemoveFinalizer({ metadata }: FailoverPolicy, { complete, rejections, steps, resources, to }: SwitchPlan): boolean {
  if (complete || metadata.deletionTimestamp === undefined) return complete;
  const volumes = resources.filter(({ resource }) => isVolumeKind(resource.kind));
  const required = to === "primary" && volumes.length > 0 ? volumes : resources;
  const isWritten = steps.every(({ name, state }) => state === "Done" || name === "AwaitWorkloads");
  return rejections.length > 0 || isWritten || required.every(({ state }) => state === "Not Found");
}

/** The switch is over, or will never complete. */
export async function removeFinalizer(policy: FailoverPolicy, deps: WriteDeps, signal: AbortSignal): Promise<WriteResult> {
  const pass = new WritePass(deps, signal);
  await pass.release(policy);
  return pass;
}

async function inOrder(steps: readonly SwitchStep[], pass: WritePass): Promise<void> {
  for (const step of steps) {
    if (step.name === "ScaleDown" && pass.fluxGoesOn) continue;
    // A kind may depend on the previous one, as HelmReleases on Kustomizations; objects of the same kind do not.
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

/** No write outlives its pass, even if another one fails. */
async function allOf(writes: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(writes);
  await Promise.all(writes);
}

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

  get isOver(): boolean {
    return this.again || this.failures.length > 0;
  }

  async hold(policy: FailoverPolicy): Promise<FailoverPolicy> {
    const finalizers = [...(policy.metadata.finalizers ?? []), failoverFinalizer];
    return this.#orFailure(policy, `add finalizer ${failoverFinalizer}`, () => this.#finalizers(policy, finalizers));
  }

  async release(policy: FailoverPolicy): Promise<void> {
    await this.#finalizers(
      policy,
      (policy.metadata.finalizers ?? []).filter((one) => one !== failoverFinalizer),
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
    // It may have succeeded all the same, so the next pass reads first.
    this.again ||= error.code === "Timeout";
    this.failures.push({ kind, namespace, name, ...blocker(error, text) });
  }

  #isConflict(error: unknown, kind: string, { metadata: { namespace = "", name } }: KubeObject, text: string): boolean {
    if (!isKubeError(error, "Conflict", "NotFound", "AlreadyExists")) return false;
    this.again = true;
    const message = `Could not ${text}: the object keeps changing: ${error.message}`;
    this.conflictFailures.push({ kind, namespace, name, reason: "WriteFailed", message, class: "Transient" });
    return true;
  }
}

/** Whether the server rejected this write; if it is unreachable, or this process no longer leads, no write can succeed. */
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
