import { signal } from "@preact/signals";
import { closeDetail, toggleUnhealthy } from "./parts/search.tsx";
import { go, refine, route, type PageView } from "./live/route.ts";
import { nextTheme } from "./parts/theme.ts";

export const helpVisible = signal(false);

const VIEW_KEYS: Readonly<Record<string, PageView>> = {
  o: "overview",
  t: "topology",
  r: "router",
  l: "loadbalancer",
  f: "failover",
  c: "connectivity",
  h: "timeline",
  w: "why",
};

/** What the help shows; what the keys do stands below. */
export const KEYS: readonly (readonly [keys: readonly string[], does: string])[] = [
  [["/"], "search in this view"],
  [["b"], "only problems, or everything"],
  [["g", "o"], "overview"],
  [["g", "t"], "topology"],
  [["g", "r"], "router"],
  [["g", "l"], "load balancer"],
  [["g", "f"], "failover"],
  [["g", "c"], "connectivity"],
  [["g", "h"], "timeline (history)"],
  [["g", "w"], "why"],
  [["Tab"], "next section"],
  [["↑", "↓"], "move in a table or drawing"],
  [["Enter"], "open the selected row"],
  [["w"], "why, for the open row"],
  [["Esc"], "close the details or the search"],
  [["t"], "theme: light, dark or system"],
  [["?"], "this help"],
];

let going = false;

export function followKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const { target } = event;
    const typing = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement ? target : undefined;
    if (event.key === "Escape") return escape(typing);
    if (typing) return;
    if (pressed(event.key)) event.preventDefault();
  });
}

function pressed(key: string): boolean {
  const to = going ? VIEW_KEYS[key] : undefined;
  going = key === "g" && !going;
  if (to) go({ view: to });
  else if (key === "/") focusSearch();
  else if (key === "?") helpVisible.value = !helpVisible.value;
  else if (key === "b") toggleUnhealthy();
  else if (key === "t") nextTheme();
  else if (key === "w") askWhy();
  else return going;
  return true;
}

function focusSearch(): void {
  const search = document.getElementById("search");
  if (search instanceof HTMLInputElement) {
    search.focus();
    search.select();
  }
}

function askWhy(): void {
  const { view, component } = route.peek();
  if (view !== "why") go({ view: "why", ...(component !== undefined && { component }) });
}

function escape(typing: HTMLElement | undefined): void {
  const { view, component, options } = route.peek();
  if (helpVisible.value) helpVisible.value = false;
  else if (typing) {
    if (options["q"]) refine({ q: "" });
    else typing.blur();
  } else if (component !== undefined && view !== "why") closeDetail();
}
