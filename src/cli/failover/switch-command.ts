import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import type { ConnectionOptions } from "../shared/connection.ts";
import type { PolicySelectionOptions } from "./selection.ts";

/** Options that a repeated command needs: without --force it would remove the force. */
interface RepeatedOptions {
  force?: boolean;
  reason?: string;
  evenThoughItAnswers?: boolean;
  skipRefused?: boolean;
}

export function switchCommand(
  { metadata: { name, namespace = "" } }: FailoverPolicy,
  to: Role,
  options: ConnectionOptions & RepeatedOptions,
): string {
  return `plumbline failover switch ${name} -n ${namespace} --to ${to}${forceFlags(options)} --wait${clusterFlags(options)}`;
}

export function siteCommand(to: Role, options: PolicySelectionOptions & RepeatedOptions): string {
  const which = options.selector === undefined ? "--all" : `-l ${shellQuote(options.selector)}`;
  const where = options.namespace === undefined ? "" : ` -n ${shellQuote(options.namespace)}`;
  const skips = options.skipRefused ? " --skip-refused" : "";
  return `plumbline failover switch ${which}${where} --to ${to}${forceFlags(options)}${skips} --wait${clusterFlags(options)}`;
}

function forceFlags({ force, reason, evenThoughItAnswers }: RepeatedOptions): string {
  if (!force) return "";
  return ` --force${reason === undefined ? "" : ` --reason ${shellQuote(reason)}`}${evenThoughItAnswers ? " --even-though-it-answers" : ""}`;
}

function clusterFlags({ dir, kubeconfig, context }: ConnectionOptions): string {
  const flags = Object.entries({ dir, kubeconfig, context });
  return flags.flatMap(([flag, value]) => (value === undefined ? [] : [` --${flag} ${shellQuote(value)}`])).join("");
}

function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
