import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import type { ConnectionOptions } from "../connection.ts";

/** What somebody types to switch a policy, at the cluster of this command, or to watch a switch again. */
export function switchCommand({ metadata: { name, namespace = "" } }: FailoverPolicy, to: Role, options: ConnectionOptions): string {
  const { dir, kubeconfig, context } = options;
  const where = Object.entries({ dir, kubeconfig, context }).flatMap(([flag, value]) =>
    value === undefined ? [] : [` --${flag} ${asOneWord(value)}`],
  );
  return `plumbline failover switch ${name} -n ${namespace} --to ${to} --wait${where.join("")}`;
}

function asOneWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
