import type { Failure } from "../resilience/failure.ts";
import type { LinkName } from "../hostnet/apply.ts";
import type { BackendError, LostLine } from "./backends.ts";
import { LinkOwners } from "./link-owners.ts";
import type { RouterPlan } from "./plan.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import type { ResourceStep } from "./model/step.ts";
import { joinFirst } from "../util/text.ts";

export interface ResourceChange {
  readonly owner: string;
  readonly links: number;
  readonly lines: number;
  /** It was applied before: the node was changed from outside. */
  readonly drift: boolean;
}

export interface RouterApplyResult {
  readonly failures: readonly Failure[];
  /** Rejected resources, by owner. */
  readonly rejected: ReadonlyMap<string, RejectedStep>;
  /** The generation that is live, by owner. */
  readonly live: ReadonlyMap<string, number>;
  /** The node's Underlay failed: everything else waits, and the last good state is kept. */
  readonly stopped?: Failure;
  /** In order; resources without changes are not listed. */
  readonly changes: readonly ResourceChange[];
  readonly foreign: readonly string[];
}

interface RejectedStep {
  /** It was to become live together with others, and all of them are as before. */
  readonly together: boolean;
  /** The kernel rejected a link of its own: it can be retried without affecting others. */
  readonly harmless: boolean;
}

/** What a step changed so far: commands to the kernel and lines sent to FRR. */
export interface Cost {
  links: number;
  lines: number;
}

/** Dependents first: VXLAN devices before what they depend on, FRR's default instance last. */
const REMOVAL_ORDER: readonly string[] = ["RawFRRConfig", "L3Passthrough", "L3VNI", "L2VNI", "Underlay"];

/** What is live, and what the pass has done so far. Accurate at any moment, also after an abort. */
export class PassRecord {
  readonly lastGood: Map<string, LastGoodResource>;
  readonly linkOwners: LinkOwners;
  readonly failures: Failure[] = [];
  readonly rejected = new Map<string, RejectedStep>();
  /** Owners that are not live as recorded in lastGood. */
  readonly broken = new Set<string>();
  readonly #plan: RouterPlan;
  readonly #changes: ResourceChange[];

  constructor(plan: RouterPlan, lastGood: Map<string, LastGoodResource>, changes: ResourceChange[]) {
    this.#plan = plan;
    this.#changes = changes;
    this.lastGood = lastGood;
    this.linkOwners = new LinkOwners(lastGood);
  }

  get selected(): ReadonlySet<string> {
    return new Set(this.#plan.selected.map(({ kind, name }) => `${kind}/${name}`));
  }

  note(owner: string, { links, lines }: Partial<Cost>, drift: boolean): void {
    if (links || lines) this.#changes.push({ owner, links: links ?? 0, lines: lines ?? 0, drift });
  }

  /** Returns links that no resource owns now. */
  setLive({ owner, uid, generation, spec, rendered }: ResourceStep): LinkName[] {
    this.lastGood.set(owner, { uid, generation, spec, rendered });
    return this.linkOwners.setLinks(owner, rendered.links);
  }

  /** Not of another object with the same name. */
  liveBefore({ owner, uid, leaves }: ResourceStep): [string, LastGoodResource][] {
    const lastGood = this.lastGood.get(owner);
    return lastGood && (leaves || lastGood.uid === uid) ? [[owner, lastGood]] : [];
  }

  inRemovalOrder(filter: (owner: string) => boolean = () => true): string[] {
    return [...this.lastGood.keys()].filter(filter).sort((a, b) => removalRank(a) - removalRank(b));
  }

  /** Whether it is known that the resource cannot be restored: its spec is unchanged. */
  isFailing(owner: string): boolean {
    const isOwn = ({ kind, name }: { kind: string; name: string }) => `${kind}/${name}` === owner;
    const isSame = this.#plan.selected.some((one) => isOwn(one) && one.generation === this.lastGood.get(owner)?.generation);
    return isSame && (this.#plan.failures.some(isOwn) || this.failures.some(isOwn));
  }

  /** Records what FRR had when everything was read back. */
  readBack({ restored = [], lost = [] }: { restored?: readonly LostLine[]; lost?: readonly LostLine[] }): void {
    for (const [owner, lines] of Map.groupBy(restored, ({ owner }) => owner)) this.note(owner, { lines: lines.length }, true);
    for (const [owner, lines] of Map.groupBy(lost, ({ owner }) => owner)) {
      if (!this.lastGood.has(owner)) continue;
      this.broken.add(owner);
      this.failures.push(linesLost(owner, lines));
    }
  }

  result({ stopped, foreign = [] }: { stopped?: Failure | undefined; foreign?: readonly string[] }): RouterApplyResult {
    const live = new Map<string, number>();
    for (const [owner, { generation }] of this.lastGood) if (!this.broken.has(owner)) live.set(owner, generation);
    return { failures: this.failures, rejected: this.rejected, live, changes: this.#changes, foreign, ...(stopped && { stopped }) };
  }
}

function removalRank(owner: string): number {
  return REMOVAL_ORDER.indexOf(owner.slice(0, owner.indexOf("/")));
}

const MAX_LISTED = 5;

export function applicationFailed({ kind, name, namespace }: ResourceStep, { message }: BackendError): Failure {
  return { kind, name, namespace, reason: "ApplicationFailed", field: "", message, class: "Transient" };
}

/** Named as `sysctl` names them. */
export function sysctlsUnwritable(owner: string, unwritable: ReadonlyMap<string, string>): Failure {
  const named = [...unwritable].map(([path, value]) => `${path.replaceAll("/", ".")} is ${value}`);
  return ofOwner(owner, `Cannot set sysctls in the router's namespace: ${joinFirst(named, MAX_LISTED)}. Set them on the node`);
}

export function removalFailed(owner: string, { message }: BackendError): Failure {
  return ofOwner(owner, `Removal failed: ${message}`);
}

export function cannotRestore(owner: string, { message }: BackendError): Failure {
  return ofOwner(owner, `Cannot restore the last good version: ${message}`);
}

/** Lines that FRR accepted, but that its running configuration does not show. */
function linesLost(owner: string, lines: readonly LostLine[]): Failure {
  const quoted = lines.map(({ line }) => `"${line}"`);
  const are = lines.length === 1 ? "it is" : "they are";
  return ofOwner(owner, `FRR accepted ${joinFirst(quoted, MAX_LISTED)} but ${are} missing from the running configuration`);
}

function ofOwner(owner: string, message: string): Failure {
  const [kind = "", name = ""] = owner.split("/");
  return { kind, name, namespace: "", reason: "ApplicationFailed", field: "", message, class: "Transient" };
}
