import type { Command } from "commander";
import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { type PolicyOptions, readPolicy, titleOf, visiblePolicies, withPolicy } from "./read-policy.ts";
import { joinFirst } from "../../util/text.ts";

export interface PolicySelectionOptions extends PolicyOptions {
  all?: boolean;
  allNamespaces?: boolean;
  selector?: string;
}

export function withPolicies(command: Command): Command {
  return withPolicy(command)
    .option("--all", "every policy; with -n those of a namespace")
    .option("-l, --selector <labels>", "the policies with these labels: tier=gold, 'tier in (gold,silver)'; with -n those of a namespace")
    .option("-A, --all-namespaces", "in all namespaces; the default without -n");
}

export interface Selected {
  readonly chosen: readonly FailoverPolicy[];
  readonly among: readonly FailoverPolicy[];
}

export async function selectPolicies(
  client: KubeClient,
  name: string | undefined,
  options: PolicySelectionOptions,
  signal: AbortSignal,
): Promise<Selected> {
  const { namespace, selector, allNamespaces } = options;
  if (options.all && selector !== undefined) throw new CliError("Policies are chosen with --all or with -l, not both", EXIT.misuse);
  if (allNamespaces && namespace !== undefined) throw new CliError("Give -n or -A, not both", EXIT.misuse);
  if (name !== undefined) {
    const policy = await readPolicy(client, name, options, signal);
    return { chosen: [policy], among: await visiblePolicies(client, policy.metadata.namespace, signal) };
  }
  const among = await visiblePolicies(client, namespace, signal);
  if (selector === undefined) return { chosen: among.filter((policy) => isIn(policy, namespace)), among };
  const where = { ...(namespace !== undefined && { namespace }), labelSelector: selector };
  const { items } = await client.resource(FailoverPolicy).list({ ...where, signal });
  return { chosen: items.toSorted((one, other) => (titleOf(one) < titleOf(other) ? -1 : 1)), among };
}

function isIn({ metadata }: FailoverPolicy, namespace: string | undefined): boolean {
  return namespace === undefined || metadata.namespace === namespace;
}

export function noPolicySelected({ selector, namespace }: PolicySelectionOptions, { among }: Selected): string {
  const where = namespace === undefined ? "in the cluster" : `in namespace ${namespace}`;
  const others = among.filter((policy) => isIn(policy, namespace));
  if (others.length === 0) return `There is no FailoverPolicy ${where}`;
  return `No FailoverPolicy ${where} has the labels ${selector}; there are ${others.length}: ${joinFirst(others.map(titleOf), MAX_NAMES)}`;
}

const MAX_NAMES = 5;
