import type { KubeClient } from "../../kube/client/client.ts";
import { untilAborted } from "../../util/sleep.ts";
import type { KindInNamespace } from "../rows/row-builder.ts";
import { LoginError, type Viewer } from "./viewer.ts";
import { reviewToken, type User } from "./reviews.ts";
import { REVIEW_VALID_MS, lastReviewIsValid, REVIEW_MS, type UserAccess } from "./user-access.ts";

export class TokenViewer implements Viewer {
  readonly login = true;
  readonly seesAll = false;
  readonly #client: KubeClient;
  readonly #token: string;
  readonly #accessOf: (user: User) => UserAccess;
  #access: UserAccess;
  #review: Promise<User | undefined> | undefined;
  #reviewedAt = performance.now();
  /** Changes the version when the user changes. */
  #users = 0;

  constructor(client: KubeClient, token: string, user: User, accessOf: (user: User) => UserAccess) {
    this.#client = client;
    this.#token = token;
    this.#accessOf = accessOf;
    this.#access = accessOf(user);
  }

  get user(): string {
    return this.#access.user.username;
  }

  get version(): number {
    return this.#users + this.#access.version;
  }

  get isIncomplete(): boolean {
    return this.#access.isIncomplete;
  }

  may(ref: KindInNamespace): boolean {
    return this.#access.may(ref);
  }

  async learn(refs: Iterable<KindInNamespace>, signal: AbortSignal): Promise<void> {
    await this.#assertKnown(signal);
    await this.#access.learn(refs, signal);
  }

  async #assertKnown(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (performance.now() - this.#reviewedAt < REVIEW_VALID_MS) return;
    this.#review ??= reviewToken(this.#client, this.#token, AbortSignal.timeout(REVIEW_MS)).finally(() => (this.#review = undefined));
    const review = this.#review;
    const startedAt = performance.now();
    const user = await lastReviewIsValid(this.#reviewedAt, () => untilAborted(review, signal), signal);
    if (user === "unanswered") return;
    if (!user) throw new LoginError("Rejected", "Your token is no longer valid; log in again");
    this.#reviewedAt = startedAt;
    const access = this.#accessOf(user);
    if (access === this.#access) return;
    this.#users += this.#access.version + 1;
    this.#access = access;
  }
}
