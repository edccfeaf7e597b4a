import type { Applied, FragmentOutcome, FrrPass } from "../../../frr/apply.ts";
import type { Fragment } from "../../../frr/fragment.ts";
import { linesWanted, onlyWanted } from "../../../frr/lines-wanted.ts";
import type { Failure } from "../../../resilience/failure.ts";
import type { Advertised } from "../../announce/decision.ts";
import type { Config } from "../../config/config.ts";
import { BootFile } from "./boot-file.ts";
import { bootText } from "./boot-text.ts";
import { BASE, extrasFragment, peerFragments, profileFragment, type OwnNode } from "./instances.ts";
import { NOTHING_REFUSED, type Refusals } from "./refusals.ts";
import { Networks, type Route, type ServiceLines } from "./networks.ts";

export interface BgpWanted {
  readonly config: Config;
  readonly node: OwnNode;
  /** What this node announces of each, by namespace/name. */
  readonly services: ReadonlyMap<string, readonly Advertised[]>;
}

export interface BgpOutcome {
  readonly failures: readonly Failure[];
  /** How many lines FRR was told. */
  readonly changed: number;
  /** What was otherwise than we had left it, and has been put right. */
  readonly drift: readonly string[];
}

export type BgpPass = Pick<FrrPass, "bring" | "bringRaw" | "remove" | "rebuild" | "finish">;

export interface BgpSpeakerOptions {
  readonly frr: {
    open(applied: Applied, signal: AbortSignal): Promise<BgpPass>;
    /** The tag of the route that FRR has made of a Service's line; undefined: there is none. */
    tagOf(route: Route, signal: AbortSignal): Promise<number | undefined>;
    /** Replaces what the daemons are given when they start. */
    writeBootFile(text: string): Promise<void>;
  };
  /** What an earlier speaker of this node had `applied`. */
  readonly applied?: readonly Fragment[];
  /** Where the configuration is. */
  readonly namespace: string;
}

/** Has FRR announce what the node is to announce, to whom and with what it is to be announced. */
export class BgpSpeaker {
  readonly #options: BgpSpeakerOptions;
  /** What FRR has of us, Services apart. */
  readonly #live = new Map<string, Fragment>();
  readonly #services = new Map<string, ServiceLines>();
  readonly #networks = new Networks();
  readonly #boot: BootFile;
  /** The Services that FRR does not have as they are wanted: not told yet, or refused. */
  readonly #pending = new Set<string>();
  #refusals = NOTHING_REFUSED;
  #isFirst = true;
  #readAt = -Infinity;

  constructor(options: BgpSpeakerOptions) {
    this.#options = options;
    this.#boot = new BootFile((text) => options.frr.writeBootFile(text));
    for (const fragment of options.applied ?? []) this.#live.set(fragment.owner, fragment);
  }

