import type { ApiDialect, L2VNISpec, L3VNISpec, PassthroughSpec, UnderlaySpec } from "./model/specs.ts";
import { byKindAndName, compare } from "../util/compare.ts";
import type { Failure } from "../resilience/failure.ts";
import { resolveConflicts } from "../resilience/resolve-conflicts.ts";
import { kindOrder, underlayClaims } from "./claims/claims.ts";
import { type RouterCandidate, candidates, failures } from "./candidates.ts";
import type { Family } from "../ip/address.ts";
import { type UnderlayFacts, fabricOf, renderUnderlay } from "./render/resource.ts";
import type { ObservedNode } from "./model/observed.ts";
import { planOverlay } from "./plan-overlay.ts";
import { rawFragment } from "./render/frr.ts";
import type { RouterKind, ResourceStep } from "./model/step.ts";
import { lostNics, underlayProblems } from "./validate/underlay.ts";
import type { FieldProblem } from "./validate/field-error.ts";
import { rawConfigProblems } from "./validate/vni.ts";

export interface SelectedResource {
  readonly kind: RouterKind;
  readonly name: string;
  readonly generation: number;
  /** Missing: v0.1. */
  readonly api?: ApiDialect;
}

export interface RouterPlan {
  readonly underlay: ResourceStep | undefined;
  /** VNIs, passthrough, raw configurations in their order of age; traverse() says which comes when. */
  readonly steps: readonly ResourceStep[];
  /** Live resources that must make room for older claims, once those are live. */
  readonly ousted?: readonly ResourceStep[];
  /** Sorted, including those of kept resources. If the plan is stopped, only the Underlays'. */
  readonly failures: readonly Failure[];
  /** The node's Underlay failed validation: nothing is changed, and the last good state is kept. */
  readonly stopped?: Failure;
  /** The failures of other resources, if the plan is stopped. */
  readonly skipped?: readonly Failure[];
  /** Every resource that selects this node, with the generation it has now. */
  readonly selected: readonly SelectedResource[];
}

export function plan(observed: ObservedNode): RouterPlan {
  const { underlays, l2vnis, l3vnis, passthroughs, rawConfigs } = observed.objects;
  const desired = {
    underlays: candidates<UnderlaySpec>("Underlay", underlays, observed),
    overlay: [
      ...candidates<L3VNISpec>("L3VNI", l3vnis, observed),
      ...candidates<L2VNISpec>("L2VNI", l2vnis, observed),
      ...candidates<PassthroughSpec>("L3Passthrough", passthroughs, observed),
    ],
    raw: candidates("RawFRRConfig", rawConfigs, observed),
  };
  const selected = [...desired.underlays, ...desired.overlay, ...desired.raw]
    .map(({ kind, name, generation, reading }): SelectedResource => {
      const resource = { kind, name, generation };
      return reading?.api === "v0.2" ? Object.assign(resource, { api: reading.api }) : resource;
    })
    .sort(inKindOrder);

  const root = planUnderlay(desired.underlays, observed);
  const overlay = planOverlay(desired.overlay, root, observed);
  const raw = planRaw(desired.raw);
  const others = [...overlay.failures, ...raw.failures].sort(inOrder);
  if (root.stopped) {
    return { underlay: undefined, steps: [], failures: root.failures, stopped: root.stopped, skipped: others, selected };
  }
  return {
    underlay: root.stepWith?.(hostFamilies(overlay.steps)),
    steps: [...overlay.steps, ...raw.steps],
    ...(overlay.ousted.length > 0 && { ousted: overlay.ousted }),
    failures: [...root.failures, ...others].sort(inOrder),
    selected,
  };
}

interface Root {
  readonly failures: readonly Failure[];
  readonly stopped?: Failure;
  readonly stepWith?: (hosts: readonly Family[]) => ResourceStep;
  readonly fabric?: UnderlayFacts;
}

/** The families of the routes that the hosts of the node exchange with the fabric. */
function hostFamilies(overlay: readonly ResourceStep[]): Family[] {
  const sessions = overlay.flatMap(({ kind, spec }) => (kind === "L3Passthrough" ? [(spec as PassthroughSpec).hostsession] : []));
  return ([4, 6] as const).filter((family) => sessions.some(({ localcidr }) => localcidr[`ipv${family}`]));
}

