import { consentAnnotation } from "../api/annotations.ts";
import type { FailoverPolicy, Role } from "../api/failover/failover-policy.ts";
import { keyOf } from "../api/kind.ts";
import type { ObservedPolicy } from "./observe/observed.ts";
import type { ForeignNamespace } from "./steps/step.ts";
import type { Managed } from "./policy/managed.ts";
import { type PolicyFailure, policyFailure } from "./policy/failure.ts";

/** `everywhere` is a list of namespaces, or `*`. */
export function actsEverywhere({ metadata }: FailoverPolicy, everywhere: readonly string[] = []): boolean {
  return everywhere.includes("*") || everywhere.includes(metadata.namespace ?? "");
}

/** Sorted by name. */
export function foreignNamespaces(observed: ObservedPolicy): ForeignNamespace[] {
  const foreign = observed.managed.filter((resource) => isForeign(observed.policy, resource));
  return [...new Set(foreign.map(({ namespace }) => namespace))]
    .toSorted()
    .map((name) => ({ name, permitted: blockerBy(observed, name) === undefined }));
}

/** What the policy names in other namespaces without their consent. */
export function unpermitted(observed: ObservedPolicy): PolicyFailure[] {
  return observed.managed
    .filter((resource) => isForeign(observed.policy, resource))
    .flatMap(({ kind, namespace, name, field }): PolicyFailure[] => {
      const blocker = blockerBy(observed, namespace);
      return blocker ? [{ kind, namespace, name, field: `${field}.namespace`, ...blocker }] : [];
    });
}

/**
 * Whether the switch to this role has begun. Consent is required at its beginning: without it a completed site stays as it is, and a
 * running switch is completed, because half of one is worse than either side.
 */
export function hasBegun({ metadata, status }: FailoverPolicy, to: Role): boolean {
  // The role alone can change within a generation: a person confirms what Git has written, or an outranked site is granted the token.
  return status?.transition?.to === to && status.transition.generation === (metadata.generation ?? 0);
}

function isForeign({ metadata }: FailoverPolicy, { namespace }: Managed): boolean {
  return namespace !== (metadata.namespace ?? "default");
}

/** A fence affects the storage of all namespaces. */
export function unpermittedFence({ policy, mayFence }: ObservedPolicy): PolicyFailure[] {
  if (!policy.spec.fence || mayFence !== false) return [];
  const message = `A fence acts on the storage of every namespace; add namespace ${policy.metadata.namespace} to --failover-namespaces of the controller (failover.namespaces of the chart), or remove spec.fence`;
  return [policyFailure(policy, "NotPermitted", message, { field: "spec.fence" })];
}

type Blocker = Pick<PolicyFailure, "reason" | "message" | "class">;

function blockerBy(observed: ObservedPolicy, name: string): Blocker | undefined {
  if (observed.actsEverywhere) return undefined;
  const policy = keyOf(observed.policy);
  const result = observed.namespaces();
  if (!("found" in result)) {
    const why = "error" in result ? result.error : "the API server does not serve Namespaces";
    const message = `Cannot read whether Namespace ${name} consents to FailoverPolicy ${policy}: ${why}`;
    return { reason: "code" in result && result.code === "Forbidden" ? "Forbidden" : "ReadFailed", message, class: "Transient" };
  }
  const text = result.found.find(({ metadata }) => metadata.name === name)?.metadata.annotations?.[consentAnnotation];
  if (text !== undefined && consents(text, observed.policy)) return undefined;
  const wanted = [...(text === undefined ? [] : entriesOf(text)), policy].join(", ");
  const detail = text === undefined ? "" : `, whose annotation ${consentAnnotation} does not name it`;
  const message = `FailoverPolicy ${policy} may not switch resources in namespace ${name}${detail}. To allow it: kubectl annotate --overwrite namespace ${name} '${consentAnnotation}=${wanted}'`;
  return { reason: "NotPermitted", message, class: "Permanent" };
}

function consents(text: string, { metadata: { name, namespace } }: FailoverPolicy): boolean {
  return entriesOf(text).some((entry) => entry === `${namespace}/${name}` || entry === `${namespace}/*`);
}

function entriesOf(text: string): string[] {
  return text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}
