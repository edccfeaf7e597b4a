import { selects } from "../../api/core/label-selector.ts";
import type { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import type { Claim, RecordedClaim } from "../../resilience/claim.ts";
import { leftValues } from "../../resilience/claim-record.ts";
import { type Contender, settle } from "../../resilience/resolve-conflicts.ts";
import { type Claimant, claimsOf, kindOrder } from "./claims.ts";
import { selectorComplaints } from "../validate/selector.ts";

type Labels = Readonly<Record<string, string>>;

export interface ClaimsView {
  readonly claimants: readonly Claimant[];
  readonly nodes: readonly { readonly name: string; readonly labels: Labels }[];
  readonly reports: readonly RouterNodeConfigurationStatus[];
  readonly now: Date;
}

/**
 * Those that may forget what their spec has left: everything they ask for now is theirs on every node, and no node runs on what they asked for
 * before.
 */
export function releasing({ claimants, nodes, reports, now }: ClaimsView): Claimant[] {
  const leaving = claimants.filter((claimant) => hasLeft(claimant) && isUsable(claimant));
  if (leaving.length === 0) return [];
  const standings = standingsOf(leaving, reports);
  const decisions = new Decisions(claimants, now);
  const unknown = new Set(reports.filter(isUnknown).map(({ metadata }) => metadata.name));
  const released = (claimant: Claimant, node: ClaimsView["nodes"][number], live: ReadonlySet<string>) =>
    live.has(node.name) || !isFor(claimant, node.labels) || (!unknown.has(node.name) && decisions.winners(node).has(claimant));
  return leaving.filter((claimant) => {
    const { holds = false, live = new Set<string>() } = standings.get(ownerOf(claimant)) ?? {};
    return !holds && nodes.every((node) => released(claimant, node, live));
  });
}

interface Standing {
  /** A node runs on what it asked for before, or may yet come back to it. */
  holds: boolean;
  /** The nodes that run it as it is now. */
  readonly live: Set<string>;
}

function standingsOf(leaving: readonly Claimant[], reports: ClaimsView["reports"]): Map<string, Standing> {
  const generations = new Map(leaving.map((claimant) => [ownerOf(claimant), claimant.object.metadata.generation ?? 0]));
  const standings = new Map(leaving.map((claimant): [string, Standing] => [ownerOf(claimant), { holds: false, live: new Set() }]));
  for (const { metadata, status } of reports) {
    for (const { kind, name, generation, state } of status?.resources ?? []) {
      const standing = standings.get(`${kind}/${name}`);
      if (!standing || state === "Failed") continue;
      if (state === "Applied" && generation === generations.get(`${kind}/${name}`)) standing.live.add(metadata.name);
      else standing.holds = true;
    }
  }
  return standings;
}

/** A router that cannot be spoken to reports no resources, and may run on anything. */
function isUnknown({ status }: RouterNodeConfigurationStatus): boolean {
  return (
    status?.resources === undefined && (status?.conditions?.some(({ type, status }) => type === "Ready" && status !== "True") ?? false)
  );
}

function hasLeft(claimant: Claimant): boolean {
  return leftValues(claimsOf(claimant, undefined), recordOf(claimant)).length > 0;
}

/** What the nodes would decide, made out once for all nodes that the same objects are for. */
class Decisions {
  readonly #claimants: readonly Claimant[];
  readonly #now: Date;
  readonly #byNode = new Map<string, ReadonlySet<Claimant>>();
  readonly #byObjects = new Map<string, ReadonlySet<Claimant>>();

  constructor(claimants: readonly Claimant[], now: Date) {
    this.#claimants = claimants;
    this.#now = now;
  }

  winners({ name, labels }: { name: string; labels: Labels }): ReadonlySet<Claimant> {
    const known = this.#byNode.get(name);
    if (known) return known;
    const here = this.#claimants.filter((one) => isFor(one, labels));
    const objects = here.map(ownerOf).join(" ");
    const winners = this.#byObjects.get(objects) ?? this.#decide(here);
    this.#byObjects.set(objects, winners);
    this.#byNode.set(name, winners);
    return winners;
  }

  #decide(here: readonly Claimant[]): ReadonlySet<Claimant> {
    const underlays = this.#winnersOf(
      here.filter(({ kind }) => kind === "Underlay"),
      undefined,
    );
    const [underlay] = underlays;
    const asn = underlay?.kind === "Underlay" ? underlay.object.spec.asn : undefined;
    const others = this.#winnersOf(
      here.filter(({ kind }) => kind !== "Underlay"),
      asn,
    );
    return new Set([...underlays, ...others]);
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
function isFor(claimant: Claimant, labels: Labels): boolean {
  return !isUsable(claimant) || selects(claimant.object.spec.nodeSelector, labels);
}

export function recordOf({ object }: Claimant): readonly RecordedClaim[] {
  return object.status?.claims ?? [];
}

function ownerOf({ kind, object }: Claimant): string {
  return `${kind}/${object.metadata.name}`;
}
