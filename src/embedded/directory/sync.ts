import type { KubeObject } from "../../api/kind.ts";
import { backoffMs } from "../../util/backoff.ts";
import type { Log } from "../../kube/log.ts";
import { manifestApplies } from "./metrics.ts";
import type { ManifestSource } from "../store/declaration.ts";
import { same } from "../kinds/json.ts";
import type { ManifestIndex, ManifestEntry } from "./manifest-index.ts";
import { positionOf } from "../manifests/position.ts";
import type { Problem } from "./problems.ts";
import type { ManifestError, ManifestTarget } from "./target.ts";

export const APPLIED = "applied";

interface Delivered {
  readonly object: KubeObject;
  readonly source: ManifestSource;
  readonly complaints: readonly ManifestError[];
}

const RETRY = { minMs: 500, maxMs: 30_000 };
/** An object that was lost longer ago than this is applied again at once. */
const CALM_MS = 60_000;

export class ManifestSync {
  readonly #sink: ManifestTarget;
  readonly #index: ManifestIndex;
  readonly #log: Log;
  readonly #delivered = new Map<string, Delivered>();
  /** Objects that could not be applied, and why. */
  readonly #owed = new Map<string, string>();
  #failures = 0;
  #lostAt = -Infinity;
  retryAt = Infinity;

  constructor(sink: ManifestTarget, index: ManifestIndex, log: Log) {
    this.#sink = sink;
    this.#index = index;
    this.#log = log;
  }

  get objects(): number {
    return this.#delivered.size;
  }

  remember(key: string, object: KubeObject, source: ManifestSource): void {
    this.#delivered.set(key, { object, source, complaints: [] });
  }

  /** If a file still has the object, it is applied again, with a delay: another program may keep deleting it. */
  lost(key: string, now: number): void {
    if (!this.#delivered.delete(key) || !this.#index.holderOf(key)) return;
    this.#owed.set(key, "the object was deleted but is in this file; applying it again");
    this.#lostAt = now;
    this.#failures += 1;
    this.retryAt = Math.min(this.retryAt, now + backoffMs(this.#failures, RETRY));
  }

  /** Applies all changes, object by object. Yields the files whose problems may have changed. */
  *deliver(now: number): Generator<readonly string[]> {
    const retrying = now >= this.retryAt;
    if (retrying) for (const key of this.#owed.keys()) this.#index.touch(key);
    const owedBefore = this.#owed.size;
    for (let keys = this.#takeTouched(); keys.length > 0; keys = this.#takeTouched()) {
      for (const key of keys) {
        const before = this.#delivered.get(key)?.source.path;
        this.#deliverOne(key);
        yield [...this.#index.pathsOf(key), ...(before === undefined ? [] : [before])];
      }
    }
    this.#schedule(now, retrying, owedBefore);
  }

  problemsOf(path: string): Problem[] {
    return this.#index.claimsOf(path).flatMap((claim) => {
      const holder = this.#index.holderOf(claim.key);
      if (claim.state !== "there" || !holder) return [];
      if (claim !== holder) return [this.#duplicate(claim, holder)];
      const owed = this.#owed.get(claim.key);
      const problems = this.#delivered.get(claim.key)?.complaints ?? [];
      return [...problems, ...(owed === undefined ? [] : [{ level: "error" as const, message: owed }])].map((it) => problemOf(claim, it));
    });
  }

  /** Removals last, and namespaces after their contents. */
  #takeTouched(): string[] {
    const keys = [...this.#index.takeTouched()];
    const isGone = (key: string) => !this.#index.holderOf(key);
    const isNamespace = (key: string) => this.#delivered.get(key)?.object.kind === "Namespace";
    const gone = keys.filter(isGone);
    return [...keys.filter((key) => !isGone(key)), ...gone.filter((key) => !isNamespace(key)), ...gone.filter(isNamespace)];
  }

  #deliverOne(key: string): void {
    const claim = this.#index.holderOf(key);
    const before = this.#delivered.get(key);
    try {
      if (claim) this.#keep(claim, before);
      else if (before) this.#remove(key);
      this.#owed.delete(key);
    } catch (error) {
      manifestApplies.inc({ outcome: "failed" });
      if (!this.#owed.has(key)) this.#log.warn({ key, error }, "cannot apply an object of a file");
      this.#owed.set(key, `${error instanceof Error ? error.message : String(error)}; retrying`);
    }
  }

  #keep(claim: ManifestEntry, before: Delivered | undefined): void {
    const { object } = claim.manifest;
    const source = sourceOf(claim);
    if (!before || !same(before.object, object)) {
      const problems = this.#sink.apply(object, source);
      this.#delivered.set(claim.key, { object, source, complaints: problems });
      manifestApplies.inc({ outcome: problems.some(({ level }) => level === "error") ? "refused" : "applied" });
    } else if (!same(before.source, source)) {
      this.#sink.moved(claim.key, source);
      this.#delivered.set(claim.key, { ...before, source });
      manifestApplies.inc({ outcome: "moved" });
    }
  }

  #remove(key: string): void {
    this.#sink.remove(key);
    this.#delivered.delete(key);
    manifestApplies.inc({ outcome: "removed" });
  }

  #schedule(now: number, retried: boolean, owedBefore: number): void {
    if (this.#owed.size === 0) {
      if (now > this.#lostAt + CALM_MS) this.#failures = 0;
      this.retryAt = Infinity;
    } else if (retried || owedBefore === 0) {
      this.#failures += 1;
      this.retryAt = now + backoffMs(this.#failures, RETRY);
    }
  }

  #duplicate(claim: ManifestEntry, holder: ManifestEntry): Problem {
    const { path, line } = sourceOf(holder);
    const identity = this.#sink.identify(claim.manifest.object);
    const name = "name" in identity ? identity.name : claim.key;
    const message = `${name} is already in ${path}:${line}, which wins; remove one of them`;
    return problemOf(claim, { level: "error", message });
  }
}

export function sourceOf({ path, line, manifest }: ManifestEntry): ManifestSource {
  const start = positionOf(manifest.object, manifest.positions, "").line + line + 1;
  return { path, line: start, ...(path.startsWith(`${APPLIED}/`) && { applied: true }) };
}

function problemOf({ path, line, manifest }: ManifestEntry, { field, level, message }: ManifestError): Problem {
  const position = positionOf(manifest.object, manifest.positions, field ?? "");
  return { path, line: line + position.line + 1, column: position.column + 1, level, message, object: manifest.object };
}
