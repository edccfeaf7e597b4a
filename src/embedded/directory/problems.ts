import type { KubeObject } from "../../api/kind.ts";
import { isReadableByAll } from "./file-stat.ts";
import type { ManifestEntry } from "./manifest-index.ts";
import { manifestProblems } from "./metrics.ts";
import { same } from "../kinds/json.ts";

export interface Problem {
  /** Relative to the directory; `.` is the directory itself. */
  readonly path: string;
  /** From 1; missing for a problem of the whole file. */
  readonly line?: number;
  readonly column?: number;
  readonly level: "error" | "warning";
  readonly message: string;
  readonly object?: KubeObject;
}

/** `red.yaml:12:3: spec.vni: Required value` */
export function problemText({ path, line, column, message }: Problem): string {
  return `${path}${line === undefined ? "" : `:${line}:${column ?? 1}`}: ${message}`;
}

/** Why the directory cannot be read, or not be watched completely. */
export function rootProblems(root: string, lost: string | undefined, deaf: string | undefined, surveyMs: number): Problem[] {
  const problems: Problem[] = [];
  if (lost !== undefined)
    problems.push({ path: ".", level: "error", message: `${root} ${lost}; keeping its last known objects until it is back` });
  if (deaf !== undefined) {
    const message = `cannot watch for changes (${deaf}), scanning every ${surveyMs / 1000} s instead; raise fs.inotify.max_user_watches and fs.inotify.max_user_instances`;
    problems.push({ path: ".", level: "warning", message });
  }
  return problems;
}

export interface ProblemChange {
  readonly appeared: readonly Problem[];
  readonly resolved: readonly Problem[];
}

const MAX_PER_FILE = 100;

export class ProblemList {
  readonly #byPath = new Map<string, readonly Problem[]>();
  readonly #listeners = new Set<(change: ProblemChange) => void>();

  list(): Problem[] {
    return [...this.#byPath].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, problems]) => problems);
  }

  set(path: string, found: readonly Problem[]): void {
    const problems = limited(path, found);
    const before = this.#byPath.get(path) ?? [];
    const isIn = (list: readonly Problem[], problem: Problem) => list.some((other) => same(other, problem));
    const appeared = problems.filter((problem) => !isIn(before, problem));
    const resolved = before.filter((problem) => !isIn(problems, problem));
    if (appeared.length === 0 && resolved.length === 0) return;
    if (problems.length === 0) this.#byPath.delete(path);
    else this.#byPath.set(path, problems);
    for (const { level } of appeared) manifestProblems.inc({ level });
    for (const { level } of resolved) manifestProblems.dec({ level });
    for (const listener of this.#listeners) listener({ appeared, resolved });
  }

  /** The listener must not throw. */
  subscribe(listener: (change: ProblemChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function limited(path: string, problems: readonly Problem[]): readonly Problem[] {
  const sorted = problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  if (sorted.length <= MAX_PER_FILE) return sorted;
  const message = `${sorted.length - MAX_PER_FILE} more problems in this file`;
  return [...sorted.slice(0, MAX_PER_FILE), { path, level: "error", message }];
}

/** A Secret in a file that every user can read. */
export function exposedSecrets(root: string, path: string, entries: readonly ManifestEntry[]): Problem[] {
  const secret = entries.find(({ manifest: { object } }) => holdsSecret(object));
  if (!secret || !isReadableByAll(`${root}/${path}`)) return [];
  const { kind, metadata } = secret.manifest.object;
  const message = `${kind} ${metadata.name} contains a secret, and the file is readable by every user; run: chmod 600 ${path}`;
  return [{ path, line: secret.line + 1, level: "warning", message, object: secret.manifest.object }];
}

function holdsSecret({ kind, spec }: KubeObject & { kind?: string; spec?: unknown }): boolean {
  return kind === "Secret" || (typeof spec === "object" && spec !== null && "password" in spec && Boolean(spec.password));
}
