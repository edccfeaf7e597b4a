import type { L3VNISpec } from "./model/specs.ts";
import { claimsOverlap } from "../resilience/claim.ts";
import type { Failure } from "../resilience/failure.ts";
import type { RouterPlan } from "./plan.ts";
import { withSubnets } from "./render/frr.ts";
import type { StepResult, ResourceStep } from "./model/step.ts";

/** Several at once are taken together: all as they ask, or all as before. */
type Walk<T> = Generator<readonly ResourceStep[], T, StepResult>;

/**
 * The steps of a plan in the order of the dependency tree: the Underlay; each L2VNI, followed by the L3VNI of its VRF; L3VNIs that stand by
 * themselves; the rest. Which is next depends on the results of those before. Those that wait for each other's values come together. An L3VNI comes again
 * if more or fewer subnets are there than it announces. Returned are those that could not be taken.
 */
export function applyOrder({ underlay, steps, ousted = [] }: Pick<RouterPlan, "underlay" | "steps" | "ousted">): Walk<Failure[]> {
  return new Traversal(steps, ousted).walk(underlay);
}

/** Every step as it ends when neither the kernel nor FRR rejects one, and the failures of those that are not taken. */
export function stepsIfAccepted(plan: RouterPlan): { steps: ResourceStep[]; failures: readonly Failure[] } {
  const steps = new Map<string, ResourceStep>();
  const walk = applyOrder(plan);
  let next = walk.next();
  while (!next.done) {
    for (const step of next.value) if (!step.leaves) steps.set(step.owner, step);
    next = walk.next("applied");
  }
  return { steps: [...steps.values()], failures: next.value };
}

class Traversal {
  readonly #steps: readonly ResourceStep[];
  /** The L2VNIs that are in a VRF, or were. */
  readonly #inVrf: ReadonlyMap<string | undefined, readonly ResourceStep[]>;
  readonly #outcomes = new Map<ResourceStep, StepResult>();
  /** Those that stayed as they were, and hold what they had. */
  readonly #stayed: ResourceStep[] = [];
  /** The L3VNIs that are live as asked, with the subnets that each announces. */
  readonly #announced = new Map<ResourceStep, string>();
  readonly #failures: Failure[] = [];
  readonly #l2vnis: readonly ResourceStep[];
  readonly #l3vnis: ReadonlyMap<string | undefined, ResourceStep>;
  /** By step: the steps that must first release what it claims; for a step that must release everything, the steps that claim it. */
  readonly #awaited: ReadonlyMap<ResourceStep, readonly ResourceStep[]>;
  readonly #ousted: readonly ResourceStep[];

