import type { Applied } from "../../../frr/apply.ts";
import type { Fragment } from "../../../frr/fragment.ts";
import { BootFile } from "./boot-file.ts";
import { bootText } from "./boot-text.ts";
import { ServicePrefixes, type PrefixRoute, type ServiceLines } from "./prefixes.ts";
import type { WantedPrefixes } from "./sent-prefixes.ts";
import { NOTHING_REJECTED, type RejectedAnnouncements } from "./rejected.ts";
import { type BgpResult, type BgpPass, type DesiredBgp, BgpApply } from "./apply.ts";

export interface BgpSpeakerOptions {
  readonly frr: {
    open(applied: Applied, signal: AbortSignal): Promise<BgpPass>;
    /** The tag of a Service's route in FRR; undefined if there is none. */
    tagOf(route: PrefixRoute, signal: AbortSignal): Promise<number | undefined>;
    /** The configuration that the daemons read at start. */
    writeBootFile(text: string): Promise<void>;
  };
  /** The `applied` of an earlier run. */
  readonly applied?: readonly Fragment[];
  readonly namespace: string;
}

export class BgpSpeaker {
  readonly #options: BgpSpeakerOptions;
  /** Our configuration in FRR, without Services. */
  readonly #live = new Map<string, Fragment>();
  readonly #services = new Map<string, ServiceLines>();
  readonly #networks = new ServicePrefixes();
  readonly #boot: BootFile;
  /** Services that are not in FRR as wanted: not sent yet, or rejected. */
  readonly #pending = new Set<string>();
  #rejections = NOTHING_REJECTED;
  #wanted: WantedPrefixes | undefined;
  #isFirst = true;
  #readAt = -Infinity;

  constructor(options: BgpSpeakerOptions) {
    this.#options = options;
    this.#boot = new BootFile((text) => options.frr.writeBootFile(text));
    for (const fragment of options.applied ?? []) this.#live.set(fragment.owner, fragment);
  }

  /** For the state file, so that the last good version of a resource stays. Without Services: FRR has their lines. */
  get applied(): readonly Fragment[] {
    return [...this.#live.values()];
  }

  /** What the last pass did not announce. */
  get rejections(): RejectedAnnouncements {
    return this.#rejections;
  }

  /** What the sessions should send; the same object while nothing changes. */
  get wanted(): WantedPrefixes {
    return (this.#wanted ??= this.#networks.wanted);
  }

  async apply(wanted: DesiredBgp, signal: AbortSignal): Promise<BgpResult> {
    const changed = this.#networks.follow(wanted.services, wanted.config.peers, this.#live.values());
    for (const owner of changed) this.#pending.add(owner);
    if (changed.length > 0) this.#wanted = undefined;
    const applied = () => [...this.#live.values(), ...Array.from(this.#services.values(), ({ fragment }) => fragment)];
    const pass = await this.#options.frr.open(this.#isFirst ? applied() : applied, signal);
    const isToBeRead = performance.now() - this.#readAt > READ_EVERY_MS;
    const { namespace, frr } = this.#options;
    const tagOf = (route: PrefixRoute) => frr.tagOf(route, signal);
    const current = { live: this.#live, services: this.#services, pending: this.#pending, namespace, isToBeRead, tagOf };
    const round = new BgpApply(pass, current);
    const outcome = await this.#run(round, wanted);
    this.#rejections = this.#rejected(wanted);
    if (round.hasRead) this.#readAt = performance.now();
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    await this.#renewBootFile(isFirst, outcome);
    // Lines of a Service that was deleted while no speaker ran are no drift.
    return isFirst ? { ...outcome, drift: outcome.drift.filter((line) => !/ network \S+ route-map class-\w+$/.test(line)) } : outcome;
  }

  #rejected({ config }: DesiredBgp): RejectedAnnouncements {
    const unheard = [...this.#pending].filter((owner) => this.#networks.services.has(owner) && !this.#services.has(owner));
    return {
      peers: new Set([...config.peers.keys()].filter((name) => !this.#live.has(`BGPPeer/${name}`))),
      services: new Set(unheard.map((owner) => owner.slice("Service/".length))),
      leftOut: this.#networks.leftOut,
    };
  }

  async #run(round: BgpApply, wanted: DesiredBgp): Promise<BgpResult> {
    try {
      return await round.run(wanted, this.#networks);
    } catch (error) {
      // It is live. Before the end of the first pass, FRR may have more than is known here, and the earlier agent's file is closer to it.
      if (!this.#isFirst) this.#renew();
      throw error;
    }
  }

  /** Resolves when the boot file matches FRR; throws the reason why it cannot. */
  async bootFileWritten(): Promise<void> {
    await this.#boot.flush();
  }

  /** A write error does not stop the pass: the next one reports it and retries. */
  async #renewBootFile(isFirst: boolean, { changed }: BgpResult): Promise<void> {
    const hadFailed = this.#boot.hasFailed;
    if (changed > 0 || isFirst || hadFailed) this.#renew();
    if (isFirst || hadFailed) await this.#boot.flush();
  }

  #renew(): void {
    this.#boot.renew(() => bootText(this.#live.values(), this.#services.values()));
  }
}

/** While only Services change, their routes are read, not the whole configuration. */
const READ_EVERY_MS = 30_000;
