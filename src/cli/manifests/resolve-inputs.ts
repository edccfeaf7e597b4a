import { CliError, EXIT, failWith } from "../shared/exit.ts";
import type { Discovered, Resource } from "../resources/discovery.ts";
import { nearest } from "../resources/nearest.ts";
import { type Input, type Inputs, titleOf } from "./input.ts";

export interface ResolvedInput {
  readonly input: Input;
  readonly resource: Resource;
  /** Undefined for cluster-scoped objects. */
  readonly namespace: string | undefined;
}

interface Problem {
  readonly file: string;
  readonly line: number;
  readonly sentence: string;
}

/** Created before all others. */
const FIRST = ["Namespace", "CustomResourceDefinition"];

/** Finds the kind of each manifest. If one cannot be read or resolved, all problems are reported and nothing is applied. */
export function resolveInputs(
  { inputs, unreadable }: Inputs,
  discovered: Discovered,
  defaultNamespace: string,
  onlyNamespace: string | undefined,
): ResolvedInput[] {
  const problems: Problem[] = unreadable.map(({ message, ...position }) => ({ ...position, sentence: message }));
  const resolved: ResolvedInput[] = [];
  for (const input of inputs) {
    const found = resolveInput(input, discovered, defaultNamespace, onlyNamespace);
    if ("sentence" in found) problems.push(found);
    else resolved.push(found);
  }
  const lines = problems.toSorted(byPosition).map(({ file, line, sentence }) => `${file}:${line}: ${sentence}`);
  const last = lines.pop();
  for (const line of lines) failWith(line, EXIT.no);
  if (last !== undefined) throw new CliError(last, EXIT.no);
  return resolved.toSorted((a, b) => rank(a) - rank(b));
}

function resolveInput(
  input: Input,
  discovered: Discovered,
  defaultNamespace: string,
  onlyNamespace: string | undefined,
): ResolvedInput | Problem {
  const { object, file } = input;
  const { apiVersion = "", kind = "", metadata } = object;
  const at = (field: string, sentence: string) => ({ file, line: input.lineOf(field), sentence: `${titleOf(object)}: ${sentence}` });
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const named = discovered.resources.filter((resource) => resource.kind === kind);
  const resource = named.find((one) => one.group === group && one.versions.includes(version));
  if (!resource) return at(named.length > 0 ? "apiVersion" : "kind", unknownKind(apiVersion, kind, named, discovered));
  if (metadata.namespace !== undefined && onlyNamespace !== undefined && metadata.namespace !== onlyNamespace) {
    return at("metadata.namespace", `metadata.namespace is ${metadata.namespace}, but -n is ${onlyNamespace}: remove one of them`);
  }
  const namespace = resource.scope === "Cluster" ? undefined : (metadata.namespace ?? defaultNamespace);
  return { input, resource: { ...resource, version }, namespace };
}

function unknownKind(apiVersion: string, kind: string, named: readonly Resource[], { resources }: Discovered): string {
  const versions = named.flatMap(({ group, versions }) => versions.map((version) => (group === "" ? version : `${group}/${version}`)));
  if (versions.length > 0) return `the server has no ${kind} in apiVersion ${apiVersion}, only in ${versions.join(", ")}`;
  const near = nearest(
    kind,
    resources.map((resource) => resource.kind),
  );
  return `the server has no kind ${kind}${near.length > 0 ? ` (Did you mean ${near.join(", ")}?)` : ""}`;
}

function byPosition(a: Problem, b: Problem): number {
  return a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1;
}

function rank({ resource }: ResolvedInput): number {
  const at = FIRST.indexOf(resource.kind);
  return at < 0 ? FIRST.length : at;
}
