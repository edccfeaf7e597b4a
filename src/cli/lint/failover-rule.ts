import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { KubeObject } from "../../api/kind.ts";
import { managedBy } from "../../failover/policy/managed.ts";
import type { LintFailure } from "./rules.ts";

const UNBOUND_FORCE =
  "force without the uid of the policy has no effect, and does not belong into a manifest; remove it, and use plumbline failover switch --force";

/** Two policies that name the same resource conflict; without creation times the first by name wins. */
export function failoverRule(objects: readonly KubeObject[]): LintFailure[] {
  const policies = objects
    .filter(({ kind, apiVersion = "" }) => kind === FailoverPolicy.kind && apiVersion.startsWith(`${FailoverPolicy.group}/`))
    .map((object) => object as FailoverPolicy)
    .toSorted((one, other) => (titleOf(one) < titleOf(other) ? -1 : 1));
  const holders = new Map<string, string>();
  return policies.flatMap((policy) => {
    const { name, namespace = "" } = policy.metadata;
    const failureIn = (field: string, message: string): LintFailure => {
      return { kind: FailoverPolicy.kind, name, namespace, reason: "ValidationFailed", field, message, class: "Permanent" };
    };
    const { managed, problems } = managedBy(policy);
    const contested = managed.flatMap((resource) => {
      const title = `${resource.kind} ${resource.namespace}/${resource.name}`;
      const holder = holders.get(title);
      if (holder === undefined) holders.set(title, titleOf(policy));
      return holder === undefined
        ? []
        : [failureIn(resource.field, `${title} belongs to FailoverPolicy ${holder}; only one policy can switch it`)];
    });
    const forced = policy.spec.force && policy.spec.force.uid === undefined ? [failureIn("spec.force", UNBOUND_FORCE)] : [];
    return problems.map(({ field = "", message }) => failureIn(field, message)).concat(forced, contested);
  });
}

function titleOf({ metadata: { name, namespace = "default" } }: FailoverPolicy): string {
  return `${namespace}/${name}`;
}
