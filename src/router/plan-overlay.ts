import type { L2VNISpec, L3VNISpec, PassthroughSpec } from "./model/specs.ts";
import { parseInterfaceAddress } from "../ip/interface-address.ts";
import { type Claim, claimsOverlap } from "../resilience/claim.ts";
import type { Failure } from "../resilience/failure.ts";
import { resolveConflicts, type EffectiveResource } from "../resilience/resolve-conflicts.ts";
import { kindOrder, l2vniClaims, l3vniClaims, passthroughClaims } from "./claims/claims.ts";
import { vrfOf } from "./validate/names.ts";
import { type RouterCandidate, failures } from "./candidates.ts";
import type { Rendered } from "./model/rendered.ts";
import { type UnderlayFacts, renderL2VNI, renderL3VNI, renderPassthrough } from "./render/resource.ts";
import { isDue } from "./rejected-resources.ts";
import type { ObservedNode } from "./model/observed.ts";
import type { ResourceStep } from "./model/step.ts";
import type { FieldProblem } from "./validate/field-error.ts";
import { l2vniProblems, l3vniProblems, passthroughProblems } from "./validate/vni.ts";

type Spec = L2VNISpec | L3VNISpec | PassthroughSpec;
type Overlay = RouterCandidate<Spec>;

/** The Underlay of the node: one, none, or a failed one, for which everything waits. */
interface Root {
  readonly fabric?: UnderlayFacts;
  readonly stopped?: Failure;
}

interface Planned {
  readonly steps: ResourceStep[];
  readonly ousted: ResourceStep[];
  readonly failures: Failure[];
}

/** Which resource may have what it claims, and in which version. */
export function planOverlay(candidates: readonly Overlay[], root: Root, observed: ObservedNode): Planned {
  const overlay = new OverlayPlan(root, observed);
  const postponed = new Map<Overlay, Failure>(overlay.postponed(candidates));
  const without = new Map(postponed);
  for (;;) {
    const resolved = overlay.resolve(candidates, without);
    const stranded = overlay.stranded(resolved.effective).map((candidate) => [candidate, noL2VNI(candidate)] as const);
    const found = [...stranded, ...overlay.yielding(candidates, resolved.effective)].filter(([candidate]) => !without.has(candidate));
    const { effective } = resolved;
    // Its previous owner releases it for something else than what the rejected one has.
    const free = [...postponed].filter((one) => found.length === 0 && !one[0].lastGood && overlay.userOf(...one, effective) === "");
    for (const [candidate] of free) postponed.delete(candidate);
    for (const [candidate] of free) without.delete(candidate);
    if (found.length === 0 && free.length === 0) {
      const missing = effective.flatMap(({ resource }) => overlay.missing(resource));
      const users = new Map([...without].map(([candidate, failure]) => [failure, overlay.userOf(candidate, failure, effective)]));
      const isReportedAlready = (failure: Failure) => resolved.failures.some((other) => other !== failure && isOfSame(other, failure));
      const failures = resolved.failures.map((failure) => {
        const user = users.get(failure) ?? "";
        return user === "" || isReportedAlready(failure) ? failure : alsoSaying(failure, user);
      });
      const live = new Set(effective.map(({ resource }) => resource));
      const ousted = candidates.filter((candidate) => !live.has(candidate)).flatMap((candidate) => overlay.ousted(candidate));
      return { steps: effective.flatMap((one) => overlay.steps(one)), ousted, failures: [...failures, ...missing] };
    }
    for (const [candidate, failure] of found) without.set(candidate, failure);
  }
}

class OverlayPlan {
  readonly #fabric: UnderlayFacts | undefined;
  readonly #stopped: boolean;
  readonly #observed: ObservedNode;

  constructor({ fabric, stopped }: Root, observed: ObservedNode) {
    this.#fabric = fabric;
    this.#stopped = stopped !== undefined;
    this.#observed = observed;
  }