function planUnderlay(underlays: readonly RouterCandidate<UnderlaySpec>[], observed: ObservedNode): Root {
  const resolved = resolveConflicts<UnderlaySpec, RouterCandidate<UnderlaySpec>>(underlays, {
    check: (spec, candidate) =>
      failures("ValidationFailed", candidate, [...candidate.objectProblems, ...underlayProblems(spec, aboutOf(candidate), observed)]),
    claims: underlayClaims,
    kindOrder,
    now: observed.now,
  });
  const found = resolved.failures.toSorted(inOrder);
  const [own] = resolved.effective;
  if (!own) return { failures: found, ...(found[0] && { stopped: found[0] }) };
  if (own.version === "kept") {
    const stopped = found.find(({ name }) => name === own.resource.name);
    return { failures: found, ...(stopped && { stopped }) };
  }
  const { resource, spec } = own;
  const { owner, name, namespace, uid, generation, lastGood, reading } = resource;
  const fabric = fabricOf(name, spec, observed);
  const lost = lostNics(spec, lastGood?.spec, observed.interfaces);
  // In v0.1 a session has the family of its address only.
  const unicastOf = (hosts: readonly Family[]): Family[] =>
    reading?.api === "v0.2" ? [...(fabric.vtep ? [fabric.vtep.address.family] : []), ...hosts] : [];
  const stepWith = (hosts: readonly Family[]): ResourceStep => ({
    owner,
    kind: "Underlay",
    name,
    namespace,
    uid,
    generation,
    spec,
    state: "current",
    rendered: renderUnderlay(owner, spec, fabric, { ...observed, lost, unicast: unicastOf(hosts) }),
    ...(lastGood && { previous: { lastGood } }),
  });
  return { failures: [...found, ...failures("ValidationFailed", resource, lostNicProblems(spec, name, lost))], stepWith, fabric };
}

function aboutOf({ annotations, reading, lastGood }: RouterCandidate<UnderlaySpec>) {
  return { annotations, writtenAs: reading?.writtenAs, live: lastGood?.spec };
}

function lostNicProblems({ nics = [] }: UnderlaySpec, underlay: string, lost: readonly string[]): FieldProblem[] {
  return lost.map((nic) => ({
    field: `spec.nics[${nics.indexOf(nic)}]`,
    message: `Interface ${nic} not present on node; the other interfaces of Underlay ${underlay} are in use. Restore it, or remove it from the Underlay`,
    transient: true,
  }));
}

/** Raw configurations claim nothing. They come last, by priority. */
function planRaw(raw: readonly RouterCandidate<{ rawConfig: string; priority: number }>[]): { steps: ResourceStep[]; failures: Failure[] } {
  const all: Failure[] = [];
  const steps = raw
    .toSorted((a, b) => a.spec.priority - b.spec.priority || compare(a.name, b.name))
    .flatMap((candidate): ResourceStep[] => {
      const { owner, kind, name, namespace, uid, generation, spec, lastGood } = candidate;
      const found = failures("ValidationFailed", candidate, [...candidate.objectProblems, ...rawConfigProblems(spec)]);
      all.push(...found);
      const previous = lastGood && { previous: { lastGood } };
      const common = { owner, kind, name, namespace, uid, ...previous };
      if (found.length === 0) {
        return [{ ...common, generation, spec, state: "current", rendered: { fragment: rawFragment(owner, spec), links: [] } }];
      }
      return lastGood
        ? [{ ...common, generation: lastGood.generation, spec: lastGood.spec, state: "kept", rendered: lastGood.rendered }]
        : [];
    });
  return { steps, failures: all };
}

/** The order of resources in a plan and in the status. */
export const inKindOrder = byKindAndName(["Underlay", "L2VNI", "L3VNI", "L3Passthrough", "RawFRRConfig"]);

function inOrder(a: Failure, b: Failure): number {
  return inKindOrder(a, b) || compare(a.field, b.field) || compare(a.message, b.message);
}
