import { signal, type Signal } from "@preact/signals";
import type { ChangeEvent, Rows, SnapshotEvent, ThingAnswer, ViewName, WhyAnswer } from "../../api.ts";

type Held<V extends ViewName> = ReadonlyMap<string, Rows[V]>;

/** What the page holds of each view; undefined before the server has sent it. */
export const held: { readonly [V in ViewName]: Signal<Held<V> | undefined> } = {
  overview: signal(),
  router: signal(),
  loadbalancer: signal(),
  failover: signal(),
  connectivity: signal(),
  sight: signal(),
};
export const things = signal<Readonly<Record<string, ThingAnswer>>>({});
export const whys = signal<Readonly<Record<string, WhyAnswer>>>({});

const VIEW_NAMES = Object.keys(held) as ViewName[];

/** A snapshot is everything there is: what it does not have is gone. */
export function takeSnapshot(event: SnapshotEvent): void {
  for (const view of VIEW_NAMES) replace(view, event.views[view]);
  things.value = event.things ?? {};
  whys.value = event.whys ?? {};
}

export function takeChange(event: ChangeEvent): void {
  for (const view of VIEW_NAMES) change(view, event.views[view]);
  if (event.things) things.value = { ...things.value, ...event.things };
  if (event.whys) whys.value = { ...whys.value, ...event.whys };
}

function replace<V extends ViewName>(view: V, rows: readonly Rows[V][] | undefined): void {
  held[view].value = rows && new Map(rows.map((row) => [row.key, row]));
}

function change<V extends ViewName>(view: V, changed: ChangeEvent["views"][V] | undefined): void {
  if (!changed) return;
  const rows = new Map(held[view].value);
  for (const key of changed.remove ?? []) rows.delete(key);
  for (const row of changed.upsert ?? []) rows.set(row.key, row);
  held[view].value = rows;
}
