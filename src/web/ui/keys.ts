import { signal } from "@preact/signals";
import { closeThing, toggleBad } from "./parts/search.tsx";
import { go, refine, route, type View } from "./route.ts";
import { nextTheme } from "./theme.ts";

export const helpShown = signal(false);

const PLACES: Readonly<Record<string, View>> = {
  o: "overview",
  r: "router",
  l: "loadbalancer",
  f: "failover",
  c: "connectivity",
  w: "why",
};

/** What the help shows; what the keys do stands below. */
export const KEYS: readonly (readonly [keys: readonly string[], does: string])[] = [
  [["/"], "search in this view"],
  [["b"], "only what is wrong, or everything"],
  [["g", "o"], "overview"],
  [["g", "r"], "router"],
  [["g", "l"], "load balancer"],
  [["g", "f"], "failover"],
  [["g", "c"], "connectivity"],
  [["g", "w"], "why"],
  [["Tab"], "next part of the page"],
  [["↑", "↓"], "move in a table"],
  [["Enter"], "open what is marked"],
  [["w"], "why is it so, of what is open"],
  [["Esc"], "close what is open, or end the search"],
  [["t"], "light, dark, or as the system has it"],
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
  const to = going ? PLACES[key] : undefined;
  going = key === "g" && !going;
  if (to) go({ view: to });
  else if (key === "/") focusSearch();
  else if (key === "?") helpShown.value = !helpShown.value;
  else if (key === "b") toggleBad();
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
  const { view, thing } = route.peek();
  if (view !== "why") go({ view: "why", ...(thing !== undefined && { thing }) });
}

function escape(typing: HTMLElement | undefined): void {
  const { view, thing, options } = route.peek();
  if (helpShown.value) helpShown.value = false;
  else if (typing) {
    if (options["q"]) refine({ q: "" });
    else typing.blur();
  } else if (thing !== undefined && view !== "why") closeThing();
}
