import { keyOf, type KubeObject } from "../../api/kind.ts";
import type { Input, Inputs } from "../manifests/input.ts";
import type { Failure, LintContext, LintRule, LintWarner, LintWarning } from "./rules.ts";
import { judge } from "./schema-rules.ts";

/** A failure and the place to change. */
export interface PlacedFailure extends Failure {
  readonly file: string;
  readonly line: number;
}

export interface Verdict {
  /** In the order of the files. */
  readonly failures: readonly PlacedFailure[];
  readonly warnings: readonly string[];
}

/** Everything that is wrong with a set of manifests, without a server. */
export function lint(
  { inputs, unreadable }: Inputs,
  context: LintContext,
  rules: readonly LintRule[],
  warners: readonly LintWarner[] = [],
): Verdict {
  const failures: PlacedFailure[] = unreadable.map(({ file, line, message }) => failureIn(file, line, message));
  const warnings: string[] = [];
  const first = new Map<string, Input>();
  const admitted: KubeObject[] = [];
  for (const input of inputs) {
    const { object } = input;
    const judgement = judge(object);
    if (judgement.warning !== undefined) warnings.push(`${input.file}:${input.lineOf("apiVersion")}: ${judgement.warning}`);
    for (const complaint of judgement.complaints) failures.push(placed(input, failureOf(object, complaint)));
    const twin = first.get(idOf(object));
    if (twin) failures.push(placed(input, duplicate(object, twin)));
    else first.set(idOf(object), input);
    if (judgement.admitted && !twin) admitted.push(judgement.admitted);
  }
  for (const failure of rules.flatMap((rule) => rule(admitted, context))) {
    const input = inputs.find(({ object }) => isAbout(failure, object));
    if (input) failures.push(placed(input, failure));
  }
  for (const warning of warners.flatMap((warner) => warner(admitted, context))) {
    const input = inputs.find(({ object }) => isAbout(warning, object));
    if (input) warnings.push(`${input.file}:${input.lineOf(warning.field)}: ${warning.message}`);
  }
  return { failures: inOrder(failures, [...new Set([...inputs, ...unreadable].map(({ file }) => file))]), warnings };
}

function failureIn(file: string, line: number, message: string): PlacedFailure {
  return { kind: "", name: "", namespace: "", reason: "ParseFailed", field: "", message, class: "Permanent", file, line };
}

function failureOf({ kind = "", metadata }: KubeObject, complaint: Pick<Failure, "reason" | "field" | "message">): Failure {
  return { kind, name: metadata.name, namespace: metadata.namespace ?? "", ...complaint, class: "Permanent" };
}

function duplicate(object: KubeObject, twin: Input): Failure {
  const message = `It stands in ${twin.file}:${twin.lineOf()} as well; remove one of them`;
  return failureOf(object, { reason: "Duplicate", field: "metadata.name", message });
}

function placed(input: Input, failure: Failure): PlacedFailure {
  return { ...failure, file: input.file, line: input.lineOf(failure.field) };
}

function idOf({ apiVersion = "", kind = "", metadata }: KubeObject): string {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  return `${group} ${kind} ${keyOf({ metadata })}`;
}

/** An object that names no namespace is judged as one of default. */
function isAbout({ kind, name, namespace }: LintWarning, { kind: own, metadata }: KubeObject): boolean {
  return kind === own && name === metadata.name && (metadata.namespace ?? "default") === (namespace || "default");
}

function inOrder(failures: readonly PlacedFailure[], files: readonly string[]): PlacedFailure[] {
  return failures.toSorted((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line);
}
