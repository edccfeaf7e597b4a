import type { Command } from "commander";
import type { KubeClient } from "../../kube/client/client.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { discover, type Resource } from "./discovery.ts";
import { resolve, resolveAll } from "./resolve.ts";

export interface SelectionOptions {
  namespace?: string;
  allNamespaces?: boolean;
  selector?: string;
}

export interface ResourceSelection {
  readonly resource: Resource;
  /** Undefined for all namespaces and for cluster-scoped kinds. */
  readonly namespace: string | undefined;
  /** Empty for everything that the selector matches. */
  readonly names: readonly string[];
  readonly selector: string | undefined;
}

export function withNamespace(command: Command): Command {
  return command.option("-n, --namespace <name>", "namespace (default: the kubeconfig's, else default)");
}

export function withSelection(command: Command): Command {
  return withNamespace(command)
    .option("-A, --all-namespaces", "all namespaces")
    .option("-l, --selector <labels>", "only objects with these labels: app=web, 'tier in (a,b)', !legacy");
}

export function namespaceOf(client: KubeClient, options: SelectionOptions): string {
  return options.namespace ?? client.access.namespace ?? "default";
}

/** Resolves `KIND`, `KIND NAME...` and `KIND/NAME...`. */
export async function select(
  client: KubeClient,
  args: readonly string[],
  options: SelectionOptions,
  signal: AbortSignal,
): Promise<ResourceSelection[]> {
  const [first = "", ...rest] = args;
  const discovered = await discover(client, signal);
  const requested = first.includes("/")
    ? args.map(slashed).map(({ kind, name }) => ({ resource: resolve(kind, discovered), names: [name] }))
    : resolveAll(first, discovered).map((resource) => ({ resource, names: rest }));
  return requested.map(({ resource, names }) => selection(client, resource, names, options));
}

function selection(client: KubeClient, resource: Resource, names: readonly string[], options: SelectionOptions): ResourceSelection {
  if (names.length > 0 && options.allNamespaces && resource.scope === "Namespaced") {
    throw new CliError("-A cannot be combined with names: use -n", EXIT.misuse);
  }
  if (names.length > 0 && options.selector !== undefined) {
    throw new CliError("-l cannot be combined with names", EXIT.misuse);
  }
  const everywhere = options.allNamespaces === true || resource.scope === "Cluster";
  return { resource, names, selector: options.selector, namespace: everywhere ? undefined : namespaceOf(client, options) };
}

function slashed(arg: string): { kind: string; name: string } {
  const [kind = "", name = "", ...more] = arg.split("/");
  if (kind === "" || name === "" || more.length > 0) {
    throw new CliError(`${arg} is not KIND/NAME like the other arguments`, EXIT.misuse);
  }
  return { kind, name };
}