  /** What to remember across a restart, so that the last good form of a resource stays. Services are not among it: FRR has their lines, and that is enough. */
  get applied(): readonly Fragment[] {
    return [...this.#live.values()];
  }

  /** What was to be announced with the last pass, and is not. */
  get refusals(): Refusals {
    return this.#refusals;
  }

  async apply(wanted: BgpWanted, signal: AbortSignal): Promise<BgpOutcome> {
    for (const owner of this.#networks.follow(wanted.services, wanted.config.peers, this.#live.values())) this.#pending.add(owner);
    const applied = () => [...this.#live.values(), ...Array.from(this.#services.values(), ({ fragment }) => fragment)];
    const pass = await this.#options.frr.open(this.#isFirst ? applied() : applied, signal);
    const isToBeRead = performance.now() - this.#readAt > READ_EVERY_MS;
    const { namespace, frr } = this.#options;
    const tagOf = (route: Route) => frr.tagOf(route, signal);
    const held = { live: this.#live, services: this.#services, pending: this.#pending, namespace, isToBeRead, tagOf };
    const round = new Round(pass, held);
    const outcome = await this.#run(round, wanted);
    this.#refusals = this.#refused(wanted);
    if (round.hasRead) this.#readAt = performance.now();
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    await this.#renewBootFile(isFirst, outcome);
    // A Service that went while no speaker ran has left its lines, and nobody is to blame.
    return isFirst ? { ...outcome, drift: outcome.drift.filter((line) => !/ network \S+ route-map class-\w+$/.test(line)) } : outcome;
  }

  #refused({ config }: BgpWanted): Refusals {
    const unheard = [...this.#pending].filter((owner) => this.#networks.services.has(owner) && !this.#services.has(owner));
    return {
      peers: new Set([...config.peers.keys()].filter((name) => !this.#live.has(`BGPPeer/${name}`))),
      services: new Set(unheard.map((owner) => owner.slice("Service/".length))),
      leftOut: this.#networks.leftOut,
    };
  }

  async #run(round: Round, wanted: BgpWanted): Promise<BgpOutcome> {
    try {
      return await round.run(wanted, this.#networks);
    } catch (error) {
      // What it did is live. Before the first pass has ended, FRR may have more than is known here, and the file of the agent before us is closer to it.
      if (!this.#isFirst) this.#renew();
      throw error;
    }
  }

  /** Returns when the boot file is as FRR is; throws why it cannot be. */
  async settled(): Promise<void> {
    await this.#boot.settled();
  }

  /** A file that cannot be written keeps FRR from nothing: it is told of with the next pass, and tried again. */
  async #renewBootFile(isFirst: boolean, { changed }: BgpOutcome): Promise<void> {
    const hadFailed = this.#boot.hasFailed;
    if (changed > 0 || isFirst || hadFailed) this.#renew();
    if (isFirst || hadFailed) await this.#boot.settled();
  }

  #renew(): void {
    this.#boot.renew(() => bootText(this.#live.values(), this.#services.values()));
  }
}

/** Where only Services come and go, FRR is asked for their routes, and all that it has is not read back each time. */
const READ_EVERY_MS = 30_000;
/** To ask for more of them takes longer than to read all. */
const MOST_ASKED_FOR = 100;

interface Held {
  readonly live: Map<string, Fragment>;
  readonly services: Map<string, ServiceLines>;
  readonly pending: Set<string>;
  readonly namespace: string;
  readonly isToBeRead: boolean;
  readonly tagOf: (route: Route) => Promise<number | undefined>;
}

/** One pass: what is needed comes before what needs it, and goes after it. */
class Round {
  readonly #pass: BgpPass;
  readonly #held: Held;
  readonly #failures: Failure[] = [];
  readonly #refusedClasses = new Set<string>();
  #changed = 0;
  /** How many of these were Services' and taken. */
  #networkLines = 0;
  /** Where they were told. */
  readonly #touched = new Map<string, Route>();
  #hasRead = false;
  /** FRR was emptied: what has not changed has to be said again. */
  #isAnew = false;

  constructor(pass: BgpPass, held: Held) {
    this.#pass = pass;
    this.#held = held;
  }

  get hasRead(): boolean {
    return this.#hasRead;
  }

  async run({ config, node }: BgpWanted, networks: Networks): Promise<BgpOutcome> {
    const profiles = [...config.bfdProfiles.values()].map(profileFragment);
    const peers = peerFragments(config, node);
    const extras = extrasFragment(config.extras);

    await this.#bring(BASE);
    for (const fragment of profiles) await this.#bring(fragment);
    await this.#bringPeers(peers);
    for (const [advertisement, why] of networks.refused) this.#failures.push(this.#leftOut(advertisement, why));
    for (const { fragment, advertisements } of networks.classes.values()) await this.#bringClass(fragment, advertisements);
    await this.#bringServices(networks);

    const wanted = new Set([BASE, ...profiles, ...peers, ...(extras ? [extras] : [])].map(({ owner }) => owner));
    for (const owner of networks.classes.keys()) wanted.add(owner);
    for (const owner of this.#held.pending) for (const name of this.#held.services.get(owner)?.classes ?? []) wanted.add(name);
    await this.#removeOthers(wanted);
    if (extras) await this.#bringExtras(extras);

    const hasToRead = this.#held.isToBeRead || this.#changed === 0 || this.#changed > this.#networkLines;
    this.#hasRead = hasToRead || !(await this.#isAsTold(networks));
    const { foreign, differed, restored = [], lost = [] } = await this.#pass.finish({ readBack: this.#hasRead });
    for (const { owner, line } of lost) this.#fail(owner, `FRR took "${line}" without a word, and does not have it`);
    const put = restored.map(({ owner, line }) => `${owner}: ${line}`);
    return { failures: this.#failures, changed: this.#changed, drift: [...foreign, ...put, ...differed] };
  }

  /** Who gives up its neighbour leaves nothing that is in the way of the one who has it now. */
  async #makeRoom(peers: readonly Fragment[]): Promise<void> {
    const holders = new Map(peers.map((fragment) => [neighborOf(fragment)?.name, fragment]));
    const wanted = linesWanted(peers);
    for (const [owner, fragment] of this.#held.live) {
      const neighbor = neighborOf(fragment);
      const holder = neighbor && holders.get(neighbor.name);
      if (!holder || holder.owner === owner) continue;
      if (neighborOf(holder)?.as === neighbor.as) await this.#bring({ owner, lines: onlyWanted(fragment.lines, wanted) });
      else await this.#remove(owner);
    }
  }

  async #bringPeers(peers: readonly Fragment[]): Promise<void> {
    await this.#makeRoom(peers);
    for (const fragment of peers) {
      const outcome = await this.#bring(fragment);
      if (!outcome?.rebuild) continue;
      // Another AS for the node's own instance: nothing of the old one can stay, and those that came before have gone with it.
      this.#isAnew = true;
      this.#note(fragment, await this.#pass.rebuild([fragment]));
      for (const other of peers) if (other !== fragment) await this.#bring(other);
      for (const peer of peers) if (this.#held.live.get(peer.owner) !== peer) await this.#remove(peer.owner);
      return;
    }
  }

  async #bringClass(fragment: Fragment, advertisements: ReadonlySet<string>): Promise<void> {
    const { refused } =
      (await this.#bring(fragment, (words) => {
        for (const name of advertisements) this.#fail(`BGPAdvertisement/${name}`, words);
      })) ?? {};
    if (refused) this.#refusedClasses.add(fragment.owner);
  }

  async #bringServices(networks: Networks): Promise<void> {
    const { services, pending } = this.#held;
    if (this.#isAnew) for (const owner of networks.services.keys()) pending.add(owner);
    for (const owner of pending) {
      const lines = networks.services.get(owner);
      this.#touch(services.get(owner));
      this.#touch(lines);
      if (!lines) {
        if (services.has(owner)) this.#networkLines += await this.#remove(owner);
        if (!services.has(owner)) pending.delete(owner);
        continue;
      }
      const isRefused = lines.classes.some((name) => this.#refusedClasses.has(name)) || (await this.#isServiceRefused(owner, lines));
      if (!isRefused) pending.delete(owner);
      // It keeps what it had, unless that was said of an instance that is no more.
      else if (this.#isAnew) await this.#remove(owner);
    }
  }

  /** Whether FRR has made of the Services' lines what was to come of them. */
  async #isAsTold(networks: Networks): Promise<boolean> {
    if (this.#touched.size > MOST_ASKED_FOR) return false;
    const asked = Array.from(this.#touched.values(), async (route) => {
      // Whatever is wrong with the answer comes out when all is read.
      const tag = await this.#held.tagOf(route).catch(() => NaN);
      return tag === networks.tagOf(route);
    });
    return (await Promise.all(asked)).every(Boolean);
  }

  #touch(lines: ServiceLines | undefined): void {
    for (const route of lines?.routes ?? []) this.#touched.set(`${route.vrf} ${route.prefix}`, route);
  }

  async #isServiceRefused(owner: string, lines: ServiceLines): Promise<boolean> {
    const outcome = await this.#pass.bring(lines.fragment);
    this.#count(outcome);
    if (outcome.refused) this.#fail(owner, inWords(outcome.refused));
    else {
      this.#held.services.set(owner, lines);
      this.#networkLines += outcome.sent;
    }
    return outcome.refused !== undefined;
  }

  async #removeOthers(wanted: ReadonlySet<string>): Promise<void> {
    const leaving = [...this.#held.live.keys()].filter((owner) => !wanted.has(owner)).sort((a, b) => leavingRank(a) - leavingRank(b));
    for (const owner of leaving) await this.#remove(owner);
  }

  /** Returns how many lines that took. */
  async #remove(owner: string): Promise<number> {
    const outcome = await this.#pass.remove(owner);
    this.#count(outcome);
    if (outcome.refused) {
      this.#fail(owner, inWords(outcome.refused));
      return 0;
    }
    this.#held.live.delete(owner);
    this.#held.services.delete(owner);
    return outcome.sent;
  }

  async #bringExtras(fragment: Fragment): Promise<void> {
    this.#note(fragment, await this.#pass.bringRaw(fragment));
  }

