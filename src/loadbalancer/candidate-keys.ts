import type { KeyObject } from "node:crypto";
import type { Secret } from "../api/core/secret.ts";
import type { Cache } from "../kube/cache/cache.ts";
import type { Runnable } from "../kube/controller/controller.ts";
import { aborted } from "../util/deadline.ts";
import type { Members } from "../kube/members/members.ts";
import { publicKeyOf } from "../kube/members/signing-key.ts";

/** In Plumbline's namespace; created by controllers of earlier versions for all agents. */
export const sharedKeySecretName = "plumbline-heartbeat";
const BYTES = 32;
/** Agents learn at different times that every agent has a key, at the latest when their watch of the members is renewed. */
const GRACE_MS = 300_000;

type SecretCache = Pick<Cache<Secret>, "start" | "get">;

interface Options {
  namespace: string;
  open(): SecretCache;
}

/** The keys that verify heartbeats of other nodes. The shared key of earlier versions is read only while a member has no key of its own. */
export class CandidateKeys implements Runnable {
  readonly name = "candidates' keys";
  readonly #options: Options;
  readonly #parsed = new Map<string, { readonly text: string; readonly key: KeyObject }>();
  #keys: Members["keys"] = {};
  #shared: { readonly cache: SecretCache; readonly end: AbortController; last?: Buffer | undefined } | undefined;
  #ending: NodeJS.Timeout | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  update({ live, keys }: Members): void {
    this.#keys = keys;
    for (const node of this.#parsed.keys()) if (keys[node] === undefined) this.#parsed.delete(node);
    if (live.some((node) => keys[node] === undefined)) this.#follow();
    else if (this.#shared) this.#ending ??= setTimeout(() => this.#remove(), GRACE_MS).unref();
  }

  of(node: string): KeyObject | undefined {
    const text = this.#keys[node];
    if (text === undefined) return undefined;
    let parsed = this.#parsed.get(node);
    if (parsed?.text !== text) {
      parsed = { text, key: publicKeyOf(text) };
      this.#parsed.set(node, parsed);
    }
    return parsed.key;
  }

  /** If the Secret is deleted or invalid, the last known keys stay. */
  shared(): Buffer | undefined {
    const followed = this.#shared;
    if (!followed) return undefined;
    followed.last = sharedKeyIn(followed.cache.get(`${this.#options.namespace}/${sharedKeySecretName}`)) ?? followed.last;
    return followed.last;
  }

  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    this.#remove();
  }

  #follow(): void {
    clearTimeout(this.#ending);
    this.#ending = undefined;
    if (this.#shared) return;
    const end = new AbortController();
    const cache = this.#options.open();
    cache.start(end.signal);
    this.#shared = { cache, end };
  }

  #remove(): void {
    clearTimeout(this.#ending);
    this.#ending = undefined;
    this.#shared?.end.abort();
    this.#shared = undefined;
  }
}

/** Undefined if the Secret has no key. */
export function sharedKeyIn(secret: Secret | undefined): Buffer | undefined {
  const key = Buffer.from(secret?.data?.["key"] ?? "", "base64");
  return key.length === BYTES ? key : undefined;
}
