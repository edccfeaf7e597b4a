import type { FragmentOutcome, FrrPass } from "../../../frr/apply.ts";
import type { Fragment } from "../../../frr/fragment.ts";
import { isInstanceIn } from "../../../frr/grammar.ts";
import { desiredLinePaths, onlyDesired } from "../../../frr/fragment-lines.ts";
import { rejectionText } from "../../../frr/transaction.ts";
import type { Failure } from "../../../resilience/failure.ts";
import type { Advertised } from "../../announcement/decision.ts";
import type { Config } from "../../config/config.ts";
import { BASE, extrasFragment, type OwnNode, peerFragments, profileFragment } from "./render.ts";
import type { ServicePrefixes, PrefixRoute, ServiceLines } from "./prefixes.ts";
import { joinFirst } from "../../../util/text.ts";

export interface DesiredBgp {
  readonly config: Config;
  readonly node: OwnNode;
  /** By namespace/name. */
  readonly services: ReadonlyMap<string, readonly Advertised[]>;
  /** Whose instances are created again, so that bgpd asks zebra for the interfaces. */
  readonly lostVrfs?: ReadonlySet<string>;
}

export interface BgpResult {
  readonly failures: readonly Failure[];
  /** The number of lines sent to FRR. */
  readonly changed: number;
  /** Foreign changes that were repaired. */
  readonly drift: readonly string[];
}

export type BgpPass = Pick<FrrPass, "apply" | "applyRaw" | "remove" | "rebuild" | "finish">;

/** Reading more routes one by one takes longer than reading all. */
const MAX_SINGLE_READS = 100;

interface CurrentBgp {
  readonly live: Map<string, Fragment>;
  readonly services: Map<string, ServiceLines>;
  readonly pending: Set<string>;
  readonly namespace: string;
  readonly isToBeRead: boolean;
  readonly tagOf: (route: PrefixRoute) => Promise<number | undefined>;
}

/** One pass: dependencies are configured first and removed last. */
export class BgpApply {
  readonly #pass: BgpPass;
  readonly #current: CurrentBgp;
  readonly #failures: Failure[] = [];
  readonly #rejectedClasses = new Set<string>();
  #changed = 0;
  /** Accepted lines of Services. */
  #networkLines = 0;
  /** The routes that they change. */
  readonly #touched = new Map<string, PrefixRoute>();
  /** Instances with lost interfaces. */
  readonly #recreated: string[] = [];
  #hasRead = false;
  /** FRR was reset: unchanged lines must be sent again. */
  #isNew = false;

  constructor(pass: BgpPass, current: CurrentBgp) {
    this.#pass = pass;
    this.#current = current;
  }

  get hasRead(): boolean {
    return this.#hasRead;
  }

  async run({ config, node, lostVrfs = new Set() }: DesiredBgp, networks: ServicePrefixes): Promise<BgpResult> {
    const profiles = [...config.bfdProfiles.values()].map(profileFragment);
    const peers = peerFragments(config, node);
    const extras = extrasFragment(config.extras);

    for (const vrf of lostVrfs) await this.#removeInstance(vrf);
    await this.#apply(BASE);
    for (const fragment of profiles) await this.#apply(fragment);
    await this.#applyPeers(peers);
    for (const [advertisement, why] of networks.rejected) this.#failures.push(this.#leftOut(advertisement, why));
    for (const { fragment, advertisements } of networks.classes.values()) await this.#applyClass(fragment, advertisements);
    await this.#applyServices(networks);

    const wanted = new Set([BASE, ...profiles, ...peers, ...(extras ? [extras] : [])].map(({ owner }) => owner));
    for (const owner of networks.classes.keys()) wanted.add(owner);
    for (const owner of this.#current.pending) for (const name of this.#current.services.get(owner)?.classes ?? []) wanted.add(name);
    await this.#removeOthers(wanted);
    if (extras) await this.#applyExtras(extras);

    const hasToRead = this.#current.isToBeRead || this.#changed === 0 || this.#changed > this.#networkLines;
    this.#hasRead = hasToRead || !(await this.#hasExpectedRoutes(networks));
    const { foreign, differed, restored = [], lost = [] } = await this.#pass.finish({ readBack: this.#hasRead });
    for (const { owner, line } of lost) this.#fail(owner, `FRR accepted "${line}" but it is missing from the running configuration`);
    const put = restored.map(({ owner, line }) => `${owner}: ${line}`);
    return { failures: this.#failures, changed: this.#changed, drift: [...this.#recreated, ...foreign, ...put, ...differed] };
  }

  /** The rest of the pass creates it again. */
  async #removeInstance(vrf: string): Promise<void> {
    const outcome = await this.#pass.rebuild([], (entry) => isInstanceIn(entry, vrf));
    this.#count(outcome);
    this.#isNew = true;
    const result = outcome.rejected ? `not created again: ${rejectionText(outcome.rejected)}` : "created again";
    if (outcome.sent > 0) this.#recreated.push(`BGP instance of VRF ${vrf}: bgpd did not know its interfaces; ${result}`);
  }

  /** Removes what blocks a neighbor's new owner. */
  async #makeRoom(peers: readonly Fragment[]): Promise<void> {
    const holders = new Map(peers.map((fragment) => [neighborOf(fragment)?.name, fragment]));
    const wanted = desiredLinePaths(peers);
    for (const [owner, fragment] of this.#current.live) {
      const neighbor = neighborOf(fragment);
      const holder = neighbor && holders.get(neighbor.name);
      if (!holder || holder.owner === owner) continue;
      if (neighborOf(holder)?.as === neighbor.as) await this.#apply({ owner, lines: onlyDesired(fragment.lines, wanted) });
      else await this.#remove(owner);
    }
  }

