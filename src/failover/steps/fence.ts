import { fencePolicyAnnotation } from "../../api/annotations.ts";
import { isDeepStrictEqual } from "node:util";
import type { FailoverPolicy, FailoverStatus } from "../../api/failover/failover-policy.ts";
import { keyOf } from "../../api/kind.ts";
import type { NetworkFence } from "../observe/external-kinds.ts";
import type { ReadResult, ObservedPolicy } from "../observe/observed.ts";
import type { SwitchStep } from "./step.ts";
import type { TokenDecision } from "../token/token.ts";
import { type PolicyFailure, policyFailure, type Wait } from "../policy/failure.ts";
import { isVolumeKind, wasPrimary } from "../policy/managed.ts";

/** csi-addons' message. The result alone is not enough: "unfencing operation successful" has the same. */
const FENCED = "fencing operation successful";

export interface Fencing {
  readonly step: SwitchStep;
  readonly rejections: readonly PolicyFailure[];
  readonly failures: readonly PolicyFailure[];
  readonly status: NonNullable<FailoverStatus["fence"]>;
}

/**
 * The fence of a forced takeover, with `spec.fence`; undefined if there is nothing to fence. One object per epoch: csi-addons acts once per
 * change, so a reused object could show an earlier result. It is never deleted or unfenced here.
 */
export function fencing(observed: ObservedPolicy, token: TokenDecision | undefined, isPromoting: boolean): Fencing | undefined {
  const { policy } = observed;
  const { fence } = policy.spec;
  const epoch = forcedEpoch(policy, token);
  if (!fence || epoch === undefined) return undefined;
  const name = `failover-${policy.metadata.uid ?? keyOf(policy).replace("/", "-")}-${epoch}`;
  const recorded = policy.status?.fence?.name === name ? policy.status.fence : undefined;
  if (recorded?.result === "Succeeded" && recorded.message === FENCED) return outcome("Done", recorded);
  // A token keeps its reason after the takeover: a later promotion, as of an added volume, is no takeover, and the other site may be back.
  if (wasPrimary(policy)) return undefined;
  // If every volume is primary already, a fence is too late.
  if (!isPromoting && hasVolumes(observed)) return undefined;
  const result = fenceNamed(observed, name);
  if ("error" in result)
    return outcome("Wait", { name }, [{ ...wait(name, `NetworkFence cannot be read: ${result.error}`), unread: true }]);
  if ("absent" in result) {
    const kind = observed.kindOf("NetworkFence");
    if (result.absent === "kind" || !kind) return { ...outcome("Wait", { name }), rejections: [notInstalled(policy)] };
    const object = manifest(policy, name);
    const description = `fence ${fence.cidrs.join(", ")} by NetworkFence ${name}`;
    return outcome("Act", { name }, [], { writes: [{ kind, object, patch: {}, description, create: true }] });
  }
  return judged(policy, result.found);
}

/** For the condition Ready. */
export function fenceProblems(observed: ObservedPolicy): PolicyFailure[] {
  if (!observed.policy.spec.fence) return [];
  return "absent" in observed.networkFences() ? [notInstalled(observed.policy)] : [];
}

function judged(policy: FailoverPolicy, object: NetworkFence): Fencing {
  const { name } = object.metadata;
  const { result, message = "" } = object.status ?? {};
  const status = { name, ...(result !== undefined && { result, message: message.slice(0, 4096) }) };
  const { networkFenceClassName, cidrs } = policy.spec.fence ?? { networkFenceClassName: "", cidrs: [] };
  const isOurs = object.spec.networkFenceClassName === networkFenceClassName && isDeepStrictEqual(object.spec.cidrs, cidrs);
  if (!isOurs || object.spec.fenceState === "Unfenced") {
    return failed(status, `NetworkFence does not match spec.fence; restore spec.fence, or remove it if the other site has stopped writing`);
  }
  if (result === "Failed") {
    return failed(
      status,
      `Fencing failed: ${message}; check the storage driver, or remove spec.fence if the other site has stopped writing`,
    );
  }
  if (result === "Succeeded" && message === FENCED) return outcome("Done", status);
  return outcome("Wait", status, [wait(name, "csi-addons has not yet fenced the other site")]);
}

function failed(status: Fencing["status"], message: string): Fencing {
  const failure = { kind: "NetworkFence", name: status.name, reason: "FenceFailed" as const, message, class: "Transient" as const };
  return { ...outcome("Wait", status, [wait(status.name, message)]), failures: [failure] };
}

function forcedEpoch({ status }: FailoverPolicy, token: TokenDecision | undefined): number | undefined {
  if (token?.take && token.forced !== undefined) return token.take.epoch;
  return status?.token?.state === "Held" && status.token.forced !== undefined ? status.token.epoch : undefined;
}

/** Shared storage may need no VolumeReplication: then the fence protects the start of the workloads. */
function hasVolumes({ managed }: ObservedPolicy): boolean {
  return managed.some(({ kind }) => isVolumeKind(kind));
}

function fenceNamed(observed: ObservedPolicy, name: string): ReadResult<NetworkFence> {
  const result = observed.networkFences();
  if (!("found" in result)) return result;
  const object = result.found.find(({ metadata }) => metadata.name === name);
  return object ? { found: object } : { absent: "object" };
}

function manifest(policy: FailoverPolicy, name: string): NetworkFence {
  const { networkFenceClassName = "", cidrs = [] } = policy.spec.fence ?? {};
  return {
    metadata: { name, labels: { "app.kubernetes.io/managed-by": "plumbline" }, annotations: { [fencePolicyAnnotation]: keyOf(policy) } },
    spec: { networkFenceClassName, fenceState: "Fenced", cidrs: [...cidrs] },
  };
}

function outcome(
  state: SwitchStep["state"],
  status: Fencing["status"],
  waits: readonly Wait[] = [],
  rest: Partial<SwitchStep> = {},
): Fencing {
  return { step: { name: "FenceOtherSite", state, writes: [], waits, ...rest }, rejections: [], failures: [], status };
}

function wait(name: string, message: string): Wait {
  return { kind: "NetworkFence", name, message };
}

function notInstalled(policy: FailoverPolicy): PolicyFailure {
  const message = "This cluster does not serve kind NetworkFence; install csi-addons, or remove spec.fence";
  return policyFailure(policy, "KindNotInstalled", message, { field: "spec.fence" });
}
