import type { Domain } from "../../src/api/health.ts";

/** Traffic that goes through the lab all the time. */
export interface FuzzFlow {
  readonly name: string;
  readonly layer: "overlay" | "session" | "service";
}

export interface NamedCause {
  readonly node: string | undefined;
  readonly domain: Domain;
  readonly text: string;
}

/** What was seen in one moment. Counts go on from the start of the lab. */
export interface TrafficSample {
  /** Since the change. */
  readonly atMs: number;
  readonly lost: ReadonlyMap<string, number>;
  readonly passed: ReadonlyMap<string, number>;
}

export interface FuzzSample extends TrafficSample {
  readonly harmed: readonly FuzzFlow[];
  readonly causes: readonly NamedCause[];
}

export type Verdict =
  | { readonly is: "harmless" }
  | { readonly is: "repaired"; readonly afterMs: number; readonly harmed: readonly string[] }
  | { readonly is: "named"; readonly afterMs: number; readonly harmed: readonly string[]; readonly cause: string }
  | { readonly is: "silent"; readonly harmed: readonly string[]; readonly causes: readonly string[] };

/** Who may be to blame for a flow that does not pass. */
const DOMAINS: Readonly<Record<FuzzFlow["layer"], readonly Domain[]>> = {
  overlay: ["router"],
  session: ["router", "loadbalancer"],
  service: ["router", "loadbalancer", "connectivity", "cluster"],
};

/** Longer than a BGP session lives without keepalives: what has done no harm by then does none. */
const HARMLESS_AFTER_MS = 12_000;
const REPAIRED_WITHIN_MS = 60_000;
/** A flow is harmed if in this time so many packets are lost, or none passes. */
const WINDOW_MS = 3_000;
const LOST = 3;
/** So long nothing may be lost until it counts as repaired; a connection may fail for longer than a ping. */
const CALM_MS = 4_000;

/** Undefined while it is too early to tell. */
export function judgeChange(samples: readonly FuzzSample[], node: string): Verdict | undefined {
  const last = samples.at(-1);
  if (!last) return undefined;
  const lastHarm = samples.findLastIndex(({ harmed }) => harmed.length > 0);
  if (lastHarm < 0) return last.atMs >= HARMLESS_AFTER_MS ? { is: "harmless" } : undefined;
  const harmed = [...new Map(samples.flatMap((sample) => sample.harmed).map((flow) => [flow.name, flow])).values()];
  const names = harmed.map(({ name }) => name);
  const cause = last.causes.find((one) => isRight(one, node, harmed));
  if (cause) return { is: "named", afterMs: last.atMs, harmed: names, cause: cause.text };
  const harmedUntil = samples[lastHarm]?.atMs ?? 0;
  if (harmedUntil <= REPAIRED_WITHIN_MS && last.atMs - harmedUntil >= CALM_MS)
    return { is: "repaired", afterMs: harmedUntil, harmed: names };
  if (last.atMs < REPAIRED_WITHIN_MS + CALM_MS) return undefined;
  return { is: "silent", harmed: names, causes: last.causes.map(({ text }) => text) };
}

/** The flows that lose packets now. */
export function harmedFlows(before: readonly TrafficSample[], now: TrafficSample, flows: readonly FuzzFlow[]): FuzzFlow[] {
  const from = before.findLast(({ atMs }) => atMs <= now.atMs - WINDOW_MS) ?? before[0] ?? now;
  return flows.filter(({ name }) => {
    const lost = (now.lost.get(name) ?? 0) - (from.lost.get(name) ?? 0);
    const passed = (now.passed.get(name) ?? 0) - (from.passed.get(name) ?? 0);
    return lost >= LOST || (passed <= 0 && now.atMs - from.atMs >= WINDOW_MS);
  });
}

/** At the node, in a layer that carries what is harmed. Of a path between two nodes either end may be named, if the text names the other. */
export function isRight({ node: at, domain, text }: NamedCause, node: string, harmed: readonly FuzzFlow[]): boolean {
  if (!harmed.some(({ layer }) => DOMAINS[layer].includes(domain))) return false;
  if (at === node) return true;
  const others = new Set((text.match(/\bnode\d+\b/g) ?? []).filter((name) => name !== at));
  return others.size === 1 && others.has(node);
}
