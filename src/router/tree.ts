import type { L3VNI } from "../api/openpe/l3vni.ts";
import { meet } from "../resilience/claim.ts";
import type { Failure } from "../resilience/failure.ts";
import type { RouterPlan } from "./plan.ts";
import { announcing } from "./forms/fragments.ts";
import type { Live, Step } from "./step.ts";

type Walk<T> = Generator<Step, T, Live>;

/**
 * The steps of a plan in the order of the dependency tree: the Underlay; each L2VNI, followed by the L3VNI of its VRF; L3VNIs that stand by
 * themselves; the rest. Which is next depends on what became of those before. An L3VNI comes again if more or fewer subnets are there than it
 * announces. Returned are those that could not be taken.
 */
export function traverse({ underlay, steps }: Pick<RouterPlan, "underlay" | "steps">): Walk<Failure[]> {
  return new Traversal(steps).walk(underlay);
}

class Traversal {
  readonly #steps: readonly Step[];
  /** The L2VNIs that are in a VRF, or were. */
  readonly #inVrf: ReadonlyMap<string | undefined, readonly Step[]>;
  readonly #outcomes = new Map<Step, Live>();
  /** Those that stayed as they were, and hold what they had. */
  readonly #stayed: Step[] = [];
  /** The L3VNIs that are live as asked, with the subnets that each was told to announce. */
  readonly #announced = new Map<Step, string>();
  readonly #failures: Failure[] = [];
  readonly #l2vnis: readonly Step[];
  readonly #l3vnis: ReadonlyMap<string | undefined, Step>;
  /** Who has now what a step asks for, and is to leave it. */
  readonly #awaited: ReadonlyMap<Step, readonly Step[]>;

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
    this.#awaited = leaversOf(steps);
    const leavers = new Set([...this.#awaited.values()].flat());
    const l2vnis = this.#of("L2VNI");
    this.#l2vnis = [...l2vnis.filter((step) => leavers.has(step)), ...l2vnis.filter((step) => !leavers.has(step))];
    this.#l3vnis = new Map(this.#of("L3VNI").map((step) => [step.vrf, step]));
    const places = this.#of("L2VNI").flatMap((step) => [...new Set([step.vrf, step.previous?.vrf])].map((vrf) => ({ vrf, step })));
    const inVrf = Map.groupBy(places, ({ vrf }) => vrf);
    this.#inVrf = new Map([...inVrf].map(([vrf, found]) => [vrf, found.map(({ step }) => step)]));
  }

  *walk(underlay: Step | undefined): Walk<Failure[]> {
    if (underlay && (yield underlay) !== "asked") return [];
    for (let taken = -1; taken < this.#outcomes.size;) {
      taken = this.#outcomes.size;
      yield* this.#round((step) => this.#awaited.get(step)?.every((leaver) => this.#outcomes.has(leaver)) ?? true);
    }
    // Those that are left wait for each other.
    yield* this.#round(() => true);
    for (const [step, told] of this.#announced) {
      if (told !== this.#subnets(step).join(" ")) yield this.#announcing(step);
    }
    for (const step of this.#of("RawFRRConfig")) yield* this.#take(step);
    return this.#failures;
  }

  /** Takes what has its turn and has not been taken. Whoever is to have what another leaves comes after that one: it may not be able to leave. */
  *#round(hasItsTurn: (step: Step) => boolean): Walk<void> {
    const isDue = (step: Step) => !this.#outcomes.has(step) && hasItsTurn(step);
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

  *#strand(step: Step, failure: Failure): Walk<void> {
    this.#failures.push(failure);
    const stays = this.#canStay(step) && (yield previousOf(step)) !== "no";
    this.#note(step, stays ? "previous" : "no");
  }

  *#take(step: Step): Walk<void> {
    const holder = this.#stayed.find((other) => inTheWay(other, step));
    if (holder) {
      this.#failures.push(conflict(step, holder));
      // What it runs in now is in nobody's way.
      this.#note(step, step.previous && (yield previousOf(step)) !== "no" ? "previous" : "no");
      return;
    }
    const live = yield step.kind === "L3VNI" ? this.#announcing(step) : step;
    this.#note(step, live);
    if (step.kind === "L3VNI" && live === "asked") this.#announced.set(step, this.#subnets(step).join(" "));
  }

  /** Whether an L3VNI could go on as it is now: what it stands on is there, and nobody has been given what it has. */
  #canStay({ previous, ...step }: Step): boolean {
    if (!previous) return false;
    const { hostsession } = previous.lastGood.spec as L3VNI["spec"];
    const given = [...this.#outcomes].filter(([{ owner }, live]) => owner !== step.owner && live === "asked");
    return (hostsession !== undefined || this.#isThere(previous.vrf)) && !given.some(([other]) => inTheWay({ previous }, other));
  }

  /** Whether an L2VNI is live in the VRF. */
  #isThere(vrf: string | undefined): boolean {
    return (this.#inVrf.get(vrf) ?? []).some((l2vni) => this.#outcomes.has(l2vni) && this.#presence(l2vni)?.vrf === vrf);
  }

  #note(step: Step, live: Live): void {
    this.#outcomes.set(step, live);
    if (live === "previous") this.#stayed.push(step);
  }

  #of(kind: Step["kind"]): Step[] {
    return this.#steps.filter((step) => step.kind === kind);
  }

