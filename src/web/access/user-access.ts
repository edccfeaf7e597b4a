import type { KubeClient } from "../../kube/client/client.ts";
import { untilAborted } from "../../util/sleep.ts";
import type { KindInNamespace } from "../rows/row-builder.ts";
import { LoginError } from "./viewer.ts";
import { reviewAccess, type User } from "./reviews.ts";

/** How long a review is valid. After that a viewer without the permission sees nothing more. */
export const REVIEW_VALID_MS = 60_000;
/** How much longer it is valid while the API server does not answer: then the page is needed most. */
const AT_MOST_MS = 10 * 60_000;
/** Concurrent reviews of one request; requests of one user share them. */
const AT_ONCE = 4;
export const REVIEW_MS = 10_000;
const MAX_REVIEWS = 2_000;

interface Answered {
  readonly allowed: boolean;
  readonly at: number;
}

/** The permissions of a user, cached for all of his tokens; each review runs once at a time. */
export class UserAccess {
  readonly user: User;
  readonly #client: KubeClient;
  readonly #answers = new Map<string, Answered>();
  readonly #underWay = new Map<string, Promise<boolean>>();
  #lastLeftOut = -Infinity;
  #clearedAt = -Infinity;
  #version = 0;

  constructor(client: KubeClient, user: User) {
    this.#client = client;
    this.user = user;
  }

  /** Changes when the permissions change. */
  get version(): number {
    return this.#version;
  }

  /** Whether reviews were skipped, because there were too many. */
  get isIncomplete(): boolean {
    return performance.now() - this.#lastLeftOut < 2 * REVIEW_VALID_MS;
  }

  may({ kind, namespace }: KindInNamespace): boolean {
    const allowed = (ref: KindInNamespace) => this.#answers.get(reviewKey(ref))?.allowed === true;
    return allowed({ kind }) || (namespace !== undefined && allowed({ kind, namespace }));
  }

  async learn(refs: Iterable<KindInNamespace>, signal: AbortSignal): Promise<void> {
    const everywhere = new Map<string, KindInNamespace>();
    const somewhere = new Map<string, KindInNamespace>();
    for (const { kind, namespace } of refs) {
      everywhere.set(reviewKey({ kind }), { kind });
      if (namespace !== undefined) somewhere.set(reviewKey({ kind, namespace }), { kind, namespace });
    }
    // With permission in all namespaces, single ones need no review.
    await this.#ask(everywhere, signal);
    for (const [key, { kind }] of somewhere) if (this.may({ kind })) somewhere.delete(key);
    await this.#ask(somewhere, signal);
  }

  async #ask(refs: ReadonlyMap<string, KindInNamespace>, signal: AbortSignal): Promise<void> {
    const asking = refs.entries();
    const one = async () => {
      for (const [key, ref] of asking) {
        signal.throwIfAborted();
        const known = this.#answers.get(key);
        if (known && performance.now() - known.at < REVIEW_VALID_MS) continue;
        if (!known && !this.#underWay.has(key) && !this.#hasRoom()) {
          if (!this.isIncomplete) this.#version += 1;
          this.#lastLeftOut = performance.now();
          continue;
        }
        const review = this.#underWay.get(key) ?? this.#review(key, ref);
        // After a timeout the rest is not reviewed either.
        if ((await lastReviewIsValid(known?.at ?? -Infinity, () => untilAborted(review, signal), signal)) === "unanswered") return;
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, refs.size) }, one));
  }

  #hasRoom(): boolean {
    if (this.#answers.size + this.#underWay.size < MAX_REVIEWS) return true;
    const now = performance.now();
    if (now - this.#clearedAt < REVIEW_VALID_MS) return false;
    this.#clearedAt = now;
    for (const [key, { at }] of this.#answers) if (now - at >= AT_MOST_MS) this.#answers.delete(key);
    return this.#answers.size + this.#underWay.size < MAX_REVIEWS;
  }

  /** Shared by several requests, so it ends with none of them. */
  #review(key: string, ref: KindInNamespace): Promise<boolean> {
    const review = reviewAccess(this.#client, this.user, ref, AbortSignal.timeout(REVIEW_MS))
      .then((allowed) => {
        const known = this.#answers.get(key);
        if (known && known.allowed !== allowed) this.#version += 1;
        this.#answers.set(key, { allowed, at: performance.now() });
        return allowed;
      })
      .finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, review);
    return review;
  }
}

/** While the API server does not answer, the last review stays valid for a while. */
export async function lastReviewIsValid<T>(knownAt: number, ask: () => Promise<T>, signal: AbortSignal): Promise<T | "unanswered"> {
  try {
    return await ask();
  } catch (error) {
    signal.throwIfAborted();
    if (performance.now() - knownAt < AT_MOST_MS) return "unanswered";
    throw new LoginError("Unreachable", "The API server cannot check your permissions; try again in a moment", { cause: error });
  }
}

function reviewKey({ kind, namespace }: KindInNamespace): string {
  return `${kind.plural}.${kind.group} ${namespace ?? ""}`;
}
