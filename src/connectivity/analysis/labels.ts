import type { CheckResult, ResultSource, ResultTarget } from "./check-result.ts";
import { type Hypothesis, isExternal, isService, serviceOf } from "./hypotheses.ts";

export function sourceLabel({ kind, name }: ResultSource): string {
  return `${kind} ${name}`;
}

/** `10.0.0.5:80 (endpoint of Service shop/web on node n2)` */
export function targetLabel({ endpoint, what, node }: ResultTarget): string {
  const service = serviceOf(what);
  const role = service === "" ? "" : isService(what) || isExternal(what) ? `Service ${service}` : `endpoint of Service ${service}`;
  const location = what.startsWith("node/") ? what.replace("/", " ") : node === undefined ? "" : `on node ${node}`;
  const about = [role, location].filter((text) => text !== "").join(" ");
  return about === "" ? endpoint : `${endpoint} (${about})`;
}

/** The name of a source, target, node or zone. */
export function scopeLabel({ scope, names: [name = ""], way }: Hypothesis, { source, target }: CheckResult): string {
  const kind = scope.endsWith("zone") ? "zone" : "node";
  const component = scope === "source" ? sourceLabel(source) : scope === "target" ? target.endpoint : `${kind} ${name}`;
  if (way === "any") return component;
  const part = way === "lookup" ? "the name server" : way === "service" ? "the way to Services" : way;
  return scope === "everything" ? part : `${part} of ${component}`;
}

/** `Connection refused`, or `Connection refused 8, Connection timed out 4`. */
export function reasons(failing: readonly CheckResult[]): string {
  const counts = Array.from(
    Map.groupBy(failing, ({ why, reason }) => why || reason),
    ([why, of]) => ({ why, count: of.length }),
  );
  if (counts.length === 1) return counts[0]?.why ?? "";
  const top = counts.toSorted((one, other) => other.count - one.count).slice(0, 3);
  const more = counts.length - top.length;
  return [...top.map(({ why, count }) => `${why} ${count}`), ...(more > 0 ? [`${more} other reasons`] : [])].join(", ");
}

/** `a, b, c and 4 more` */
export function joinList(names: readonly string[], most = 3): string {
  const more = names.length - most;
  // "and 1 more" would not be shorter.
  if (more > 1) return `${names.slice(0, most).join(", ")} and ${more} more`;
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

export function capitalize(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

export function distinct<T>(values: Iterable<T>): T[] {
  return [...new Set(values)];
}

const LONGEST = 100;

/**
 * The error without its target: `No route to host` of `Failed connect to 10.0.0.1:80; No route to host`. Also for Go's form, after a colon:
 * `dial tcp 10.0.0.1:80: connect: no route to host`.
 */
export function failureText(message: string): string {
  const ours = message.indexOf("; ");
  const text = ours >= 0 ? message.slice(ours + 2) : message.slice(message.lastIndexOf(": ") + 1);
  const bare = text.replaceAll(/ \([^)]*\)/g, "").trim();
  const short = bare.length > LONGEST ? `${bare.slice(0, LONGEST - 3)}...` : bare;
  return `${short.charAt(0).toUpperCase()}${short.slice(1)}`;
}