  resolve(candidates: readonly Overlay[], without: ReadonlyMap<Overlay, Failure>) {
    return resolveConflicts<Spec, Overlay>(candidates, {
      check: (spec, candidate) => {
        const failure = without.get(candidate);
        return [...this.#faults(spec, candidate), ...(failure ? [failure] : [])];
      },
      claims: (spec, candidate) => this.#claims(spec, candidate),
      kindOrder,
      now: this.#observed.now,
    });
  }

  /** L3VNIs that were edited into a VRF without an L2VNI, and would work in their current VRF. */
  stranded(effective: readonly EffectiveResource<Spec, Overlay>[]): Overlay[] {
    const vrfs = new Set(effective.filter(({ resource }) => resource.kind === "L2VNI").map(({ resource, spec }) => vrf(resource, spec)));
    const stands = (candidate: Overlay, spec: Spec) => !requiresL2VNI(candidate, spec) || vrfs.has(vrf(candidate, spec));
    return effective
      .filter(({ version, spec, resource }) => version === "current" && !stands(resource, spec))
      .map(({ resource }) => resource)
      .filter((candidate) => candidate.lastGood !== undefined && stands(candidate, candidate.lastGood.spec));
  }

  /** Rejected resources whose values another one has: that one is not affected before the retry is due. */
  postponed(candidates: readonly Overlay[]): [Overlay, Failure][] {
    return candidates.flatMap((candidate): [Overlay, Failure][] => {
      const rejected = this.#rejectionOf(candidate);
      if (!rejected || isDue(rejected, this.#observed.now) || !this.#isUsed(candidate, candidates)) return [];
      return [[candidate, rejected.failure]];
    });
  }

  /** Rejected resources that keep others from unused values: the others may have them. */
  yielding(candidates: readonly Overlay[], effective: readonly EffectiveResource<Spec, Overlay>[]): [Overlay, Failure][] {
    const rejected = effective.flatMap(({ resource, version }) => {
      const failure = version === "current" && !resource.lastGood ? this.#rejectionOf(resource)?.failure : undefined;
      return failure && !this.#isUsed(resource, candidates) ? [[resource, failure] as [Overlay, Failure]] : [];
    });
    if (rejected.length === 0) return [];
    const chosen = new Set(effective.filter(({ version }) => version === "current").map(({ resource }) => resource));
    const waiting = candidates.filter((one) => !chosen.has(one) && !this.#rejectionOf(one) && this.#faults(one.spec, one).length === 0);
    const wanted = waiting.flatMap((one) => this.#claims(one.spec, one));
    return rejected.filter(([one]) => this.#claims(one.spec, one).some((claim) => wanted.some((other) => claimsOverlap(claim, other))));
  }

  /** The message that names the owner of a value that a rejected resource asks for. */
  userOf(candidate: Overlay, failure: Failure, effective: readonly EffectiveResource<Spec, Overlay>[]): string {
    if (this.#rejectionOf(candidate)?.failure !== failure) return "";
    const wanted = this.#claims(candidate.spec, candidate);
    for (const { resource, spec } of effective) {
      const claims = resource === candidate ? [] : this.#claims(spec, resource);
      const used = wanted.find((claim) => claims.some((other) => claimsOverlap(claim, other)));
      if (used) return `${used.subject} is used by ${resource.kind} ${resource.name} until this can be applied`;
    }
    return "";
  }

  /** The live version of a resource that lost its values. */
  ousted(candidate: Overlay): ResourceStep[] {
    const { owner, kind, name, namespace, uid, lastGood } = candidate;
    if (!lastGood || !this.#fabric || this.missing(candidate).length > 0) return [];
    const { generation, spec, rendered } = lastGood;
    const previous = { ...this.#presence(spec, candidate), lastGood };
    return [{ owner, kind, name, namespace, uid, generation, spec, state: "kept", rendered, leaves: true, previous }];
  }

  /** Whether another resource is live with its values. */
  #isUsed(candidate: Overlay, candidates: readonly Overlay[]): boolean {
    const claims = this.#claims(candidate.spec, candidate);
    return candidates.some((other) => {
      if (other === candidate || !other.lastGood) return false;
      return this.#claims(other.lastGood.spec, other).some((used) => claims.some((claim) => claimsOverlap(used, claim)));
    });
  }

  #rejectionOf({ owner, uid, generation }: Overlay) {
    const rejected = this.#observed.rejections?.get(owner);
    return rejected?.uid === uid && rejected.generation === generation ? rejected : undefined;
  }

  #faults(spec: Spec, candidate: Overlay): Failure[] {
    return failures("ValidationFailed", candidate, [...candidate.objectProblems, ...this.#problems(spec, candidate)]);
  }

  /** What a resource lacks of the Underlay. */
  missing(candidate: Overlay): Failure[] {
    if (this.#stopped) return [];
    if (!this.#fabric) return [dependency(candidate, "", "No Underlay selects this node")];
    if (this.#fabric.vtep || candidate.kind === "L3Passthrough") return [];
    return [dependency(candidate, "", `Underlay ${this.#fabric.name} has no spec.evpn`)];
  }

  steps({ resource, spec, version }: EffectiveResource<Spec, Overlay>): ResourceStep[] {
    if (!this.#fabric || this.missing(resource).length > 0) return [];
    const { owner, kind, name, namespace, uid, generation, lastGood } = resource;
    const kept = version === "kept" ? lastGood : undefined;
    // A kept version moves along with the Underlay, unless it is invalid itself.
    const stands = !kept || this.#problems(spec, resource).length === 0;
    return [
      {
        owner,
        kind,
        name,
        namespace,
        uid,
        generation: kept?.generation ?? generation,
        spec,
        state: version,
        rendered: stands ? this.#render(spec, resource) : kept.rendered,
        ...this.#presence(spec, resource),
        ...(requiresL2VNI(resource, spec) && { otherwise: noL2VNI(resource, spec) }),
        ...(lastGood && { previous: { ...this.#presence(lastGood.spec, resource), lastGood } }),
      },
    ];
  }

  #presence(spec: Spec, candidate: Overlay): Pick<ResourceStep, "vrf" | "subnets" | "claims"> {
    const { l2gatewayips = [] } = candidate.kind === "L2VNI" ? (spec as L2VNISpec) : {};
    const inVrf = vrf(candidate, spec);
    return {
      ...(inVrf !== undefined && { vrf: inVrf }),
      subnets: l2gatewayips.map((gateway) => parseInterfaceAddress(gateway).prefix.toString()),
      claims: this.#claims(spec, candidate),
    };
  }

  #problems(spec: Spec, { kind, name }: Overlay): FieldProblem[] {
    if (kind === "L3Passthrough") return passthroughProblems(spec as PassthroughSpec, this.#observed, this.#fabric);
    if (kind === "L2VNI") return l2vniProblems(spec as L2VNISpec, name, this.#observed, this.#fabric);
    return l3vniProblems(spec as L3VNISpec, this.#observed, this.#fabric);
  }

  #claims(spec: Spec, { kind, name }: Overlay): Claim[] {
    if (kind === "L2VNI") return l2vniClaims(name, spec as L2VNISpec);
    if (kind === "L3VNI") return l3vniClaims(spec as L3VNISpec, this.#fabric?.asn);
    return passthroughClaims(spec as PassthroughSpec);
  }

  #render(spec: Spec, { kind, owner, name }: Overlay): Rendered {
    const fabric = this.#fabric as UnderlayFacts;
    if (kind === "L3Passthrough") return renderPassthrough(owner, spec as PassthroughSpec, fabric);
    const vtep = fabric.vtep as NonNullable<UnderlayFacts["vtep"]>;
    if (kind === "L2VNI") return renderL2VNI(owner, name, spec as L2VNISpec, vtep);
    return renderL3VNI(owner, spec as L3VNISpec, fabric, vtep);
  }
}

function alsoSaying(failure: Failure, text: string): Failure {
  return { ...failure, message: `${failure.message}; ${text}` };
}

function isOfSame(one: Failure, other: Failure): boolean {
  return one.kind === other.kind && one.name === other.name;
}

function vrf({ kind, name }: Overlay, spec: Spec): string | undefined {
  if (kind === "L3Passthrough") return undefined;
  return kind === "L2VNI" ? vrfOf(name, spec as L2VNISpec) : (spec as L3VNISpec).vrf;
}

function requiresL2VNI({ kind }: Overlay, spec: Spec): boolean {
  return kind === "L3VNI" && !(spec as L3VNISpec).hostsession;
}

function noL2VNI(candidate: Overlay, spec: Spec = candidate.spec): Failure {
  return dependency(candidate, "spec.vrf", `No healthy L2VNI exists for VRF '${vrf(candidate, spec)}'`);
}

function dependency({ kind, name, namespace }: Overlay, field: string, message: string): Failure {
  return { kind, name, namespace, reason: "DependencyFailed", field, message, class: "Transient" };
}
