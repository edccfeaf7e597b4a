import type { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { Address } from "../../ip/address.ts";
import type { EventText } from "../../kube/events/event-correlator.ts";
import type { Allocator, Allocation, NoAddress } from "../allocator/allocator.ts";
import { isSameSet } from "../allocator/pools.ts";
import { readService } from "../services/service-view.ts";
import { isOurs, addressRequestOf, type AddressRequest, creationTime } from "../services/address-request.ts";
import { annotatedPool, type PublishedAddresses, withoutRequests } from "./published-addresses.ts";

export interface AssignContext {
  readonly allocator: Allocator;
  readonly lbClass: string | undefined;
  /** Whether any IPAddressPool exists, valid or not. */
  readonly hasPools: boolean;
  /** Whether the Service publishes the address, or a pending write may. */
  readonly isPublished: (key: string, address: Address) => boolean;
}

export interface Decision {
  readonly wanted?: PublishedAddresses;
  /** Why it does not have all that it requests. */
  readonly unmet?: EventText;
  /** Events about its allocation. */
  readonly events: readonly EventText[];
  /** Annotations with the old prefix that it uses. */
  readonly deprecated: readonly string[];
}

/** Decides the addresses of a Service. They are allocated in memory before anything is written. */
export function decide(service: Service, context: AssignContext): Decision {
  if (!isOurs(service, context.lbClass)) return leave(service, context);
  // Without any pool, another controller may assign addresses.
  if (!context.hasPools && annotatedPool(service) === undefined) {
    return { ...quiet, unmet: failed({ noAddress: "no IPAddressPool exists", tried: [] }) };
  }
  const read = addressRequestOf(service);
  if ("invalid" in read) return unreadable(service, { type: "Warning", ...read.invalid }, context);
  return new Deciding(service, read.request, context).decision(read.deprecated);
}

/** The Service is not ours, or no longer. */
function leave(service: Service, context: AssignContext): Decision {
  const { allocator } = context;
  const key = keyOf(service);
  const had = allocator.allocationOf(key) !== undefined;
  if (had || service.spec.type !== "LoadBalancer") allocator.release(key);
  const isMarked = annotatedPool(service) !== undefined;
  // A Service of another class may show addresses from another controller.
  const isLeft = service.spec.type === "LoadBalancer" ? had && isMarked : had || isMarked;
  if (isLeft) return { wanted: nothing, ...quiet };
  reserve(service, context);
  return quiet;
}

/** Addresses of a Service of another class count as in use. */
function reserve(service: Service, { allocator, isPublished }: Pick<AssignContext, "allocator" | "isPublished">): void {
  if (service.spec.type === "LoadBalancer") allocator.reserve(anonymous(service), readService(service, []).addresses, isPublished);
}

/** The request of a Service that another controller serves. */
function anonymous({ metadata }: Service): AddressRequest {
  const { uid = "", namespace = "" } = metadata;
  const since = creationTime({ metadata });
  const sharing = { key: "", backend: "", ports: [] };
  return { key: keyOf({ metadata }), uid, since, namespace, labels: {}, families: [4, 6], policy: "SingleStack", sharing };
}

/** Claims only the addresses it already has. Conflicts are decided after all Services are claimed. */
export function reclaim(service: Service, context: Pick<AssignContext, "allocator" | "lbClass" | "isPublished">): void {
  const { allocator, lbClass } = context;
  if (!isOurs(service, lbClass)) return reserve(service, context);
  const has = readService(service, []).addresses;
  if (has.length === 0) return;
  const read = addressRequestOf(withoutRequests(service));
  if ("invalid" in read) return;
  const matching = has.filter(({ family }) => read.request.families.includes(family));
  if (matching.length > 0) allocator.reclaim(read.request, matching);
}

const quiet = { events: [], deprecated: [] } as const;
const nothing: PublishedAddresses = { addresses: [] };

function hasOf(service: Service, { allocator }: Pick<AssignContext, "allocator">): readonly Address[] {
  const allocation = allocator.allocationOf(keyOf(service));
  return allocation?.before ?? allocation?.addresses ?? readService(service, []).addresses;
}

/** A Service with an unreadable request keeps its addresses as long as they are allowed. */
function unreadable(service: Service, unmet: EventText, { allocator }: AssignContext): Decision {
  const key = keyOf(service);
  const has = hasOf(service, { allocator });
  if (has.length === 0) return { unmet, ...quiet };
  const bare = addressRequestOf(withoutRequests(service));
  const kept = "request" in bare ? keep(bare.request, has, allocator) : { noAddress: bare.invalid.message };
  if (!("noAddress" in kept)) return { wanted: kept, unmet, ...quiet };
  allocator.release(key);
  return { wanted: nothing, unmet, ...quiet, events: [released(has, kept.noAddress)] };
}

/** Its addresses in the families that it still requests. */
function keep(request: AddressRequest, has: readonly Address[], allocator: Allocator): Allocation | NoAddress {
  const matching = has.filter(({ family }) => request.families.includes(family));
  if (matching.length > 0) return allocator.claim(withoutExplicit(request), matching);
  return { noAddress: `the Service no longer has a cluster IP of the family of ${has.join(", ")}`, tried: [] };
}

class Deciding {
  readonly #service: Service;
  readonly #request: AddressRequest;
  readonly #allocator: Allocator;
  readonly #events: EventText[] = [];
  #unmet: EventText | undefined;

  constructor(service: Service, request: AddressRequest, { allocator }: AssignContext) {
    this.#service = service;
    this.#request = request;
    this.#allocator = allocator;
  }

  decision(deprecated: readonly string[]): Decision {
    return {
      wanted: this.#assign(),
      ...(this.#unmet && { unmet: this.#unmet }),
      events: this.#events,
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
    if (!("noAddress" in given)) return given;
    this.#unmet = failed(given);
    return nothing;
  }

  /** undefined if it must release all its addresses. */
  #keep(has: readonly Address[]): Allocation | undefined {
    const kept = keep(this.#request, has, this.#allocator);
    if (!("noAddress" in kept)) return kept;
    this.#allocator.release(this.#request.key);
    const rest = has.length > 1 ? this.#rest(has) : undefined;
    const lost = has.filter((address) => !rest?.addresses.some((one) => one.equals(address)));
    this.#events.push(released(lost, kept.noAddress));
    return rest;
  }

  /** The one of two addresses that is still allowed, unless another pair is free. */
  #rest(has: readonly Address[]): Allocation | undefined {
    const mayHaveOthers = this.#request.families.length > 1 && this.#service.metadata.deletionTimestamp === undefined;
    if (mayHaveOthers && !("noAddress" in this.#allocator.allocate({ ...this.#request, policy: "RequireDualStack" }))) return undefined;
    for (const address of has) {
      const kept = keep(this.#request, [address], this.#allocator);
      if (!("noAddress" in kept)) return kept;
    }
    return undefined;
  }

  #complete(allocation: Allocation): Allocation {
    const { pool, addresses, policy, families } = this.#request;
    if (pool !== undefined && pool !== allocation.pool) return this.#exchange(allocation);
    if (addresses && !isSameSet(addresses, allocation.addresses)) return this.#exchange(allocation);
    if (policy === "SingleStack" || families.length < 2 || allocation.addresses.length > 1 || addresses) return allocation;
    const extended = this.#allocator.extend(this.#request);
    if (!("noAddress" in extended)) return extended;
    if (policy === "RequireDualStack") return this.#exchange(allocation);
    this.#unmet = { type: "Normal", reason: "AdditionalAssignFailed", message: `No second address: ${extended.noAddress}` };
    return allocation;
  }

  /** Replaces its addresses. If the new request cannot be met, it keeps them. */
  #exchange(allocation: Allocation): Allocation {
    const given = this.#allocator.exchange(this.#request);
    if (!("noAddress" in given)) {
      this.#events.push(released(allocation.addresses, "the Service requests another address", ` of pool ${allocation.pool}`));
      return given;
    }
    this.#unmet = failed(given, `; keeping ${allocation.addresses.join(", ")}`);
    return allocation;
  }
}

function released(addresses: readonly Address[], why: string, from = ""): EventText {
  return { type: "Normal", reason: "ClearAssignment", message: `Released ${addresses.join(", ")}${from}: ${why}` };
}

function withoutExplicit({ pool: _pool, addresses: _addresses, ...request }: AddressRequest): AddressRequest {
  return request;
}

function failed({ noAddress }: NoAddress, rest = ""): EventText {
  return { type: "Warning", reason: "AllocationFailed", message: `No address: ${noAddress}${rest}` };
}
