import { createHash } from "node:crypto";
import type { KubeClient } from "../../kube/client/client.ts";
import { pageLogins } from "../metrics.ts";
import type { Doorkeeper } from "../server/app.ts";
import { FailedTries } from "./failed-tries.ts";
import { LoginError } from "./login-error.ts";
import { reviewToken } from "./reviews.ts";
import { TokenViewer } from "./token-viewer.ts";
import type { Viewer } from "./viewer.ts";

const COOKIE = "__Host-plumbline";
/** Whoever came longest ago is forgotten, and asked about again when he comes back. */
const MOST_VIEWERS = 256;
/** Tokens that the API server is asked about at a time: anybody can send one. */
const MOST_ENTERING = 64;
const REVIEW_MS = 10_000;
const LONGEST_TOKEN = 16 * 1024;

/** In a cluster: who shows a token that the API server knows may look at what he may list. */
export class TokenDoor implements Doorkeeper {
  readonly cookie = COOKIE;
  readonly #client: KubeClient;
  readonly #viewers = new Map<string, TokenViewer>();
  readonly #entering = new Map<string, Promise<TokenViewer>>();
  readonly #failed = new FailedTries();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Whoever made a name lead here gains nothing: a browser sends the token only to the name that it was given under. */
  knowsHost(): boolean {
    return true;
  }

  async viewerOf({ authorization, cookie, from }: Parameters<Doorkeeper["viewerOf"]>[0], signal: AbortSignal): Promise<Viewer> {
    const token = bearer(authorization) ?? inCookie(cookie);
    if (token === undefined) throw new LoginError("NoToken", "Log in with a token of the cluster: kubectl create token NAME -n NAMESPACE");
    const viewer = await this.#viewer(token, from);
    await viewer.learn([], signal).catch((error: unknown) => {
      if (error instanceof LoginError && error.code === "Refused") this.#viewers.delete(hashOf(token));
      throw error;
    });
    return viewer;
  }

  async #viewer(token: string, from: string): Promise<TokenViewer> {
    const hash = hashOf(token);
    const viewer = this.#viewers.get(hash) ?? (await (this.#entering.get(hash) ?? this.#letIn(hash, token, from)));
    // Those who came last stand last.
    this.#viewers.delete(hash);
    this.#viewers.set(hash, viewer);
    if (this.#viewers.size > MOST_VIEWERS) this.#viewers.delete(this.#viewers.keys().next().value ?? "");
    return viewer;
  }

  /** Several requests may come with the same token at once: it is asked about once. */
  #letIn(hash: string, token: string, from: string): Promise<TokenViewer> {
    const entering = this.#enter(token, from).finally(() => this.#entering.delete(hash));
    this.#entering.set(hash, entering);
    return entering;
  }

  async #enter(token: string, from: string): Promise<TokenViewer> {
    if (this.#entering.size >= MOST_ENTERING || this.#failed.areTooMany(from)) {
      pageLogins.inc({ outcome: "limited" });
      throw new LoginError("TooMany", "Too many tokens were wrong, or are being looked at; try again in a minute");
    }
    const user = token.length > LONGEST_TOKEN ? undefined : await this.#userOf(token);
    if (!user) {
      this.#failed.add(from);
      pageLogins.inc({ outcome: "refused" });
      throw new LoginError("Refused", "The API server does not know this token, or it has expired");
    }
    pageLogins.inc({ outcome: "accepted" });
    return new TokenViewer(this.#client, token, user);
  }

  /** Several requests may wait for it, so it ends with none of them. */
  async #userOf(token: string) {
    try {
      return await reviewToken(this.#client, token, AbortSignal.timeout(REVIEW_MS));
    } catch (error) {
      pageLogins.inc({ outcome: "unreachable" });
      throw new LoginError("Unreachable", "The API server does not say whose token this is; try again in a moment", { cause: error });
    }
  }
}

function bearer(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}

function inCookie(header: string | undefined): string | undefined {
  const pairs = (header ?? "").split(/; */).map((pair) => pair.split("=", 2));
  const value = pairs.find(([name]) => name === COOKIE)?.[1];
  try {
    return value === undefined || value === "" ? undefined : decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
