import { Event } from "../../api/core/event.ts";
import { componentId } from "../../api/health.ts";
import { metaTime } from "../../api/time.ts";
import { ensure } from "../../util/map.ts";
import type { Cause, ComponentHealth } from "../../explain/answer.ts";
import { MAX_COMPONENTS, type TimelineRow } from "../api.ts";
import { failureOf, fixOf, type Happening } from "../rows/happenings.ts";
import { definedFields } from "../rows/fields.ts";
import { type KindInNamespace, type RefsOf, rowKey } from "../rows/row-builder.ts";
import type { RowStore } from "./row-store.ts";

/** The newest are kept. */
export const MAX_ENTRIES = 1_000;
/** Happenings of one kind this close to the first of them are one entry. */
export const TOGETHER_MS = 60_000;

interface Entry {
  readonly key: string;
  readonly first: Happening;
  readonly of: readonly KindInNamespace[];
  readonly group: string;
  /** By the id of the component. */
  readonly components: Map<string, Happening["component"]>;
  readonly ids: string[];
  since: number | undefined;
}

/**
 * What happened, newest first: kept in memory, since the objects have only the last change of each. A fault of many nodes at once is one entry. Entries
 * contain components of one kind and namespace only, so that who may see one of them may see all.
 */
export class Timeline {
  readonly #refsOf: RefsOf;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #groups = new Map<string, Set<Entry>>();
  readonly #recorded = new Set<string>();
  /** What has failed and does not work again yet. */
  readonly #open = new Map<string, Happening>();
  readonly #changed = new Set<string>();
  #count = 0;
  /** Nothing older than this is taken any more. */
  #oldest = -Infinity;

  constructor(refsOf: RefsOf, now = () => Date.now()) {
    this.#refsOf = refsOf;
    this.#now = now;
  }

  record(happening: Happening): void {
    if (happening.time < this.#oldest || this.#recorded.has(happening.id)) return;
    this.#recorded.add(happening.id);
    const entry = this.#entryFor(happening);
    entry.ids.push(happening.id);
    entry.components.set(componentId(happening.component), happening.component);
    if (happening.since !== undefined) entry.since = Math.min(happening.since, entry.since ?? Infinity);
    this.#changed.add(entry.key);
    if (this.#entries.size > MAX_ENTRIES) this.#forget();
  }

  /** A cause is fixed when it is healthy, not when another turns out to be the cause of it. */
  observe(causes: readonly Cause[], touched: ReadonlyMap<string, ComponentHealth | undefined>): void {
    const now = this.#now();
    for (const [id, verdict] of touched) {
      const failure = this.#open.get(id);
      if (!failure || (verdict && verdict.health !== "Healthy")) continue;
      this.#open.delete(id);
      this.record(fixOf(failure, now));
    }
    for (const cause of causes) {
      const failure = this.#open.has(cause.id) ? undefined : failureOf(cause, now);
      if (!failure) continue;
      this.#open.set(cause.id, failure);
      this.record(failure);
    }
  }

  /** Writes what has changed since the last time. */
  write(rows: RowStore): void {
    for (const key of this.#changed) {
      const entry = this.#entries.get(key);
      rows.set("timeline", key, entry && rowOf(entry), entry?.of ?? []);
    }
    this.#changed.clear();
  }

  #entryFor(happening: Happening): Entry {
    const { component, what, source, reason = "", time } = happening;
    const of = this.#refs(happening);
    const group = JSON.stringify([source, what, reason, component.kind, of.map(({ kind, namespace = "" }) => [kind.plural, namespace])]);
    const alike = ensure(this.#groups, group, () => new Set());
    for (const entry of alike) if (Math.abs(entry.first.time - time) <= TOGETHER_MS) return entry;
    const key = rowKey("entry", String((this.#count += 1)));
    const entry: Entry = { key, first: happening, of, group, components: new Map(), ids: [], since: undefined };
    alike.add(entry);
    this.#entries.set(key, entry);
    return entry;
  }

  #refs({ component, source }: Happening): readonly KindInNamespace[] {
    const refs = this.#refsOf(component);
    // Events about objects without a namespace are in this one.
    return source === "event" ? [{ kind: Event, namespace: component.namespace ?? "default" }, ...refs] : refs;
  }

  #forget(): void {
    let oldest: Entry | undefined;
    for (const entry of this.#entries.values()) if (!oldest || entry.first.time < oldest.first.time) oldest = entry;
    if (!oldest) return;
    this.#oldest = oldest.first.time;
    this.#entries.delete(oldest.key);
    const alike = this.#groups.get(oldest.group);
    alike?.delete(oldest);
    if (alike?.size === 0) this.#groups.delete(oldest.group);
    for (const id of oldest.ids) this.#recorded.delete(id);
    this.#changed.add(oldest.key);
  }
}

function rowOf({ key, first, components, since }: Entry): TimelineRow {
  const { time, what, source, health, reason, message } = first;
  return {
    type: "entry",
    key,
    time: metaTime(new Date(time)),
    what,
    source,
    health,
    ...definedFields({ reason, message, since: since === undefined ? undefined : metaTime(new Date(since)) }),
    components: [...components.values()].slice(0, MAX_COMPONENTS),
    count: components.size,
  };
}
