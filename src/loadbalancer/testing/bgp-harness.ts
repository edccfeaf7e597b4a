import { isDeepStrictEqual } from "node:util";
import type { Applied, FragmentOutcome } from "../../frr/apply.ts";
import { merge, print } from "../../frr/config.ts";
import type { Fragment } from "../../frr/fragment.ts";
import { parsePrefix } from "../../ip/prefix.ts";
import type { Advertised } from "../announcement/decision.ts";
import type { Config } from "../config/config.ts";
import { BgpSpeaker } from "../speaker/bgp/bgp-speaker.ts";
import type { BgpPass } from "../speaker/bgp/apply.ts";

const signal = new AbortController().signal;
const NODE = { name: "node-a", internalIPv4: "192.0.2.10" };
const NOTHING: FragmentOutcome = { sent: 0, lines: [] };

/** An FRR that takes every fragment, except what the test has it refuse; it has one AS, as FRR does. */
class FakeFrr {
  readonly has = new Map<string, Fragment>();
  readonly sent: string[] = [];
  /** Who was said to have something there when it was last opened. */
  opened: string[] = [];
  /** Whether it was read at the end of the last pass. */
  isRead = false;
  boot = "";
  boots = 0;
  disk: "fine" | "full" = "fine";
  rejects: (fragment: Fragment) => string | undefined = () => undefined;
  finished: Awaited<ReturnType<BgpPass["finish"]>> = { foreign: [], differed: [] };

  open(applied: Applied): Promise<BgpPass> {
    const list = typeof applied === "function" ? applied() : applied;
    this.opened = list.map(({ owner }) => owner).sort();
    const has = this.has;
    return Promise.resolve({
      apply: (fragment) => Promise.resolve(this.#applyFragment(fragment)),
      applyRaw: (fragment) => Promise.resolve(this.#applyFragment(fragment)),
      remove: (owner) => {
        if (has.delete(owner)) this.sent.push(`- ${owner}`);
        return Promise.resolve({ sent: 1, lines: [] });
      },
      rebuild: (fragments) => {
        this.sent.push("rebuild");
        this.#asn = undefined;
        const outcomes = fragments.map((fragment) => this.#applyFragment(fragment));
        return Promise.resolve(outcomes.find(({ rejected }) => rejected) ?? { sent: 1, lines: [] });
      },
      finish: ({ readBack = true } = {}) => {
        this.isRead = readBack;
        return Promise.resolve(this.finished);
      },
    });
  }

  /** Prefixes that it took a line for, or took one back, without doing anything about it. */
  readonly ignores = new Set<string>();

  tagOf(prefix: string): number | undefined {
    const routeMap = new RegExp(`^ +network ${prefix} route-map class-(\\w+)$`, "m");
    const [, name] = routeMap.exec(print(merge([...this.has.values()]))) ?? [];
    const lines = this.has.get(`Class/${name}`)?.lines ?? [];
    const [, tag] = /set tag (\d+)/.exec(print(lines)) ?? [];
    if (this.ignores.has(prefix)) return tag ? undefined : 1;
    return tag ? Number(tag) : undefined;
  }

  #asn: string | undefined;

  #applyFragment(fragment: Fragment): FragmentOutcome {
    const message = this.rejects(fragment);
    if (message !== undefined) return { ...NOTHING, rejected: { line: "a line", daemon: "bgpd", text: message } };
    const instance = fragment.lines.find(({ line }) => /^router bgp \S+$/.test(line))?.line;
    if (instance !== undefined && this.#asn !== undefined && this.#asn !== instance) return { ...NOTHING, rebuild: true };
    this.#asn = instance ?? this.#asn;
    const before = this.has.get(fragment.owner);
    this.has.set(fragment.owner, fragment);
    if (isDeepStrictEqual(before?.lines, fragment.lines)) return NOTHING;
    this.sent.push(`+ ${fragment.owner}`);
    return { sent: 1, lines: [] };
  }
}

export const offer = (prefix: string, more: Partial<Advertised> = {}): Advertised => ({
  prefix: parsePrefix(prefix),
  advertisement: "ad",
  created: 0,
  communities: [],
  ...more,
});

/** A speaker with an FRR of its own. */
export function bgpHarness() {
  const frr = new FakeFrr();
  const speaker = new BgpSpeaker({
    namespace: "metallb-system",
    frr: {
      open: (applied) => frr.open(applied),
      tagOf: async ({ prefix }) => frr.tagOf(prefix),
      writeBootFile: (text) => {
        if (frr.disk === "full") return Promise.reject(new Error("the disk is full"));
        frr.boot = text;
        frr.boots += 1;
        return Promise.resolve();
      },
    },
  });
  const apply = async (config: Config, services: Record<string, readonly Advertised[]> = {}) => {
    frr.sent.length = 0;
    return await speaker.apply({ config, node: NODE, services: new Map(Object.entries(services)) }, signal);
  };
  /** The lines that it received, without hashes. */
  const sentLines = () => frr.sent.map((line) => line.replace(/Class\/\w+/, "Class/*"));
  return { frr, speaker, apply, sentLines };
}