  constructor(steps: readonly ResourceStep[], ousted: readonly ResourceStep[]) {
    this.#steps = steps;
    this.#awaited = leaversOf(steps, ousted);
    this.#ousted = ousted.filter((step) => this.#awaited.has(step));
    const leavers = new Set([...this.#awaited.values()].flat());
    const l2vnis = this.#of("L2VNI");
    this.#l2vnis = [...l2vnis.filter((step) => leavers.has(step)), ...l2vnis.filter((step) => !leavers.has(step))];
    this.#l3vnis = new Map(this.#of("L3VNI").map((step) => [step.vrf, step]));
    const present = [...this.#of("L2VNI"), ...this.#ousted.filter(({ kind }) => kind === "L2VNI")];
    const namespaces = present.flatMap((step) => [...new Set([step.vrf, step.previous?.vrf])].map((vrf) => ({ vrf, step })));
    const inVrf = Map.groupBy(namespaces, ({ vrf }) => vrf);
    this.#inVrf = new Map([...inVrf].map(([vrf, found]) => [vrf, found.map(({ step }) => step)]));
  }

  *walk(underlay: ResourceStep | undefined): Walk<Failure[]> {
    if (underlay && (yield [underlay]) !== "applied") return [];
    for (;;) {
      for (let taken = -1; taken < this.#outcomes.size;) {
        taken = this.#outcomes.size;
        yield* this.#round();
      }
      const circle = this.#circle();
      if (circle.length === 0) break;
      yield* this.#takeTogether(circle);
    }
    for (const [step, announced] of this.#announced) {
      if (announced !== this.#subnets(step).join(" ")) yield [this.#announcing(step)];
    }
    for (const step of this.#of("RawFRRConfig")) yield* this.#take(step);
    return this.#failures;
  }

  /** Takes the resources that are ready and not taken yet. The new owner of a value comes after the old one, which may fail to release it. */
  *#round(): Walk<void> {
    const isDue = (step: ResourceStep) =>
      !this.#outcomes.has(step) && (this.#awaited.get(step)?.every((leaver) => this.#outcomes.has(leaver)) ?? true);
    for (const l2vni of this.#l2vnis) {
      if (isDue(l2vni)) yield* this.#take(l2vni);
      const presence = this.#outcomes.has(l2vni) ? this.#presence(l2vni) : undefined;
      const l3vni = presence && this.#l3vnis.get(presence.vrf);
      if (l3vni && isDue(l3vni)) yield* this.#take(l3vni);
    }
    for (const step of this.#l3vnis.values()) {
      if (!isDue(step)) continue;
      if (!step.otherwise || this.#isThere(step.vrf)) yield* this.#take(step);
      else if ((this.#inVrf.get(step.vrf) ?? []).every((l2vni) => this.#outcomes.has(l2vni))) yield* this.#strand(step, step.otherwise);
    }
    for (const step of this.#of("L3Passthrough")) if (isDue(step)) yield* this.#take(step);
  }

  /** Of the remaining steps, some that wait only for each other; in the order in which they would be taken. */
  #circle(): ResourceStep[] {
    const left = [...this.#l2vnis, ...this.#of("L3VNI"), ...this.#of("L3Passthrough"), ...this.#ousted].filter(
      (step) => !this.#outcomes.has(step),
    );
    const [first] = left;
    if (!first) return [];
    const waitsFor = (step: ResourceStep): ResourceStep[] => {
      const l2vnis = step.otherwise && !this.#isThere(step.vrf) ? (this.#inVrf.get(step.vrf) ?? []) : [];
      return [...(this.#awaited.get(step) ?? []), ...l2vnis].filter((other) => !this.#outcomes.has(other));
    };
    let circle = reached(first, waitsFor);
    for (;;) {
      const inner = [...circle].map((step) => reached(step, waitsFor)).find(({ size }) => size < circle.size);
      if (!inner) return left.filter((step) => circle.has(step));
      circle = inner;
    }
  }

  *#takeTogether(circle: readonly ResourceStep[]): Walk<void> {
    const asking = circle.filter(({ leaves }) => !leaves);
    const blocked = new Map<ResourceStep, Failure>();
    for (const step of asking) {
      const holder = this.#stayed.find((other) => inTheWay(other, step));
      if (holder) blocked.set(step, conflict(step, holder));
    }
    for (const step of circle) this.#outcomes.set(step, step.leaves ? "no" : "applied");
    for (const step of asking) if (step.otherwise && !this.#isThere(step.vrf)) blocked.set(step, step.otherwise);

    const steps = circle.map((step) => (step.kind === "L3VNI" && !step.leaves ? this.#announcing(step) : step));
    if (blocked.size === 0 && (yield steps) === "applied") {
      for (const step of asking) if (step.kind === "L3VNI") this.#announced.set(step, this.#subnets(step).join(" "));
      return;
    }
    for (const step of circle) this.#note(step, step.previous ? "previous" : "no");
    if (blocked.size === 0) return;
    const [cause] = blocked.keys();
    for (const step of asking) this.#failures.push(blocked.get(step) ?? waiting(step, circle, cause as ResourceStep));
    for (const step of circle) if (step.previous && (yield [previousOf(step)]) === "no") this.#outcomes.set(step, "no");
  }

  *#strand(step: ResourceStep, failure: Failure): Walk<void> {
    this.#failures.push(failure);
    const stays = this.#canStay(step) && (yield [previousOf(step)]) !== "no";
    this.#note(step, stays ? "previous" : "no");
  }

  *#take(step: ResourceStep): Walk<void> {
    const holder = this.#stayed.find((other) => inTheWay(other, step));
    if (holder) {
      this.#failures.push(conflict(step, holder));
      // Its current VRF blocks no other step.
      this.#note(step, step.previous && (yield [previousOf(step)]) !== "no" ? "previous" : "no");
      return;
    }
    const live = yield [step.kind === "L3VNI" ? this.#announcing(step) : step];
    this.#note(step, live);
    if (step.kind === "L3VNI" && live === "applied") this.#announced.set(step, this.#subnets(step).join(" "));
  }

  /** Whether an L3VNI could go on as it is now: its dependencies are there, and no other resource got its values. */
  #canStay({ previous, ...step }: ResourceStep): boolean {
    if (!previous) return false;
    const { hostsession } = previous.lastGood.spec as L3VNISpec;
    const given = [...this.#outcomes].filter(([{ owner }, live]) => owner !== step.owner && live === "applied");
    return (hostsession !== undefined || this.#isThere(previous.vrf)) && !given.some(([other]) => inTheWay({ previous }, other));
  }

  /** Whether an L2VNI is live in the VRF. */
  #isThere(vrf: string | undefined): boolean {
    return (this.#inVrf.get(vrf) ?? []).some((l2vni) => this.#outcomes.has(l2vni) && this.#presence(l2vni)?.vrf === vrf);
  }

  #note(step: ResourceStep, live: StepResult): void {
    this.#outcomes.set(step, live);
    if (live === "previous") this.#stayed.push(step);
  }

  #of(kind: ResourceStep["kind"]): ResourceStep[] {
    return this.#steps.filter((step) => step.kind === kind);
  }

  /** How the step is live now, or was before this traversal and is meant to be again. */
  #presence(step: ResourceStep): Pick<ResourceStep, "vrf" | "subnets"> | undefined {
    const live = this.#outcomes.get(step);
    if (live === "no") return undefined;
    return live === "previous" || step.leaves ? step.previous : step;
  }

  /** The subnets in the VRF of an L3VNI. One that has not had its turn counts where it was there before. */
  #subnets({ vrf }: ResourceStep): string[] {
    const l2vnis = (this.#inVrf.get(vrf) ?? []).filter((step) => this.#outcomes.has(step) || step.previous?.vrf === vrf);
    const there = l2vnis.map((step) => this.#presence(step)).filter((presence) => presence?.vrf === vrf);
    return [...new Set(there.flatMap((presence) => presence?.subnets ?? []))].sort();
  }

  #announcing(step: ResourceStep): ResourceStep {
    const { rendered } = step;
    return { ...step, rendered: { ...rendered, fragment: withSubnets(rendered.fragment, this.#subnets(step)) } };
  }
}

function previousOf({ previous, otherwise: _, leaves: __, ...step }: ResourceStep): ResourceStep {
  if (!previous) return step;
  const { generation, spec, rendered } = previous.lastGood;
  return { ...step, ...previous, generation, spec, rendered, state: "kept", previous };
}

/** For a step that asks for values that others release: those others. For an ousted step: those that ask for its values. */
function leaversOf(steps: readonly ResourceStep[], ousted: readonly ResourceStep[]): Map<ResourceStep, ResourceStep[]> {
  const claimed = Map.groupBy(
    [...steps, ...ousted].flatMap((step) => (step.previous?.claims ?? []).map((claim) => ({ step, claim }))),
    ({ claim }) => claim.key,
  );
  const awaited = new Map<ResourceStep, ResourceStep[]>();
  const link = (step: ResourceStep, other: ResourceStep) => {
    const others = awaited.get(step) ?? [];
    if (!others.includes(other)) awaited.set(step, [...others, other]);
  };
  for (const step of steps) {
    const met = (step.claims ?? []).flatMap((wanted) =>
      (claimed.get(wanted.key) ?? []).filter(({ claim }) => claimsOverlap(claim, wanted)),
    );
    for (const { step: other } of met) {
      if (other === step) continue;
      link(step, other);
      if (other.leaves) link(other, step);
    }
  }
  return awaited;
}

function reached(start: ResourceStep, next: (step: ResourceStep) => readonly ResourceStep[]): Set<ResourceStep> {
  const found = new Set([start]);
  for (const step of found) for (const other of next(step)) found.add(other);
  return found;
}

/** Why a step is not taken when one of those that it was to be taken with cannot be. */
export function waiting(step: ResourceStep, circle: readonly ResourceStep[], cause: ResourceStep): Failure {
  const holder = circle.find((other) => other !== step && inTheWay(other, step));
  if (holder) return conflict(step, holder);
  const { kind, name, namespace } = step;
  const message = `${cause.kind} ${cause.name} failed, and both must change together`;
  return { kind, name, namespace, reason: "DependencyFailed", field: "", message, class: "Transient" };
}

/** Whether the live version of the first holds a claim of the second. */
function inTheWay({ previous }: Pick<ResourceStep, "previous">, { claims = [] }: ResourceStep): boolean {
  return previous?.claims?.some((claimed) => claims.some((wanted) => claimsOverlap(claimed, wanted))) ?? false;
}

function conflict({ kind, name, namespace, claims = [] }: ResourceStep, holder: ResourceStep): Failure {
  const claim = claims.find((wanted) => holder.previous?.claims?.some((claimed) => claimsOverlap(claimed, wanted)));
  const message = `${claim?.subject} conflicts with ${holder.kind} ${holder.name}, which failed to release it`;
  return { kind, name, namespace, reason: "ValidationFailed", field: claim?.field ?? "", message, class: "Transient" };
}
