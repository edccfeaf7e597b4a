import type { Said, SaidSource, SaidTarget } from "./check-result.ts";
import { type Cause, isService, serviceOf } from "./hypotheses.ts";

export function sourceLabel({ kind, name }: SaidSource): string {
  return `${kind} ${name}`;
}

/** `10.0.0.5:80 (endpoint of Service shop/web on node n2)` */
export function targetLabel({ endpoint, what, node }: SaidTarget): string {
  const service = serviceOf(what);
  const role = service === "" ? "" : isService(what) ? `Service ${service}` : `endpoint of Service ${service}`;
  const place = what.startsWith("node/") ? what.replace("/", " ") : node === undefined ? "" : `on node ${node}`;
  const about = [role, place].filter((text) => text !== "").join(" ");
  return about === "" ? endpoint : `${endpoint} (${about})`;
}

/** What a source, a target, a node, a zone or a way through all of them is called. `victim` is any check that the cause explains. */
export function noun({ scope, names: [name = ""], way }: Cause, { source, target }: Said): string {
  const kind = scope.endsWith("zone") ? "zone" : "node";
  const thing = scope === "source" ? sourceLabel(source) : scope === "target" ? target.endpoint : `${kind} ${name}`;
  if (way === "any") return thing;
  const part = way === "lookup" ? "the name server" : way === "service" ? "the way to Services" : way;
  return scope === "everything" ? part : `${part} of ${thing}`;
}

/** `Connection refused`, or `Connection refused 8, Connection timed out 4`. */
export function reasons(failing: readonly Said[]): string {
  const counts = Array.from(
    Map.groupBy(failing, ({ why, reason }) => why || reason),
    ([why, of]) => ({ why, count: of.length }),
  );
  if (counts.length === 1) return counts[0]?.why ?? "";
  const shown = counts.toSorted((one, other) => other.count - one.count).slice(0, 3);
  const more = counts.length - shown.length;
  return [...shown.map(({ why, count }) => `${why} ${count}`), ...(more > 0 ? [`${more} other reasons`] : [])].join(", ");
}

/** `a, b, c and 4 more` */
export function listed(names: readonly string[], most = 3): string {
  const more = names.length - most;
  // One more takes no more room than saying so.
  if (more > 1) return `${names.slice(0, most).join(", ")} and ${more} more`;
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** `1 check`, `4 checks` */
export function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

export function distinct<T>(values: Iterable<T>): T[] {
  return [...new Set(values)];
}
