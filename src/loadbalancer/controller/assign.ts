import type { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { Address } from "../../ip/address.ts";
import type { EventText } from "../../kube/event-correlator.ts";
import type { Allocator, Allocation, NoAddress } from "../allocator/allocator.ts";
import { isSameSet } from "../allocator/candidates.ts";
import { readService } from "../services/read-services.ts";
import { isOurs, addressRequestOf, type AddressRequest } from "../services/address-request.ts";
import { annotatedPool, type PublishedAddresses, withoutRequests } from "./service-patch.ts";

export interface AssignContext {
  readonly allocator: Allocator;
  readonly lbClass: string | undefined;
  /** Whether any IPAddressPool exists, valid or not. */
  readonly hasPools: boolean;
  /** Whether the Service publishes the address, or a pending write may. */
  readonly isShown: (key: string, address: Address) => boolean;
}

export interface Decision {
  /** The addresses to publish; undefined: leave them unchanged. */
  readonly wanted?: PublishedAddresses;
  /** Why it does not have all that it requests. */
  readonly refused?: EventText;
  /** Events about its allocation. */
  readonly tidings: readonly EventText[];
  /** Annotations with the old prefix that it uses. */
  readonly deprecated: readonly string[];
}

/** Decides the addresses of a Service. They are allocated in memory before anything is written. */
export function decide(service: Service, context: AssignContext): Decision {
  if (!isOurs(service, context.lbClass)) return leave(service, context);
  // Without any pool, another controller may assign addresses.
  if (!context.hasPools && annotatedPool(service) === undefined) {
    return { ...quiet, refused: failed({ refused: "no IPAddressPool exists", tried: [] }) };
  }
  const read = addressRequestOf(service);
  if ("refused" in read) return unreadable(service, { type: "Warning", ...read.refused }, context);
  return new Deciding(service, read.wish, context).decision(read.deprecated);
}

/** The Service is not ours, or no longer. */
function leave(service: Service, context: AssignContext): Decision {
  const { allocator } = context;
  const key = keyOf(service);
  const had = allocator.held(key) !== undefined;
  if (had || service.spec.type !== "LoadBalancer") allocator.release(key);
  const isMarked = annotatedPool(service) !== undefined;
  // A Service of another class may show addresses from another controller.
  const isLeft = service.spec.type === "LoadBalancer" ? had && isMarked : had || isMarked;
  if (isLeft) return { wanted: nothing, ...quiet };
  occupy(service, context);
  return quiet;
}

/** Addresses of a Service of another class count as in use. */
function occupy(service: Service, { allocator, isShown }: Pick<AssignContext, "allocator" | "isShown">): void {
  if (service.spec.type === "LoadBalancer") allocator.occupy(anonymous(service), readService(service, []).addresses, isShown);
}

/** The request of a Service that another controller serves. */
function anonymous({ metadata }: Service): AddressRequest {
  const { uid = "", namespace = "", creationTimestamp } = metadata;
  const created = new Date(creationTimestamp ?? NaN);
  const sharing = { key: "", backend: "", ports: [] };
  return { key: keyOf({ metadata }), uid, created, namespace, labels: {}, families: [4, 6], policy: "SingleStack", sharing };
}

/** Claims only the addresses it already has. Conflicts are decided after all Services are claimed. */
export function reclaim(service: Service, context: Pick<AssignContext, "allocator" | "lbClass" | "isShown">): void {
  const { allocator, lbClass } = context;
  if (!isOurs(service, lbClass)) return occupy(service, context);
  const has = readService(service, []).addresses;
  if (has.length === 0) return;
  const read = addressRequestOf(withoutRequests(service));
  if ("refused" in read) return;
  const fitting = has.filter(({ family }) => read.wish.families.includes(family));
  if (fitting.length > 0) allocator.reclaim(read.wish, fitting);
}

const quiet = { tidings: [], deprecated: [] } as const;
const nothing: PublishedAddresses = { addresses: [] };

/** Its addresses, including those it has just lost. */
function hasOf(service: Service, { allocator }: Pick<AssignContext, "allocator">): readonly Address[] {
  const held = allocator.held(keyOf(service));
  return held?.before ?? held?.addresses ?? readService(service, []).addresses;
}

/** A Service with an unreadable request keeps its addresses as long as they are allowed. */
function unreadable(service: Service, refused: EventText, { allocator }: AssignContext): Decision {
  const key = keyOf(service);
  const has = hasOf(service, { allocator });
  if (has.length === 0) return { refused, ...quiet };
  const bare = addressRequestOf(withoutRequests(service));
  const kept = "wish" in bare ? keep(bare.wish, has, allocator) : { refused: bare.refused.message };
  if (!("refused" in kept)) return { wanted: kept, refused, ...quiet };
  allocator.release(key);
  return { wanted: nothing, refused, ...quiet, tidings: [takenBack(has, kept.refused)] };
}

/** Its addresses in the families that it still requests. */
function keep(request: AddressRequest, has: readonly Address[], allocator: Allocator): Allocation | NoAddress {
  const fitting = has.filter(({ family }) => request.families.includes(family));
  if (fitting.length > 0) return allocator.claim(standing(request), fitting);
  return { refused: `the Service no longer has a cluster IP of the family of ${has.join(", ")}`, tried: [] };
}

/** The assignment of one Service. */
class Deciding {
  readonly #service: Service;
  readonly #request: AddressRequest;
  readonly #allocator: Allocator;
  readonly #events: EventText[] = [];
  #refused: EventText | undefined;

  constructor(service: Service, request: AddressRequest, { allocator }: AssignContext) {
    this.#service = service;
    this.#request = request;
    this.#allocator = allocator;
  }

  decision(deprecated: readonly string[]): Decision {
    return {
      wanted: this.#assign(),
      ...(this.#refused && { refused: this.#refused }),
      tidings: this.#events,
      deprecated,
    };
  }

  #assign(): PublishedAddresses {
    const has = hasOf(this.#service, { allocator: this.#allocator });
    if (has.length > 0) {
      const kept = this.#keep(has);
      if (kept) return this.#complete(kept);
    }
    if (this.#service.metadata.deletionTimestamp !== undefined) return nothing;
    const given = this.#allocator.allocate(this.#request);
    if (!("refused" in given)) return given;
    this.#refused = failed(given);
    return nothing;
  }

  /** undefined if it must release all its addresses. */
  #keep(has: readonly Address[]): Allocation | undefined {
    const kept = keep(this.#request, has, this.#allocator);
    if (!("refused" in kept)) return kept;
    this.#allocator.release(this.#request.key);
    const rest = has.length > 1 ? this.#rest(has) : undefined;
    const lost = has.filter((address) => !rest?.addresses.some((one) => one.equals(address)));
    this.#events.push(takenBack(lost, kept.refused));
    return rest;
  }

  /** The one of two addresses that is still allowed, unless another pair is free. */
  #rest(has: readonly Address[]): Allocation | undefined {
    const mayHaveOthers = this.#request.families.length > 1 && this.#service.metadata.deletionTimestamp === undefined;
    if (mayHaveOthers && !("refused" in this.#allocator.allocate({ ...this.#request, policy: "RequireDualStack" }))) return undefined;
    for (const address of has) {
      const kept = keep(this.#request, [address], this.#allocator);
      if (!("refused" in kept)) return kept;
    }
    return undefined;
  }

  #complete(held: Allocation): Allocation {
    const { pool, addresses, policy, families } = this.#request;
    if (pool !== undefined && pool !== held.pool) return this.#exchange(held);
    if (addresses && !isSameSet(addresses, held.addresses)) return this.#exchange(held);
    if (policy === "SingleStack" || families.length < 2 || held.addresses.length > 1 || addresses) return held;
    const extended = this.#allocator.extend(this.#request);
    if (!("refused" in extended)) return extended;
    if (policy === "RequireDualStack") return this.#exchange(held);
    this.#refused = { type: "Normal", reason: "AdditionalAssignFailed", message: `No second address: ${extended.refused}` };
    return held;
  }

  /** Replaces its addresses. If the new request cannot be met, it keeps them. */
  #exchange(held: Allocation): Allocation {
    const given = this.#allocator.exchange(this.#request);
    if (!("refused" in given)) {
      this.#events.push(takenBack(held.addresses, "the Service requests another address", ` of pool ${held.pool}`));
      return given;
    }
    this.#refused = failed(given, `; keeping ${held.addresses.join(", ")}`);
    return held;
  }
}

function takenBack(addresses: readonly Address[], why: string, from = ""): EventText {
  return { type: "Normal", reason: "ClearAssignment", message: `Released ${addresses.join(", ")}${from}: ${why}` };
}

/** Its current addresses, ignoring explicit requests. */
function standing({ pool: _pool, addresses: _addresses, ...wish }: AddressRequest): AddressRequest {
  return wish;
}

function failed({ refused }: NoAddress, rest = ""): EventText {
  return { type: "Warning", reason: "AllocationFailed", message: `No address: ${refused}${rest}` };
}
