import type { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { Address } from "../../ip/address.ts";
import type { EventText } from "../../kube/event-correlator.ts";
import type { Allocator, Held, Refusal } from "../allocator/allocator.ts";
import { isSameSet } from "../allocator/prospects.ts";
import { readService } from "../services/read-services.ts";
import { isOurs, readWish, type Wish } from "../services/address-request.ts";
import { annotatedPool, type Shown, withoutRequests } from "./service-patch.ts";

export interface Desk {
  readonly allocator: Allocator;
  readonly lbClass: string | undefined;
  /** Whether there is any IPAddressPool at all, sound or not. */
  readonly hasPools: boolean;
  /** Whether the Service shows the address, or may in a moment. */
  readonly isShown: (key: string, address: Address) => boolean;
}

export interface Decision {
  /** What the Service is to show; undefined: whatever it shows. */
  readonly wanted?: Shown;
  /** Why it does not have all that it asks for. */
  readonly refused?: EventText;
  /** What happened to it in the allocator. */
  readonly tidings: readonly EventText[];
  /** Annotations with the old prefix that it uses. */
  readonly deprecated: readonly string[];
}

/** Which addresses a Service has from now on. Everything is decided, and held in the allocator, before anyone is told. */
export function decide(service: Service, desk: Desk): Decision {
  if (!isOurs(service, desk.lbClass)) return leave(service, desk);
  // Where we are not to hand out anything, someone else may.
  if (!desk.hasPools && annotatedPool(service) === undefined) {
    return { ...quiet, refused: failed({ refused: "there is no IPAddressPool", tried: [] }) };
  }
  const read = readWish(service);
  if ("refused" in read) return unreadable(service, { type: "Warning", ...read.refused }, desk);
  return new Deciding(service, read.wish, desk).decision(read.deprecated);
}

/** It is none of ours, or no longer. */
function leave(service: Service, desk: Desk): Decision {
  const { allocator } = desk;
  const key = keyOf(service);
  const had = allocator.held(key) !== undefined;
  if (had || service.spec.type !== "LoadBalancer") allocator.release(key);
  const isMarked = annotatedPool(service) !== undefined;
  // What one of another class shows may be what another gave it.
  const isLeft = service.spec.type === "LoadBalancer" ? had && isMarked : had || isMarked;
  if (isLeft) return { wanted: nothing, ...quiet };
  occupy(service, desk);
  return quiet;
}

/** What one of another class shows is in use, whoever gave it. */
function occupy(service: Service, { allocator, isShown }: Pick<Desk, "allocator" | "isShown">): void {
  if (service.spec.type === "LoadBalancer") allocator.occupy(anonymous(service), readService(service, []).addresses, isShown);
}

/** All that counts of a Service which asks someone else. */
function anonymous({ metadata }: Service): Wish {
  const { uid = "", namespace = "", creationTimestamp } = metadata;
  const created = new Date(creationTimestamp ?? NaN);
  const sharing = { key: "", backend: "", ports: [] };
  return { key: keyOf({ metadata }), uid, created, namespace, labels: {}, families: [4, 6], policy: "SingleStack", sharing };
}

/** Only what it carries already; what becomes of one that cannot have it is decided when everyone has been heard. */
export function reclaim(service: Service, desk: Pick<Desk, "allocator" | "lbClass" | "isShown">): void {
  const { allocator, lbClass } = desk;
  if (!isOurs(service, lbClass)) return occupy(service, desk);
  const has = readService(service, []).addresses;
  if (has.length === 0) return;
  const read = readWish(withoutRequests(service));
  if ("refused" in read) return;
  const fitting = has.filter(({ family }) => read.wish.families.includes(family));
  if (fitting.length > 0) allocator.reclaim(read.wish, fitting);
}

const quiet = { tidings: [], deprecated: [] } as const;
const nothing: Shown = { addresses: [] };

/** What it has, or had until something of it was lost. */
function hasOf(service: Service, { allocator }: Pick<Desk, "allocator">): readonly Address[] {
  const held = allocator.held(keyOf(service));
  return held?.before ?? held?.addresses ?? readService(service, []).addresses;
}

/** What a Service has stays with it as long as it may be, whatever it asks for in words that nobody understands. */
function unreadable(service: Service, refused: EventText, { allocator }: Desk): Decision {
  const key = keyOf(service);
  const has = hasOf(service, { allocator });
  if (has.length === 0) return { refused, ...quiet };
  const bare = readWish(withoutRequests(service));
  const kept = "wish" in bare ? keep(bare.wish, has, allocator) : { refused: bare.refused.message };
  if (!("refused" in kept)) return { wanted: kept, refused, ...quiet };
  allocator.release(key);
  return { wanted: nothing, refused, ...quiet, tidings: [takenBack(has, kept.refused)] };
}

/** What it has, of the families that it still asks for. */
function keep(wish: Wish, has: readonly Address[], allocator: Allocator): Held | Refusal {
  const fitting = has.filter(({ family }) => wish.families.includes(family));
  if (fitting.length > 0) return allocator.claim(standing(wish), fitting);
  return { refused: `the Service has no cluster address of the family of ${has.join(", ")} any more`, tried: [] };
}

/** One Service on its way to what it asks for. */
class Deciding {
  readonly #service: Service;
  readonly #wish: Wish;
  readonly #allocator: Allocator;
  readonly #tidings: EventText[] = [];
  #refused: EventText | undefined;

  constructor(service: Service, wish: Wish, { allocator }: Desk) {
    this.#service = service;
    this.#wish = wish;
    this.#allocator = allocator;
  }

  decision(deprecated: readonly string[]): Decision {
    return {
      wanted: this.#assign(),
      ...(this.#refused && { refused: this.#refused }),
      tidings: this.#tidings,
      deprecated,
    };
  }

  #assign(): Shown {
    const has = hasOf(this.#service, { allocator: this.#allocator });
    if (has.length > 0) {
      const kept = this.#keep(has);
      if (kept) return this.#complete(kept);
    }
    if (this.#service.metadata.deletionTimestamp !== undefined) return nothing;
    const given = this.#allocator.allocate(this.#wish);
    if (!("refused" in given)) return given;
    this.#refused = failed(given);
    return nothing;
  }

  /** undefined where it has to let go of all that it has. */
  #keep(has: readonly Address[]): Held | undefined {
    const kept = keep(this.#wish, has, this.#allocator);
    if (!("refused" in kept)) return kept;
    this.#allocator.release(this.#wish.key);
    const rest = has.length > 1 ? this.#rest(has) : undefined;
    const lost = has.filter((address) => !rest?.addresses.some((one) => one.equals(address)));
    this.#tidings.push(takenBack(lost, kept.refused));
    return rest;
  }

  /** The one of two that it may still have, unless there are two others. */
  #rest(has: readonly Address[]): Held | undefined {
    const mayHaveOthers = this.#wish.families.length > 1 && this.#service.metadata.deletionTimestamp === undefined;
    if (mayHaveOthers && !("refused" in this.#allocator.allocate({ ...this.#wish, policy: "RequireDualStack" }))) return undefined;
    for (const address of has) {
      const kept = keep(this.#wish, [address], this.#allocator);
      if (!("refused" in kept)) return kept;
    }
    return undefined;
  }

  #complete(held: Held): Held {
    const { pool, addresses, policy, families } = this.#wish;
    if (pool !== undefined && pool !== held.pool) return this.#exchange(held);
    if (addresses && !isSameSet(addresses, held.addresses)) return this.#exchange(held);
    if (policy === "SingleStack" || families.length < 2 || held.addresses.length > 1 || addresses) return held;
    const extended = this.#allocator.extend(this.#wish);
    if (!("refused" in extended)) return extended;
    if (policy === "RequireDualStack") return this.#exchange(held);
    this.#refused = { type: "Normal", reason: "AdditionalAssignFailed", message: `No second address: ${extended.refused}` };
    return held;
  }

  /** Something else in place of what it has. Where that cannot be had, what works goes on working. */
  #exchange(held: Held): Held {
    const given = this.#allocator.exchange(this.#wish);
    if (!("refused" in given)) {
      this.#tidings.push(takenBack(held.addresses, "the Service asks for something else", ` of pool ${held.pool}`));
      return given;
    }
    this.#refused = failed(given, `; it keeps ${held.addresses.join(", ")}`);
    return held;
  }
}

function takenBack(addresses: readonly Address[], why: string, from = ""): EventText {
  return { type: "Normal", reason: "ClearAssignment", message: `${addresses.join(", ")}${from} is taken back: ${why}` };
}

/** What it may have already, whatever it asks for by name. */
function standing({ pool: _pool, addresses: _addresses, ...wish }: Wish): Wish {
  return wish;
}

function failed({ refused }: Refusal, rest = ""): EventText {
  return { type: "Warning", reason: "AllocationFailed", message: `No address: ${refused}${rest}` };
}
