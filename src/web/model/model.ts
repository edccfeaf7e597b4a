import { createHash, randomBytes } from "node:crypto";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Event } from "../../api/core/event.ts";
import { keyOf, type Kind, type KubeObject } from "../../api/kind.ts";
import type { Answer, Cause, ComponentHealth } from "../../explain/answer.ts";
import { type Query, kindName, StaleReaders, TrackedObjects } from "../../explain/tracked-objects.ts";
import { dashboardRowsBuilt } from "../metrics.ts";
import { causeRow } from "../rows/overview.ts";
import type { Rows, ViewName, MatrixCellRow } from "../api.ts";
import { changeOf, happeningOf, outagesOf } from "../rows/happenings.ts";
import { type AnyRowBuilder, rowKey, type BuildContext } from "../rows/row-builder.ts";
import { RowStore } from "./row-store.ts";
import type { Timeline } from "./timeline.ts";
import { type Domain, type Health, HEALTHS, nodeOf } from "../../api/health.ts";

export interface Graph {
  put(kind: Kind, object: KubeObject): void;
  drop(kind: Kind, key: string): void;
  verdict(id: string): ComponentHealth | undefined;
  causes(): readonly Cause[];
  why(id: string): Answer | undefined;
  /** Components whose health may have changed since the last call. */
  touched(): ReadonlyMap<string, ComponentHealth | undefined>;
}

/** All rows of all views. Objects are put in as they change; only affected rows are built again, when they are read. */
export class DashboardModel {
  readonly rows = new RowStore();
  readonly #graph: Graph;
  readonly #objects = new TrackedObjects();
  readonly #counts = new HealthCounts();
  readonly #timeline: Timeline;
  readonly #builders: readonly AnyRowBuilder[];
  readonly #buildersOf = new Map<string, { readonly number: number; readonly rowOf: (object: KubeObject) => string | undefined }[]>();
  readonly #readers = new StaleReaders();
  readonly #listeners = new Set<() => void>();
  /** Keys of causes must not be guessable by viewers without permission. */
  readonly #salt = randomBytes(16);
  #causes: readonly Cause[] = [];
  /** Everything was read once: before that, what is missing looks like a fault. */
  #complete = false;
  #isStale = true;
  /** The number of built rows, for metrics. */
  built = 0;

  constructor(graph: Graph, builders: readonly AnyRowBuilder[], timeline: Timeline) {
    this.#graph = graph;
    this.#timeline = timeline;
    this.#builders = builders;
    for (const [number, builder] of builders.entries()) {
      if ("names" in builder) for (const name of builder.names) this.#readers.stale.add(`${number} ${name}`);
      else {
        const rowOf = builder.rowOf as (object: KubeObject) => string | undefined;
        const known = this.#buildersOf.get(kindName(builder.kind)) ?? [];
        this.#buildersOf.set(kindName(builder.kind), [...known, { number, rowOf }]);
      }
    }
  }

  put(kind: Kind, object: KubeObject): void {
    const before = this.#objects.get(kind, keyOf(object));
    this.#graph.put(kind, object);
    this.#readers.changed(this.#objects.put(kind, object));
    this.#record(kind, before, object);
    this.#mark(kind, before, object);
  }

  drop(kind: Kind, object: KubeObject): void {
    this.#graph.drop(kind, keyOf(object));
    this.#readers.changed(this.#objects.drop(kind, keyOf(object)));
    this.#record(kind, object, undefined);
    this.#mark(kind, object);
  }

  /** Events are part of the timeline and of nothing else. */
  putEvent(event: Event): void {
    const happening = happeningOf(event);
    if (!happening) return;
    this.#timeline.record(happening);
    this.#ring();
  }

  /** Whether a row must be built again. */
  get isStale(): boolean {
    return this.#isStale;
  }

  /** Called once when a row becomes stale, and again only after the next refresh. */
  onStale(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#isStale) listener();
    return () => this.#listeners.delete(listener);
  }

