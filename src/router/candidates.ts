import { selects } from "../api/core/label-selector.ts";
import type { LabelSelector } from "../api/core/label-selector.ts";
import type { Failure } from "../resilience/failure.ts";
import type { ClaimingResource } from "../resilience/resolve-conflicts.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import type { ObservedNode } from "./model/observed.ts";
import type { Reading, RouterObject } from "./model/specs.ts";
import { selectorFieldProblems } from "./validate/selector.ts";
import type { RouterKind } from "./model/step.ts";
import type { FieldProblem } from "./validate/field-error.ts";
import type { FailedReason } from "./reasons.ts";

/** An object that selects this node; one with an invalid selector keeps its last good version. */
export interface RouterCandidate<S> extends ClaimingResource<S> {
  readonly kind: RouterKind;
  readonly owner: string;
  readonly uid: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly lastGood?: (LastGoodResource & { readonly spec: S }) | undefined;
  /** What is wrong with its selector, or with how it is written. */
  readonly objectProblems: readonly FieldProblem[];
  readonly reading?: Reading | undefined;
}

export function candidates<S extends { nodeSelector?: LabelSelector }>(
  kind: RouterKind,
  objects: readonly RouterObject<S>[],
  { node, lastGood, newlySelectedAt, now }: ObservedNode,
): RouterCandidate<S>[] {
  return objects.flatMap(({ metadata, spec, status, reading }) => {
    const problems = selectorFieldProblems(spec.nodeSelector);
    if (metadata.deletionTimestamp !== undefined || (problems.length === 0 && !selects(spec.nodeSelector, node.labels))) return [];
    const { name, namespace = "", uid = "", generation = 0, creationTimestamp, annotations = {} } = metadata;
    const owner = `${kind}/${name}`;
    const current = lastGood.get(owner);
    return {
      kind,
      owner,
      name,
      namespace,
      uid,
      generation,
      annotations,
      created: creationTimestamp === undefined ? now : new Date(creationTimestamp),
      spec,
      recorded: status?.claims ?? [],
      newlySelectedAt: newlySelectedAt.get(owner),
      lastGood: current?.uid === uid ? (current as LastGoodResource & { spec: S }) : undefined,
      objectProblems: [...problems, ...(reading?.problems ?? [])],
      reading,
    };
  });
}

export function failures(
  reason: FailedReason,
  { kind, name, namespace, reading }: RouterCandidate<unknown>,
  problems: readonly FieldProblem[],
): Failure[] {
  return problems.map(({ field, message, transient }) => ({
    kind,
    name,
    namespace,
    reason,
    field: reading?.writtenAs.get(field) ?? field,
    message,
    class: transient ? "Transient" : "Permanent",
  }));
}