  /** How the step is live now, or was before this traversal and is meant to be again. */
  #presence(step: Step): Pick<Step, "vrf" | "subnets"> | undefined {
    const live = this.#outcomes.get(step);
    if (live === "no") return undefined;
    return live === "previous" ? step.previous : step;
  }

  /** The subnets in the VRF of an L3VNI. One that has not had its turn counts where it was there before. */
  #subnets({ vrf }: Step): string[] {
    const l2vnis = (this.#inVrf.get(vrf) ?? []).filter((step) => this.#outcomes.has(step) || step.previous?.vrf === vrf);
    const there = l2vnis.map((step) => this.#presence(step)).filter((presence) => presence?.vrf === vrf);
    return [...new Set(there.flatMap((presence) => presence?.subnets ?? []))].sort();
  }

  #announcing(step: Step): Step {
    const { form } = step;
    return { ...step, form: { ...form, fragment: announcing(form.fragment, this.#subnets(step)) } };
  }
}

function previousOf({ previous, otherwise: _, ...step }: Step): Step {
  if (!previous) return step;
  const { generation, spec, form } = previous.lastGood;
  return { ...step, ...previous, generation, spec, form, state: "kept", previous };
}

/** For whoever asks for a value that another gives up: the others. */
function leaversOf(steps: readonly Step[]): Map<Step, Step[]> {
  const held = Map.groupBy(
    steps.flatMap((step) => (step.previous?.claims ?? []).map((claim) => ({ step, claim }))),
    ({ claim }) => claim.key,
  );
  const leavers = steps.map((step): [Step, Step[]] => {
    const met = (step.claims ?? []).flatMap((asked) => (held.get(asked.key) ?? []).filter(({ claim }) => meet(claim, asked)));
    return [step, [...new Set(met.map((one) => one.step))].filter((other) => other !== step)];
  });
  return new Map(leavers.filter(([, others]) => others.length > 0));
}

/** Whether the other could not be what it asks while this one is as it was before. */
function inTheWay({ previous }: Pick<Step, "previous">, { claims = [] }: Step): boolean {
  return previous?.claims?.some((held) => claims.some((asked) => meet(held, asked))) ?? false;
}

function conflict({ kind, name, namespace, claims = [] }: Step, holder: Step): Failure {
  const claim = claims.find((asked) => holder.previous?.claims?.some((held) => meet(held, asked)));
  const message = `${claim?.words} conflicts with ${holder.kind} ${holder.name}, which could not leave it`;
  return { kind, name, namespace, reason: "ValidationFailed", field: claim?.field ?? "", message, class: "Transient" };
}