  async #bring(fragment: Fragment, blame?: (words: string) => void): Promise<FragmentOutcome> {
    const outcome = await this.#pass.bring(fragment);
    if (!outcome.rebuild) this.#note(fragment, outcome, blame);
    return outcome;
  }

  #note(fragment: Fragment, outcome: FragmentOutcome, blame = (words: string) => this.#fail(fragment.owner, words)): void {
    this.#count(outcome);
    if (outcome.refused) blame(inWords(outcome.refused));
    else this.#held.live.set(fragment.owner, fragment);
  }

  #count({ sent }: FragmentOutcome): void {
    this.#changed += sent;
  }

  #fail(owner: string, message: string): void {
    const [kind = "", ...rest] = owner.split("/");
    const name = rest.pop() ?? "";
    const namespace = rest[0] ?? this.#held.namespace;
    this.#failures.push({ kind, name, namespace, reason: "ApplicationFailed", field: "", message, class: "Permanent" });
  }

  #leftOut(name: string, [first = "", ...others]: readonly string[]): Failure {
    const message = others.length === 0 ? first : `${first}; and ${others.length} more`;
    const { namespace } = this.#held;
    return { kind: "BGPAdvertisement", name, namespace, reason: "ValidationFailed", field: "spec", message, class: "Permanent" };
  }
}

/** By what FRR knows a peer: its instance and its address, or interface; and the AS, with which it is another one. */
function neighborOf({ lines }: Fragment): { readonly name: string; readonly as: string } | undefined {
  for (const { line: instance, inside = [] } of lines) {
    for (const { line } of inside) {
      const [, name, as] = /^neighbor (\S+) (?:interface )?remote-as (\S+)$/.exec(line) ?? [];
      if (name && as) return { name: `${instance} ${name}`, as };
    }
  }
  return undefined;
}

const LEAVING = ["ConfigMap", "BGPPeer", "Class", "BFDProfile"];

function leavingRank(owner: string): number {
  return LEAVING.indexOf(owner.slice(0, owner.indexOf("/")));
}

function inWords({ line, daemon, words }: { line: string; daemon: string; words: string }): string {
  return line === "" ? `FRR refused it: ${words}` : `${daemon} refused "${line}": ${words}`;
}
