import { computed, signal } from "@preact/signals";

export const VIEWS = ["overview", "topology", "router", "loadbalancer", "failover", "connectivity", "timeline", "why"] as const;
export type PageView = (typeof VIEWS)[number];

export const TITLES: Readonly<Record<PageView, string>> = {
  overview: "Overview",
  topology: "Topology",
  router: "Router",
  loadbalancer: "Load balancer",
  failover: "Failover",
  connectivity: "Connectivity",
  timeline: "Timeline",
  why: "Why",
};

/** Where one is: everything that can be chosen stands in the address, so that a link shows another what one sees oneself. */
export interface PageRoute {
  readonly view: PageView;
  /** What is chosen in it: a node, a service, any thing. */
  readonly component?: string;
  readonly options: Readonly<Record<string, string>>;
}

/** Behind the #: the server needs to know nothing of it, and a proxy may serve the page below any path. */
export function parseRoute(hash: string): PageRoute {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [first = "", ...rest] = path.split("/").map(decoded);
  const view = VIEWS.find((view) => view === first) ?? "overview";
  const component = rest.join("/");
  return { view, ...(component !== "" && { component }), options: Object.fromEntries(new URLSearchParams(query)) };
}

export function linkTo({
  view,
  component,
  options = {},
}: {
  view: PageView;
  component?: string | undefined;
  options?: PageRoute["options"];
}): string {
  const path = [view, ...(component === undefined ? [] : component.split("/"))].map(encoded).join("/");
  const query = new URLSearchParams(Object.entries(options).filter(([, value]) => value !== "")).toString();
  return `#/${path}${query && `?${query}`}`;
}

const encoded = (part: string) => encodeURIComponent(part).replaceAll("%40", "@").replaceAll("%3A", ":");

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const atHash = signal(globalThis.location?.hash ?? "");
export const route = computed(() => parseRoute(atHash.value));

export function followAddress(): void {
  addEventListener("hashchange", () => (atHash.value = location.hash));
}

/** A new entry of the history: back leads here again. */
export function go(to: Parameters<typeof linkTo>[0]): void {
  location.hash = linkTo(to);
}

/** Changes the options of the current view without an entry in the history, such as for each letter of a filter. */
export function refine(options: Readonly<Record<string, string>>): void {
  const { view, component, options: old } = route.peek();
  const hash = linkTo({ view, component, options: { ...old, ...options } });
  history.replaceState(history.state, "", hash);
  atHash.value = hash;
}

/** A link to another thing of the same view, as it is filtered and sorted now. */
export function linkHere(component: string | undefined): string {
  const { view, options } = route.value;
  return linkTo({ view, component, options });
}

export const option = (name: string) => route.value.options[name] ?? "";