  refresh(): void {
    if (!this.#isStale) return;
    this.#isStale = false;
    const touched = this.#graph.touched();
    for (const [id, verdict] of touched) {
      this.#readers.changed([`verdict ${id}`]);
      this.#readers.changed(this.#counts.count(id, verdict));
    }
    this.rows.begin();
    dashboardRowsBuilt.inc(this.#readers.stale.size);
    for (const stale of this.#readers.stale) this.#build(stale);
    this.#readers.stale.clear();
    if (touched.size > 0) this.#buildCauses();
    if (this.#complete) this.#timeline.observe(this.#causes, touched);
    this.#timeline.write(this.rows);
  }

  why(id: string): Answer | undefined {
    return this.#graph.why(id);
  }

  /** Builds something that is not a row. */
  glance<T>(build: (context: BuildContext) => T): T {
    return build(this.#context(new Set()));
  }

  /** A row that is not built from objects. */
  set<V extends ViewName>(view: V, row: Rows[V]): void {
    this.rows.begin();
    this.rows.set(view, row.key, row, []);
    if (row.type === "sync") this.#complete = row.complete;
    this.#ring();
  }

  #record(kind: Kind, before: KubeObject | undefined, after: KubeObject | undefined): void {
    const change = changeOf(kind, before, after, Date.now());
    if (change) this.#timeline.record(change);
    if (kind === PodNetworkConnectivityCheck && after)
      for (const outage of outagesOf(after as PodNetworkConnectivityCheck)) this.#timeline.record(outage);
  }

  #mark(kind: Kind, ...objects: readonly (KubeObject | undefined)[]): void {
    for (const { number, rowOf } of this.#buildersOf.get(kindName(kind)) ?? []) {
      for (const object of objects) {
        const name = object && rowOf(object);
        if (name !== undefined) this.#readers.stale.add(`${number} ${name}`);
      }
    }
    this.#ring();
  }

  #ring(): void {
    if (this.#isStale) return;
    this.#isStale = true;
    for (const listener of this.#listeners) listener();
  }

  #build(stale: string): void {
    const space = stale.indexOf(" ");
    const builder = this.#builders[Number(stale.slice(0, space))];
    const name = stale.slice(space + 1);
    if (!builder) return;
    const queries = new Set<Query>();
    const row = builder.build(name, this.#context(queries));
    this.built += 1;
    this.#readers.record(stale, row !== undefined || "names" in builder ? queries : undefined);
    this.rows.set(builder.view, rowKey(builder.type, name), row, builder.of(name));
  }

  #buildCauses(): void {
    const causes = this.#graph.causes();
    const keys = new Set<string>();
    for (const cause of causes) {
      const key = this.#causeKey(cause.id);
      keys.add(key);
      this.rows.set("overview", key, causeRow(cause, key), [], cause);
    }
    for (const { id } of this.#causes) {
      const key = this.#causeKey(id);
      if (!keys.has(key)) this.rows.set("overview", key, undefined, []);
    }
    this.#causes = causes;
  }

  #causeKey(id: string): string {
    return rowKey("cause", createHash("sha256").update(this.#salt).update(id).digest("base64url").slice(0, 16));
  }

  #context(queries: Set<Query>): BuildContext {
    const cell = (key: string) => {
      queries.add(key);
      return this.#counts.cell(key);
    };
    return {
      ...this.#objects.reader(queries),
      unremembered: this.#objects.reader(new Set()),
      cell: (domain, node) => cell(countKey(domain, node)),
      unwell: ({ kind }) => {
        queries.add(kindCountKey(kind));
        return this.#counts.unwell(kindCountKey(kind));
      },
      verdict: (id) => {
        queries.add(`verdict ${id}`);
        return this.#graph.verdict(id);
      },
    };
  }
}

interface Counted {
  readonly keys: readonly string[];
  readonly health: Health;
}

interface KeyCounts {
  readonly counts: Record<Health, number>;
  readonly unwell: Map<string, ComponentHealth>;
}

/** Components by health: per domain, per domain and node, and per kind. Updated per component. */
class HealthCounts {
  readonly #counted = new Map<string, Counted>();
  readonly #counts = new Map<string, KeyCounts>();

  /** Returns the counters that changed. */
  count(id: string, verdict: ComponentHealth | undefined): readonly string[] {
    const before = this.#counted.get(id);
    const keys = verdict ? keysOf(verdict) : [];
    for (const entry of before?.keys ?? []) this.#leave(entry, id, before?.health ?? "Healthy");
    if (!verdict) this.#counted.delete(id);
    else {
      this.#counted.set(id, { keys, health: verdict.health });
      for (const entry of keys) this.#enter(entry, verdict);
    }
    const isSame = before && verdict && before.health === "Healthy" && verdict.health === "Healthy" && keys.join() === before.keys.join();
    return isSame ? [] : [...new Set([...(before?.keys ?? []), ...keys])];
  }

  cell(entry: string): MatrixCellRow | undefined {
    const found = this.#counts.get(entry);
    if (!found) return undefined;
    const health = HEALTHS.findLast((one) => found.counts[one] > 0) ?? "Healthy";
    const since = earliest([...found.unwell.values()].filter((one) => one.health === health));
    return { health, ...(since !== undefined && { since }), tally: { ...found.counts } };
  }

  unwell(entry: string): readonly ComponentHealth[] {
    return [...(this.#counts.get(entry)?.unwell.values() ?? [])];
  }

  #enter(name: string, verdict: ComponentHealth): void {
    let entry = this.#counts.get(name);
    if (!entry) this.#counts.set(name, (entry = { counts: { Healthy: 0, Degraded: 0, Unknown: 0, Down: 0 }, unwell: new Map() }));
    entry.counts[verdict.health] += 1;
    if (verdict.health !== "Healthy") entry.unwell.set(verdict.id, verdict);
  }

  #leave(name: string, id: string, health: Health): void {
    const entry = this.#counts.get(name);
    if (!entry) return;
    entry.counts[health] -= 1;
    entry.unwell.delete(id);
    if (HEALTHS.every((one) => entry.counts[one] === 0)) this.#counts.delete(name);
  }
}

function countKey(domain: Domain, node?: string): string {
  return node === undefined ? `domain ${domain}` : `cell ${domain} ${node}`;
}

function kindCountKey(kind: string): string {
  return `kind ${kind}`;
}

function keysOf({ component, domain }: ComponentHealth): string[] {
  const node = nodeOf(component);
  return [countKey(domain), kindCountKey(component.kind), ...(node === undefined ? [] : [countKey(domain, node)])];
}

function earliest(verdicts: readonly ComponentHealth[]): string | undefined {
  let first: string | undefined;
  for (const { since } of verdicts)
    if (since !== undefined && (first === undefined || Date.parse(since) < Date.parse(first))) first = since;
  return first;
}