  async #applyPeers(peers: readonly Fragment[]): Promise<void> {
    await this.#makeRoom(peers);
    for (const fragment of peers) {
      const outcome = await this.#apply(fragment);
      if (!outcome?.rebuild) continue;
      // Another AS number for the node's instance: FRR drops the old instance with everything in it.
      this.#isNew = true;
      this.#note(fragment, await this.#pass.rebuild([fragment]));
      for (const other of peers) if (other !== fragment) await this.#apply(other);
      for (const peer of peers) if (this.#current.live.get(peer.owner) !== peer) await this.#remove(peer.owner);
      return;
    }
  }

  async #applyClass(fragment: Fragment, advertisements: ReadonlySet<string>): Promise<void> {
    const { rejected } =
      (await this.#apply(fragment, (message) => {
        for (const name of advertisements) this.#fail(`BGPAdvertisement/${name}`, message);
      })) ?? {};
    if (rejected) this.#rejectedClasses.add(fragment.owner);
  }

  async #applyServices(networks: ServicePrefixes): Promise<void> {
    const { services, pending } = this.#current;
    if (this.#isNew) for (const owner of networks.services.keys()) pending.add(owner);
    for (const owner of pending) {
      const lines = networks.services.get(owner);
      this.#touch(services.get(owner));
      this.#touch(lines);
      if (!lines) {
        if (services.has(owner)) this.#networkLines += await this.#remove(owner);
        if (!services.has(owner)) pending.delete(owner);
        continue;
      }
      const isRejected = lines.classes.some((name) => this.#rejectedClasses.has(name)) || (await this.#isServiceRejected(owner, lines));
      if (!isRejected) pending.delete(owner);
      // It keeps its last good version, unless that belonged to a removed instance.
      else if (this.#isNew) await this.#remove(owner);
    }
  }

  /** Whether FRR's routes match the lines of Services. */
  async #hasExpectedRoutes(networks: ServicePrefixes): Promise<boolean> {
    if (this.#touched.size > MAX_SINGLE_READS) return false;
    const checks = Array.from(this.#touched.values(), async (route) => {
      // A wrong answer shows when everything is read.
      const tag = await this.#current.tagOf(route).catch(() => NaN);
      return tag === networks.tagOf(route);
    });
    return (await Promise.all(checks)).every(Boolean);
  }

  #touch(lines: ServiceLines | undefined): void {
    for (const route of lines?.routes ?? []) this.#touched.set(`${route.vrf} ${route.prefix}`, route);
  }

  async #isServiceRejected(owner: string, lines: ServiceLines): Promise<boolean> {
    const outcome = await this.#pass.apply(lines.fragment);
    this.#count(outcome);
    if (outcome.rejected) this.#fail(owner, rejectionText(outcome.rejected));
    else {
      this.#current.services.set(owner, lines);
      this.#networkLines += outcome.sent;
    }
    return outcome.rejected !== undefined;
  }

  async #removeOthers(wanted: ReadonlySet<string>): Promise<void> {
    const leaving = [...this.#current.live.keys()].filter((owner) => !wanted.has(owner)).sort((a, b) => leavingRank(a) - leavingRank(b));
    for (const owner of leaving) await this.#remove(owner);
  }

  async #remove(owner: string): Promise<number> {
    const outcome = await this.#pass.remove(owner);
    this.#count(outcome);
    if (outcome.rejected) {
      this.#fail(owner, rejectionText(outcome.rejected));
      return 0;
    }
    this.#current.live.delete(owner);
    this.#current.services.delete(owner);
    return outcome.sent;
  }

  async #applyExtras(fragment: Fragment): Promise<void> {
    this.#note(fragment, await this.#pass.applyRaw(fragment));
  }

  async #apply(fragment: Fragment, blame?: (text: string) => void): Promise<FragmentOutcome> {
    const outcome = await this.#pass.apply(fragment);
    if (!outcome.rebuild) this.#note(fragment, outcome, blame);
    return outcome;
  }

  #note(fragment: Fragment, outcome: FragmentOutcome, blame = (text: string) => this.#fail(fragment.owner, text)): void {
    this.#count(outcome);
    if (outcome.rejected) blame(rejectionText(outcome.rejected));
    else this.#current.live.set(fragment.owner, fragment);
  }

  #count({ sent }: FragmentOutcome): void {
    this.#changed += sent;
  }

  #fail(owner: string, message: string): void {
    const [kind = "", ...rest] = owner.split("/");
    const name = rest.pop() ?? "";
    const namespace = rest[0] ?? this.#current.namespace;
    this.#failures.push({ kind, name, namespace, reason: "ApplicationFailed", field: "", message, class: "Permanent" });
  }

  #leftOut(name: string, reasons: readonly string[]): Failure {
    const message = joinFirst(reasons, 1, { more: "; and " });
    const { namespace } = this.#current;
    return { kind: "BGPAdvertisement", name, namespace, reason: "ValidationFailed", field: "spec", message, class: "Permanent" };
  }
}

/** FRR identifies a peer by instance, address or interface, and AS number. */
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
