import type { KubeClient } from "../../kube/client/client.ts";
import type { Ref } from "../picture/scene.ts";
import { LoginError } from "./login-error.ts";
import { reviewAccess, reviewToken, type User } from "./reviews.ts";
import type { Viewer } from "./viewer.ts";

/** How long an answer holds. Who loses a right, or whose token ends, sees nothing more after that. */
const HOLDS_MS = 60_000;
/** How much longer it holds while the API server cannot be asked: then the page is needed most. */
const AT_MOST_MS = 10 * 60_000;
const AT_ONCE = 8;
/** More namespaces than anybody reads. */
const MOST_ASKED = 2_000;

interface Answered {
  readonly allowed: boolean;
  readonly at: number;
}

/** Someone with a token: sees what he may list. */
export class TokenViewer implements Viewer {
  readonly login = true;
  readonly seesAll = false;
  readonly #client: KubeClient;
  readonly #token: string;
  readonly #answers = new Map<string, Answered>();
  #user: User;
  #reviewedAt = performance.now();
  #version = 0;

  constructor(client: KubeClient, token: string, user: User) {
    this.#client = client;
    this.#token = token;
    this.#user = user;
  }

  get user(): string {
    return this.#user.username;
  }

  get version(): number {
    return this.#version;
  }

  may({ kind, namespace }: Ref): boolean {
    const allowed = (ref: Ref) => this.#answers.get(keyOf(ref))?.allowed === true;
    return allowed({ kind }) || (namespace !== undefined && allowed({ kind, namespace }));
  }

  async learn(refs: Iterable<Ref>, signal: AbortSignal): Promise<void> {
    await this.#assertKnown(signal);
    const everywhere = new Map<string, Ref>();
    const somewhere = new Map<string, Ref>();
    for (const { kind, namespace } of refs) {
      everywhere.set(keyOf({ kind }), { kind });
      if (namespace !== undefined) somewhere.set(keyOf({ kind, namespace }), { kind, namespace });
    }
    // Who may list it everywhere need not be asked about each namespace.
    await this.#ask(everywhere, signal);
    for (const [key, { kind }] of somewhere) if (this.may({ kind })) somewhere.delete(key);
    await this.#ask(somewhere, signal);
  }

  /** Throws where the token has ended meanwhile. */
  async #assertKnown(signal: AbortSignal): Promise<void> {
    if (performance.now() - this.#reviewedAt < HOLDS_MS) return;
    const user = await this.#attempt(this.#reviewedAt, () => reviewToken(this.#client, this.#token, signal), signal);
    if (user === "unanswered") return;
    if (!user) throw new LoginError("Refused", "Your token is no longer valid; log in with another");
    if (JSON.stringify(user) !== JSON.stringify(this.#user)) this.#answers.clear();
    this.#user = user;
    this.#reviewedAt = performance.now();
  }

  async #ask(refs: ReadonlyMap<string, Ref>, signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const due = [...refs].filter(([key]) => now - (this.#answers.get(key)?.at ?? -Infinity) >= HOLDS_MS);
    const asking = due.values();
    const one = async () => {
      for (const [key, ref] of asking) {
        const known = this.#answers.get(key);
        if (!known && this.#answers.size >= MOST_ASKED) return;
        const allowed = await this.#attempt(known?.at ?? -Infinity, () => reviewAccess(this.#client, this.#user, ref, signal), signal);
        if (allowed === "unanswered") return;
        if (known && known.allowed !== allowed) this.#version += 1;
        this.#answers.set(key, { allowed, at: performance.now() });
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, due.length) }, one));
  }

  /** An API server that does not answer leaves what it said before, for a while. */
  async #attempt<T>(knownAt: number, ask: () => Promise<T>, signal: AbortSignal): Promise<T | "unanswered"> {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (performance.now() - knownAt < AT_MOST_MS) return "unanswered";
      throw new LoginError("Unreachable", "The API server does not say what you may see; try again in a moment", { cause: error });
    }
  }
}

function keyOf({ kind, namespace }: Ref): string {
  return `${kind.plural}.${kind.group} ${namespace ?? ""}`;
}
