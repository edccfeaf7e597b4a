import { batch, computed, signal } from "@preact/signals";
import type { ChangeEvent, SnapshotEvent, ViewName, WhoAmI } from "../../api.ts";
import { type PageView, route } from "./route.ts";
import { liveRows, applyChange, applySnapshot } from "./rows.ts";

/** Whether what is shown is what the server knows. `lost`: it is as old as `since`. */
export interface StreamState {
  readonly state: "connecting" | "live" | "lost";
  readonly since: number;
}
export const link = signal<StreamState>({ state: "connecting", since: Date.now() });
/** Whether the shown data may be outdated: the server does not answer, or has lost its own watches. */
export const isOld = computed(() => {
  const [sync] = liveRows.sync.value?.values() ?? [];
  return link.value.state !== "live" || (sync?.lost.some(({ read }) => read) ?? false);
});
/** Who looks; a refusal where the server wants to know that first. */
export const viewer = signal<WhoAmI | "unknown" | "denied">("unknown");

/** The server says something at least this often, if only that it is there. */
const SILENT_AFTER_MS = 40_000;
const SLOW_AFTER_MS = 4_000;
const RETRY_MS = [500, 1_000, 2_000, 4_000, 8_000] as const;

let source: EventSource | undefined;
let current = "";
let heard = 0;
let failures = 0;
let retry: ReturnType<typeof setTimeout> | undefined;

/** Keeps a stream of what the current address shows. */
export function followServer(): void {
  route.subscribe(() => open(query()));
  setInterval(watch, 1_000);
  addEventListener("online", () => link.peek().state === "lost" && again());
}

/** Also after a login: what was asked for is asked for again. */
function again(): void {
  current = "";
  open(query());
}

function query(): string {
  const { view, component } = route.peek();
  const search = new URLSearchParams({ views: viewsOf(view).join(",") });
  // The page has all of an entry or a switch already.
  const known = view === "timeline" || component?.startsWith("ToR/");
  if (component !== undefined && !known) search.set(view === "why" ? "why" : "component", component);
  return search.toString();
}

const viewsOf = (view: PageView): ViewName[] => (view === "overview" || view === "why" ? ["overview", "sync"] : ["overview", "sync", view]);

function open(wanted: string): void {
  if (wanted === current) return;
  current = wanted;
  clearTimeout(retry);
  source?.close();
  const opened = new EventSource(`api/stream?${wanted}`);
  source = opened;
  heard = Date.now();
  opened.addEventListener("snapshot", ({ data }) => take(() => applySnapshot(JSON.parse(data) as SnapshotEvent)));
  opened.addEventListener("change", ({ data }) => take(() => applyChange(JSON.parse(data) as ChangeEvent)));
  opened.addEventListener("heartbeat", () => take(() => undefined));
  opened.addEventListener("error", () => {
    lose();
    // The browser tries again by itself, and resumes, unless an answer was a refusal.
    if (opened.readyState === EventSource.CLOSED) void retryLater();
  });
  if (viewer.peek() === "unknown") void ask();
}

function take(apply: () => void): void {
  heard = Date.now();
  failures = 0;
  batch(() => {
    apply();
    if (link.peek().state !== "live") link.value = { state: "live", since: Date.now() };
  });
}

function lose(): void {
  const { state } = link.peek();
  if (state === "live") link.value = { state: "lost", since: heard };
}

/** A connection that died without a word looks like one on which nothing happens. */
function watch(): void {
  const silence = Date.now() - heard;
  if (link.peek().state === "live" && silence > SILENT_AFTER_MS) {
    lose();
    again();
  }
  if (link.peek().state === "connecting" && silence > SLOW_AFTER_MS) link.value = { state: "lost", since: link.peek().since };
}

async function retryLater(): Promise<void> {
  if ((await ask()) === "denied") return;
  const longest = RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)] ?? 0;
  clearTimeout(retry);
  retry = setTimeout(again, longest * (0.5 + Math.random() / 2));
}

async function ask(): Promise<"denied" | "there" | "away"> {
  try {
    const answer = await fetch("api/whoami", { cache: "no-store", signal: AbortSignal.timeout(10_000) });
    if (answer.status === 401) viewer.value = "denied";
    else if (answer.ok) viewer.value = (await answer.json()) as WhoAmI;
    return answer.status === 401 ? "denied" : "there";
  } catch {
    return "away";
  }
}

/** What the server has against the token, or nothing. */
export async function logIn(token: string): Promise<string | undefined> {
  try {
    const answer = await fetch("api/login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
      signal: AbortSignal.timeout(15_000),
    });
    if (!answer.ok) return ((await answer.json()) as { error?: string }).error ?? `The server answered ${answer.status}`;
  } catch (error) {
    return `The server does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
  viewer.value = "unknown";
  again();
  return undefined;
}

export async function logOut(): Promise<void> {
  await fetch("api/logout", { method: "POST", headers: { "content-type": "application/json" } }).catch(() => undefined);
  location.reload();
}
