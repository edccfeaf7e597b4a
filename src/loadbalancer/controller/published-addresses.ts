interface Visible {
  /** As last read from the server. */
  shown: ReadonlySet<string>;
  /** Addresses of writes that may still arrive, made against this version of the Service. */
  sent: { readonly version: string; readonly addresses: ReadonlySet<string> } | undefined;
}

/**
 * Which Services show which addresses on the server, or may in a moment. An address that was taken from a Service is not another's before the
 * server has been told: until then both would be announced.
 */
export class PublishedAddressIndex {
  readonly #byKey = new Map<string, Visible>();
  readonly #keys = new Map<string, Set<string>>();
  readonly #waiting = new Map<string, Set<string>>();
  readonly #onGone: (key: string) => void;

  /** `onGone` is called with a Service that waits for an address when another one no longer publishes it. */
  constructor(onGone: (key: string) => void) {
    this.#onGone = onGone;
  }

  /** The Service, in this version, shows these. Writes against another version can no longer arrive. */
  see(key: string, version: string, addresses: Iterable<string>): void {
    const { sent } = this.#byKey.get(key) ?? {};
    this.#set(key, { shown: new Set(addresses), sent: sent?.version === version ? sent : undefined });
  }

  /** A write sets out. Whether it arrives is known when the Service is seen in another version. */
  send(key: string, version: string, addresses: Iterable<string>): void {
    const { shown = new Set<string>(), sent } = this.#byKey.get(key) ?? {};
    const earlier = sent?.version === version ? sent.addresses : new Set<string>();
    this.#set(key, { shown, sent: { version, addresses: earlier.union(new Set(addresses)) } });
  }

  forget(key: string): void {
    this.#set(key, undefined);
  }

  isSeen(key: string, address: string): boolean {
    return this.#byKey.get(key)?.shown.has(address) ?? false;
  }

  mayShow(key: string, address: string): boolean {
    return this.#keys.get(address)?.has(key) ?? false;
  }

  /** Who else shows it, or may. */
  others(key: string, address: string): string[] {
    return [...(this.#keys.get(address) ?? [])].filter((other) => other !== key);
  }

  wait(key: string, address: string): void {
    this.#waiting.set(address, (this.#waiting.get(address) ?? new Set()).add(key));
  }

  #set(key: string, next: Visible | undefined): void {
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

function addressesOf(visible: Visible | undefined): Set<string> {
  return new Set(visible?.shown).union(visible?.sent?.addresses ?? new Set());
}
