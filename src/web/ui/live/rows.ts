import { signal, type Signal } from "@preact/signals";
import type { ChangeEvent, Rows, SnapshotEvent, DetailAnswer, ViewName, WhyAnswer } from "../../api.ts";

type LiveRows<V extends ViewName> = ReadonlyMap<string, Rows[V]>;

/** What the page holds of each view; undefined before the server has sent it. */
export const liveRows: { readonly [V in ViewName]: Signal<LiveRows<V> | undefined> } = {
  overview: signal(),
  topology: signal(),
  router: signal(),
  loadbalancer: signal(),
  failover: signal(),
  connectivity: signal(),
  timeline: signal(),
  sync: signal(),
};
export const details = signal<Readonly<Record<string, DetailAnswer>>>({});
export const answers = signal<Readonly<Record<string, WhyAnswer>>>({});

const VIEW_NAMES = Object.keys(liveRows) as ViewName[];

/** A snapshot is everything there is: what it does not have is gone. */
export function applySnapshot(event: SnapshotEvent): void {
  for (const view of VIEW_NAMES) replace(view, event.views[view]);
  details.value = event.components ?? {};
  answers.value = event.whys ?? {};
}

export function applyChange(event: ChangeEvent): void {
  for (const view of VIEW_NAMES) change(view, event.views[view]);
  if (event.components) details.value = { ...details.value, ...event.components };
  if (event.whys) answers.value = { ...answers.value, ...event.whys };
}

function replace<V extends ViewName>(view: V, rows: readonly Rows[V][] | undefined): void {
  liveRows[view].value = rows && new Map(rows.map((row) => [row.key, row]));
}

function change<V extends ViewName>(view: V, changed: ChangeEvent["views"][V] | undefined): void {
  if (!changed) return;
  const rows = new Map(liveRows[view].value);
  for (const key of changed.remove ?? []) rows.delete(key);
  for (const row of changed.upsert ?? []) rows.set(row.key, row);
  liveRows[view].value = rows;
}
