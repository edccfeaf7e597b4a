import { selects } from "../../api/core/label-selector.ts";
import type { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import type { Claim } from "../../resilience/claim.ts";
import { releasedValues } from "../../resilience/claim-record.ts";
import { recordOf } from "../../resilience/claims-recorder.ts";
import { type ClaimingResource, resolveConflicts } from "../../resilience/resolve-conflicts.ts";
import { type ClaimOwner, claimsOf, kindOrder } from "./claims.ts";
import { selectorFieldProblems } from "../validate/selector.ts";

type Labels = Readonly<Record<string, string>>;

export interface ClaimsView {
  readonly claimants: readonly ClaimOwner[];
  readonly nodes: readonly { readonly name: string; readonly labels: Labels }[];
  readonly reports: readonly RouterNodeConfigurationStatus[];
  readonly now: Date;
}

/** Owners that may forget earlier values: all their current values are theirs on every node, and no node runs the earlier ones. */
export function releasableClaims({ claimants, nodes, reports, now }: ClaimsView): ClaimOwner[] {
  const leaving = claimants.filter((claimant) => hasLeft(claimant) && isUsable(claimant));
  if (leaving.length === 0) return [];
  const uses = reportedUses(leaving, reports);
  const decisions = new Decisions(claimants, now);
  const unknown = new Set(reports.filter(isUnknown).map(({ metadata }) => metadata.name));
  const released = (claimant: ClaimOwner, node: ClaimsView["nodes"][number], live: ReadonlySet<string>) =>
    live.has(node.name) || !isFor(claimant, node.labels) || (!unknown.has(node.name) && decisions.winners(node).has(claimant));
  return leaving.filter((claimant) => {
    const { isLiveBefore: holds = false, live = new Set<string>() } = uses.get(ownerOf(claimant)) ?? {};
    return !holds && nodes.every((node) => released(claimant, node, live));
  });
}

interface ReportedUse {
  /** A node runs the earlier values, or may return to them. */
  isLiveBefore: boolean;
  /** The nodes that run it as it is now. */
  readonly live: Set<string>;
}

function reportedUses(leaving: readonly ClaimOwner[], reports: ClaimsView["reports"]): Map<string, ReportedUse> {
  const generations = new Map(leaving.map((claimant) => [ownerOf(claimant), claimant.object.metadata.generation ?? 0]));
  const uses = new Map(leaving.map((claimant): [string, ReportedUse] => [ownerOf(claimant), { isLiveBefore: false, live: new Set() }]));
  for (const { metadata, status } of reports) {
    for (const { kind, name, generation, state } of status?.resources ?? []) {
      const use = uses.get(`${kind}/${name}`);
      if (!use || state === "Failed") continue;
      if (state === "Applied" && generation === generations.get(`${kind}/${name}`)) use.live.add(metadata.name);
      else use.isLiveBefore = true;
    }
  }
  return uses;
}

/** A router that does not answer reports no resources, and may still run any of them. */
function isUnknown({ status }: RouterNodeConfigurationStatus): boolean {
  return (
    status?.resources === undefined && (status?.conditions?.some(({ type, status }) => type === "Ready" && status !== "True") ?? false)
  );
}

function hasLeft(claimant: ClaimOwner): boolean {
  return releasedValues(claimsOf(claimant, undefined), recordOf(claimant)).length > 0;
}

/** What nodes decide, computed once per set of selecting objects. */
class Decisions {
  readonly #claimants: readonly ClaimOwner[];
  readonly #now: Date;
  readonly #byNode = new Map<string, ReadonlySet<ClaimOwner>>();
  readonly #byObjects = new Map<string, ReadonlySet<ClaimOwner>>();

  constructor(claimants: readonly ClaimOwner[], now: Date) {
    this.#claimants = claimants;
    this.#now = now;
  }

  winners({ name, labels }: { name: string; labels: Labels }): ReadonlySet<ClaimOwner> {
    const known = this.#byNode.get(name);
    if (known) return known;
    const here = this.#claimants.filter((one) => isFor(one, labels));
    const objects = here.map(ownerOf).join(" ");
    const winners = this.#byObjects.get(objects) ?? this.#decide(here);
    this.#byObjects.set(objects, winners);
    this.#byNode.set(name, winners);
    return winners;
  }

  #decide(here: readonly ClaimOwner[]): ReadonlySet<ClaimOwner> {
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

  #winnersOf(claimants: readonly ClaimOwner[], asn: number | undefined): ClaimOwner[] {
    const { effective } = resolveConflicts<readonly Claim[], ClaimResource>(
      claimants.map((claimant) => resourceOf(claimant, asn, this.#now)),
      { check: () => [], claims: (spec) => spec, kindOrder, now: this.#now },
    );
    return effective.filter(({ version }) => version === "current").map(({ resource: { claimant } }) => claimant);
  }
}

interface ClaimResource extends ClaimingResource<readonly Claim[]> {
  readonly claimant: ClaimOwner;
}

/** By the record, earlier values may still be in use. */
function resourceOf(claimant: ClaimOwner, asn: number | undefined, now: Date): ClaimResource {
  const { kind, object } = claimant;
  const { name, namespace = "", generation = 0, creationTimestamp } = object.metadata;
  const spec = claimsOf(claimant, asn);
  const left = releasedValues(spec, recordOf(claimant)).map(({ key, range }) => unnamed(key, range));
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
  return { key, field: "", subject: "", ...(range && { range }) };
}

function isUsable({ object }: ClaimOwner): boolean {
  return selectorFieldProblems(object.spec.nodeSelector).length === 0;
}

/** An object with an invalid selector may select any node. */
function isFor(claimant: ClaimOwner, labels: Labels): boolean {
  return !isUsable(claimant) || selects(claimant.object.spec.nodeSelector, labels);
}

function ownerOf({ kind, object }: ClaimOwner): string {
  return `${kind}/${object.metadata.name}`;
}
