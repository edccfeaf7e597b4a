import { createHash } from "node:crypto";
import type { KubeClient } from "../../kube/client/client.ts";
import { pageLogins } from "../metrics.ts";
import type { Authenticator } from "../access/viewer.ts";
import { Slots } from "../slots.ts";
import { LoginError, type Viewer } from "./viewer.ts";
import { reviewToken, type User } from "./reviews.ts";
import { TokenViewer } from "./token-viewer.ts";
import { REVIEW_MS, UserAccess } from "./user-access.ts";
import { addressOf } from "../../ip/address.ts";
import { Prefix } from "../../ip/prefix.ts";

const COOKIE = "__Host-plumbline";
/** The least recent viewer is dropped, and reviewed again when he returns. */
const MOST_VIEWERS = 256;
/** Concurrent token reviews: anyone can send a token. Half of them per address, so that others can log in. */
const MOST_ENTERING = { each: 2, all: 4 };
/** Requests that wait for one token to be reviewed. */
const MOST_WAITING = { each: 8, all: Infinity };
const LONGEST_TOKEN = 16 * 1024;

export class TokenLogin implements Authenticator {
  readonly cookie = COOKIE;
  readonly #client: KubeClient;
  readonly #viewers = new Map<string, TokenViewer>();
  readonly #users = new Map<string, UserAccess>();
  readonly #entering = new Map<string, Promise<TokenViewer>>();
  readonly #reviews = new Slots(MOST_ENTERING);
  readonly #waiting = new Slots(MOST_WAITING);
  readonly #failed = new FailedLogins();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** DNS rebinding is harmless: a browser sends the token only to the host that it belongs to. */
  knowsHost(): boolean {
    return true;
  }

  async viewerOf({ authorization, cookie, from }: Parameters<Authenticator["viewerOf"]>[0], signal: AbortSignal): Promise<Viewer> {
    const token = bearer(authorization) ?? inCookie(cookie);
    if (token === undefined) throw new LoginError("NoToken", "Log in with a cluster token: kubectl create token NAME -n NAMESPACE");
    const hash = hashOf(token);
    const stopWaiting = this.#waiting.take(hash);
    if (typeof stopWaiting === "string") throw new LoginError("TooMany", "Too many pending requests with this token");
    try {
      const viewer = await this.#viewer(hash, token, from);
      await viewer.learn([], signal);
      return viewer;
    } catch (error) {
      if (error instanceof LoginError && error.code === "Rejected") this.#viewers.delete(hash);
      throw error;
    } finally {
      stopWaiting();
    }
  }

  async #viewer(hash: string, token: string, from: string): Promise<TokenViewer> {
    const viewer = this.#viewers.get(hash) ?? (await (this.#entering.get(hash) ?? this.#letIn(hash, token, from)));
    // Most recent last.
    this.#viewers.delete(hash);
    this.#viewers.set(hash, viewer);
    if (this.#viewers.size > MOST_VIEWERS) this.#viewers.delete(this.#viewers.keys().next().value ?? "");
    return viewer;
  }

  /** Concurrent requests with the same token share one review. */
  #letIn(hash: string, token: string, from: string): Promise<TokenViewer> {
    const entering = this.#enter(token, from).finally(() => this.#entering.delete(hash));
    this.#entering.set(hash, entering);
    return entering;
  }

  async #enter(token: string, from: string): Promise<TokenViewer> {
    const network = networkOf(from);
    const stopReviewing = this.#failed.areTooMany(network) ? "each" : this.#reviews.take(network);
    if (typeof stopReviewing === "string") {
      pageLogins.inc({ outcome: "limited" });
      throw new LoginError("TooMany", "Too many failed or pending logins; try again in a minute");
    }
    try {
      const user = token.length > LONGEST_TOKEN ? undefined : await this.#userOf(token);
      if (!user) throw new LoginError("Rejected", "Invalid or expired token");
      pageLogins.inc({ outcome: "accepted" });
      return new TokenViewer(this.#client, token, user, (one) => this.#accessOf(one));
    } catch (error) {
      // A review without an answer costs the API server as much as a wrong token.
      this.#failed.add(network);
      pageLogins.inc({ outcome: error instanceof LoginError && error.code === "Rejected" ? "refused" : "unreachable" });
      throw error;
    } finally {
      stopReviewing();
    }
  }

  /** Shared by several requests, so it ends with none of them. */
  async #userOf(token: string) {
    try {
      return await reviewToken(this.#client, token, AbortSignal.timeout(REVIEW_MS));
    } catch (error) {
      throw new LoginError("Unreachable", "The API server cannot review the token; try again in a moment", { cause: error });
    }
  }

  #accessOf(user: User): UserAccess {
    const key = JSON.stringify([user.username, user.uid, user.groups, user.extra]);
    const access = this.#users.get(key) ?? new UserAccess(this.#client, user);
    this.#users.delete(key);
    this.#users.set(key, access);
    if (this.#users.size > MOST_VIEWERS) this.#users.delete(this.#users.keys().next().value ?? "");
    return access;
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

const WITHIN_MS = 60_000;
const MOST = 10;
/** The oldest network is dropped if there are more. */
const MOST_NETWORKS = 10_000;

/** Counts wrong tokens per minute and network. */
export class FailedLogins {
  readonly #tries = new Map<string, number[]>();

  add(from: string): void {
    this.#tries.set(from, [...this.#recent(from), performance.now()]);
    if (this.#tries.size > MOST_NETWORKS) this.#tries.delete(this.#tries.keys().next().value ?? "");
  }

  areTooMany(from: string): boolean {
    return this.#recent(from).length >= MOST;
  }

  #recent(from: string): number[] {
    const now = performance.now();
    return (this.#tries.get(from) ?? []).filter((at) => now - at < WITHIN_MS);
  }
}

/** The addresses of one host: one IPv4 address, or a /64 of IPv6. */
export function networkOf(address: string): string {
  // An IPv4 client of a dual-stack socket.
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  const parsed = addressOf(plain);
  return parsed?.family === 6 ? String(new Prefix(parsed, 64)) : plain;
}
