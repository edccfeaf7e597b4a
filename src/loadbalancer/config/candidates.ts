import type { KubeObject } from "../../api/kind.ts";
import { quote } from "../../ip/error.ts";
import type { RecordedClaim } from "../../resilience/claim.ts";
import type { ClaimingResource } from "../../resilience/resolve-conflicts.ts";
import type { LastGoodConfig, LastGoodEntry } from "./load.ts";
import type { ConfigProblem, ParseResult, ResourceVersion } from "./field-error.ts";
import { compare } from "../../util/compare.ts";

export interface ConfigCandidate<S, T> extends ClaimingResource<ParseResult<T>> {
  readonly key: string;
  readonly uid: string;
  readonly written: S;
  readonly before: LastGoodEntry | undefined;
  /** Its last good version, if any. */
  readonly kept: Kept<S> | undefined;
}

/** The content of `LastGoodEntry.spec`. */
interface Kept<S> {
  readonly spec: S;
  /** What it resolved from other objects. */
  readonly resolved?: unknown;
}

export interface ConfigObject<S> extends KubeObject {
  spec?: S;
  status?: { claims?: readonly RecordedClaim[] };
}

interface Sources<S, T> {
  readonly kind: string;
  readonly objects: readonly ConfigObject<S>[];
  readonly lastGood: LastGoodConfig;
  readonly now: Date;
  /** `resolved` is passed when the last good version is parsed. */
  readonly read: (written: ResourceVersion<S>, resolved?: unknown) => ParseResult<T>;
  readonly duplicate: (name: string) => ConfigProblem;
}

export function candidates<S, T>({ kind, objects, lastGood, now, read, duplicate }: Sources<S, T>): ConfigCandidate<S, T>[] {
  const names = new Set<string>();
  return (
    objects
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .sort(byNameAndAge)
      // An older schema may have allowed an object without spec.
      .map(({ metadata, spec = {} as S, status }): ConfigCandidate<S, T> => {
        const { name, namespace = "", uid = "", generation = 0, creationTimestamp, labels = {} } = metadata;
        const created = creationTimestamp === undefined ? now : new Date(creationTimestamp);
        const written = { name, namespace, generation, created, labels, spec };
        const isDuplicate = names.has(name);
        names.add(name);
        const remembered = lastGood.get(`${kind}/${name}`);
        const before = remembered?.uid === uid && !isDuplicate ? remembered : undefined;
        const current = read(written);
        const more = [...(isDuplicate ? [duplicate(name)] : []), ...nameProblems(name)];
        const last = lastGoodVersion(before, (kept: Kept<S>, generation) =>
          read({ ...written, generation, spec: kept.spec }, kept.resolved ?? {}),
        );
        return {
          kind,
          key: `${kind}/${name}`,
          name,
          namespace,
          uid,
          generation,
          created,
          written: spec,
          spec: more.length === 0 ? current : { problems: [...current.problems, ...more], claims: isDuplicate ? [] : current.claims },
          recorded: status?.claims ?? [],
          newlySelectedAt: before?.since === undefined ? undefined : new Date(before.since),
          before,
          lastGood: last?.version,
          kept: last?.kept,
        };
      })
  );
}

function lastGoodVersion<S, T>(before: LastGoodEntry | undefined, read: (kept: Kept<S>, generation: number) => ParseResult<T>) {
  if (before?.spec === undefined) return undefined;
  const kept = before.spec as Kept<S>;
  const { generation } = before;
  const spec = read(kept, generation);
  // A newer rule may reject it.
  return spec.value === undefined ? undefined : { kept, version: { spec, generation } };
}

const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

function nameProblems(name: string): ConfigProblem[] {
  if (name === "" || OBJECT_NAME.test(name)) return [];
  return [{ rule: "N1", field: "metadata.name", message: `${quote(name)} is not a valid object name` }];
}

function byNameAndAge({ metadata: a }: KubeObject, { metadata: b }: KubeObject): number {
  return compare(a.name, b.name) || compare(a.creationTimestamp ?? "", b.creationTimestamp ?? "") || compare(a.uid ?? "", b.uid ?? "");
}
