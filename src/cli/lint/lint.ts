import { groupOf, keyOf, type KubeObject } from "../../api/kind.ts";
import type { Input, Inputs } from "../manifests/input.ts";
import type { LintFailure, LintContext, LintRule, LintWarningRule, LintWarning } from "./rules.ts";
import { validateManifest } from "../manifests/schema-rules.ts";

export interface LocatedFailure extends LintFailure {
  readonly file: string;
  readonly line: number;
}

export interface LintResult {
  readonly failures: readonly LocatedFailure[];
  readonly warnings: readonly string[];
}

export function lint(
  { inputs, unreadable }: Inputs,
  context: LintContext,
  rules: readonly LintRule[],
  warners: readonly LintWarningRule[] = [],
): LintResult {
  const failures: LocatedFailure[] = unreadable.map(({ file, line, message }) => failureIn(file, line, message));
  const warnings: string[] = [];
  const first = new Map<string, Input>();
  const admitted: KubeObject[] = [];
  for (const input of inputs) {
    const { object } = input;
    const judgment = validateManifest(object);
    if (judgment.warning !== undefined) warnings.push(`${input.file}:${input.lineOf("apiVersion")}: ${judgment.warning}`);
    for (const problem of judgment.complaints) failures.push(locate(input, failureOf(object, problem)));
    const twin = first.get(idOf(object));
    if (twin) failures.push(locate(input, duplicate(object, twin)));
    else first.set(idOf(object), input);
    if (judgment.admitted && !twin) admitted.push(judgment.admitted);
  }
  for (const failure of rules.flatMap((rule) => rule(admitted, context))) {
    const input = inputs.find(({ object }) => isAbout(failure, object));
    if (input) failures.push(locate(input, failure));
  }
  for (const warning of warners.flatMap((warner) => warner(admitted, context))) {
    const input = inputs.find(({ object }) => isAbout(warning, object));
    if (input) warnings.push(`${input.file}:${input.lineOf(warning.field)}: ${warning.message}`);
  }
  return { failures: inOrder(failures, [...new Set([...inputs, ...unreadable].map(({ file }) => file))]), warnings };
}

function failureIn(file: string, line: number, message: string): LocatedFailure {
  return { kind: "", name: "", namespace: "", reason: "ParseFailed", field: "", message, class: "Permanent", file, line };
}

function failureOf({ kind = "", metadata }: KubeObject, problem: Pick<LintFailure, "reason" | "field" | "message">): LintFailure {
  return { kind, name: metadata.name, namespace: metadata.namespace ?? "", ...problem, class: "Permanent" };
}

function duplicate(object: KubeObject, twin: Input): LintFailure {
  const message = `also defined in ${twin.file}:${twin.lineOf()}: remove one of them`;
  return failureOf(object, { reason: "Duplicate", field: "metadata.name", message });
}

function locate(input: Input, failure: LintFailure): LocatedFailure {
  return { ...failure, file: input.file, line: input.lineOf(failure.field) };
}

function idOf({ apiVersion, kind = "", metadata }: KubeObject): string {
  return `${groupOf(apiVersion)} ${kind} ${keyOf({ metadata })}`;
}

/** An object without a namespace counts as one of default. */
function isAbout({ kind, name, namespace }: LintWarning, { kind: own, metadata }: KubeObject): boolean {
  return kind === own && name === metadata.name && (metadata.namespace ?? "default") === (namespace || "default");
}

function inOrder(failures: readonly LocatedFailure[], files: readonly string[]): LocatedFailure[] {
  return failures.toSorted((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line);
}
