import { isDeepStrictEqual } from "node:util";
import type { Service } from "../../api/core/service.ts";
import type { Address } from "../../ip/address.ts";

interface PublicationState {
  /** As last read from the server. */
  published: ReadonlySet<string>;
  /** Addresses of writes that may still arrive, made against this version of the Service. */
  sent: { readonly version: string; readonly addresses: ReadonlySet<string> } | undefined;
}

/** Which Services publish which addresses, or have a pending write that does. An address is not published twice, since both would be announced. */
export class PublishedAddressIndex {
  readonly #byKey = new Map<string, PublicationState>();
  readonly #keys = new Map<string, Set<string>>();
  readonly #waiting = new Map<string, Set<string>>();
  readonly #onGone: (key: string) => void;

  /** `onGone` is called with a Service that waits for an address when another one no longer publishes it. */
  constructor(onGone: (key: string) => void) {
    this.#onGone = onGone;
  }

  /** The Service publishes these in this version. Writes against another version can no longer arrive. */
  observe(key: string, version: string, addresses: Iterable<string>): void {
    const { sent } = this.#byKey.get(key) ?? {};
    this.#set(key, { published: new Set(addresses), sent: sent?.version === version ? sent : undefined });
  }

  /** A write starts. Whether it arrived is known when the Service is observed in another version. */
  send(key: string, version: string, addresses: Iterable<string>): void {
    const { published = new Set<string>(), sent } = this.#byKey.get(key) ?? {};
    const earlier = sent?.version === version ? sent.addresses : new Set<string>();
    this.#set(key, { published, sent: { version, addresses: earlier.union(new Set(addresses)) } });
  }

  forget(key: string): void {
    this.#set(key, undefined);
  }

  isPublished(key: string, address: string): boolean {
    return this.#byKey.get(key)?.published.has(address) ?? false;
  }

  mayBePublished(key: string, address: string): boolean {
    return this.#keys.get(address)?.has(key) ?? false;
  }

  others(key: string, address: string): string[] {
    return [...(this.#keys.get(address) ?? [])].filter((other) => other !== key);
  }

  wait(key: string, address: string): void {
    this.#waiting.set(address, (this.#waiting.get(address) ?? new Set()).add(key));
  }

  #set(key: string, next: PublicationState | undefined): void {
    const before = addressesOf(this.#byKey.get(key));
    const after = addressesOf(next);
    if (next && after.size > 0) this.#byKey.set(key, next);
    else this.#byKey.delete(key);
    for (const address of after.difference(before)) this.#keys.set(address, (this.#keys.get(address) ?? new Set()).add(key));
    for (const address of before.difference(after)) this.#gone(key, address);
  }

  #gone(key: string, address: string): void {
    const keys = this.#keys.get(address);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(address);
    const waiting = this.#waiting.get(address) ?? [];
    this.#waiting.delete(address);
    for (const other of waiting) this.#onGone(other);
  }
}

function addressesOf(state: PublicationState | undefined): Set<string> {
  return new Set(state?.published).union(state?.sent?.addresses ?? new Set());
}

export interface PublishedAddresses {
  readonly pool?: string;
  readonly addresses: readonly Address[];
}

const POOL = "metallb.io/ip-allocated-from-pool";
const PREFIXES = ["metallb.io/", "metallb.universe.tf/"];
const REQUESTS = new Set(["loadBalancerIPs", "address-pool"].flatMap((name) => PREFIXES.map((prefix) => prefix + name)));

/** The pool that the Service's addresses were allocated from. */
export function annotatedPool({ metadata }: Service): string | undefined {
  return metadata.annotations?.[POOL];
}

export function patchFor(service: Service, { addresses, pool }: PublishedAddresses): object | undefined {
  const ips = addresses.map(String);
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  const status = isDeepStrictEqual(
    ingress.map(({ ip }) => ip),
    ips,
  )
    ? undefined
    : { loadBalancer: { ingress: ips.length > 0 ? ips.map((ip) => ({ ip })) : null } };
  const annotations = annotatedPool(service) === pool ? undefined : { [POOL]: pool ?? null };
  if (!status && !annotations) return undefined;
  return { ...(annotations && { metadata: { annotations } }), ...(status && { status }) };
}

export function withoutRequests(service: Service): Service {
  const annotations = Object.fromEntries(Object.entries(service.metadata.annotations ?? {}).filter(([name]) => !REQUESTS.has(name)));
  return { ...service, spec: { ...service.spec, loadBalancerIP: "" }, metadata: { ...service.metadata, annotations } };
}
