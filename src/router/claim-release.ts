import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import type { Underlay } from "../api/openpe/underlay.ts";
import type { Claim, RecordedClaim } from "../resilience/claim.ts";
import { leftValues } from "../resilience/record.ts";
import { type Contender, settle } from "../resilience/settle.ts";
import { type Claimant, claimsOf, kindOrder } from "./claims.ts";
import { selectorComplaints, selects } from "./select.ts";

export interface ClaimsView {
  readonly claimants: readonly Claimant[];
  readonly nodes: readonly { readonly name: string; readonly labels: Readonly<Record<string, string>> }[];
  readonly reports: readonly RouterNodeConfigurationStatus[];
  readonly now: Date;
}

/**
 * Those that may forget what their spec has left: everything they ask for now is theirs on every node, and no node runs on what they asked for
 * before.
 */
export function releasing({ claimants, nodes, reports, now }: ClaimsView): Claimant[] {
  const reported = new Map<string, Standing>();
  for (const report of reports) {
    for (const { kind, name, generation, state } of report.status?.resources ?? []) {
      const standing = at(reported, `${kind}/${name}`);
      standing.push({ node: report.metadata.name, generation, state });
    }
  }
  const hopeful = claimants.filter((claimant) => {
    const { generation = 0 } = claimant.object.metadata;
    return hasLeft(claimant) && isUsable(claimant) && !(reported.get(ownerOf(claimant)) ?? []).some((one) => runsOnOld(one, generation));
  });
  if (hopeful.length === 0) return [];

  const groups = new Groups(claimants, now);
  return hopeful.filter((claimant) => {
    const { generation = 0 } = claimant.object.metadata;
    const live = new Set(
      (reported.get(ownerOf(claimant)) ?? [])
        .filter((one) => one.state === "Applied" && one.generation === generation)
        .map(({ node }) => node),
    );
    return nodes.every(({ name, labels }) => live.has(name) || !isFor(claimant, labels) || groups.wins(claimant, labels));
  });
}

type Standing = { node: string; generation: number; state: string }[];

function runsOnOld({ generation, state }: Standing[number], current: number): boolean {
  return state === "KeptPrevious" || state === "Rebuilding" || (state === "Applied" && generation < current);
}

function hasLeft(claimant: Claimant): boolean {
  return leftValues(claimsOf(claimant, undefined), recordOf(claimant)).length > 0;
}

/** What the nodes would decide, once for all nodes that the same objects are for. */
class Groups {
  readonly #claimants: readonly Claimant[];
  readonly #now: Date;
  readonly #winners = new Map<string, ReadonlySet<Claimant>>();

  constructor(claimants: readonly Claimant[], now: Date) {
    this.#claimants = claimants;
    this.#now = now;
  }

  wins(claimant: Claimant, labels: Readonly<Record<string, string>>): boolean {
    const here = this.#claimants.filter((one) => isFor(one, labels));
    const key = here.map(ownerOf).join(" ");
    const winners = this.#winners.get(key) ?? this.#decide(here);
    this.#winners.set(key, winners);
    return winners.has(claimant);
  }

  #decide(here: readonly Claimant[]): ReadonlySet<Claimant> {
    const underlays = this.#winnersOf(
      here.filter(({ kind }) => kind === "Underlay"),
      undefined,
    );
    const [underlay] = underlays;
    const asn = (underlay?.object as Underlay | undefined)?.spec.asn;
    return new Set([
      ...underlays,
      ...this.#winnersOf(
        here.filter(({ kind }) => kind !== "Underlay"),
        asn,
      ),
    ]);
  }

  #winnersOf(claimants: readonly Claimant[], asn: number | undefined): Claimant[] {
    const { effective } = settle<readonly Claim[], ClaimContender>(
      claimants.map((claimant) => contenderOf(claimant, asn, this.#now)),
      { check: () => [], claims: (spec) => spec, kindOrder, now: this.#now },
    );
    return effective.filter(({ form }) => form === "current").map(({ contender: { claimant } }) => claimant);
  }
}

interface ClaimContender extends Contender<readonly Claim[]> {
  readonly claimant: Claimant;
}

/** As far as the record tells, what an object has left is still its own somewhere. */
function contenderOf(claimant: Claimant, asn: number | undefined, now: Date): ClaimContender {
  const { kind, object } = claimant;
  const { name, namespace = "", generation = 0, creationTimestamp } = object.metadata;
  const spec = claimsOf(claimant, asn);
  const left = leftValues(spec, recordOf(claimant)).map(({ key, range }) => unnamed(key, range));
  return {
    claimant,
    kind,
    namespace,
    name,
    generation,
    created: creationTimestamp === undefined ? now : new Date(creationTimestamp),
    spec,
    recorded: recordOf(claimant),
    ...(left.length > 0 ? { lastGood: { spec: left, generation: generation - 1 } } : {}),
  };
}

function unnamed(key: string, range: Claim["range"]): Claim {
  return { key, field: "", words: "", ...(range && { range }) };
}

function isUsable({ object }: Claimant): boolean {
  return selectorComplaints(object.spec.nodeSelector).length === 0;
}

/** One whose selector cannot be understood may be anywhere. */
function isFor(claimant: Claimant, labels: Readonly<Record<string, string>>): boolean {
  return !isUsable(claimant) || selects(claimant.object.spec.nodeSelector, labels);
}

export function recordOf({ object }: Claimant): readonly RecordedClaim[] {
  return object.status?.claims ?? [];
}

function ownerOf({ kind, object }: Claimant): string {
  return `${kind}/${object.metadata.name}`;
}

function at<K, T>(groups: Map<K, T[]>, key: K): T[] {
  const group = groups.get(key) ?? [];
  if (group.length === 0) groups.set(key, group);
  return group;
}
