import type { KindInNamespace } from "../rows/row-builder.ts";

/** The user of the page, and his permissions. */
export interface Viewer {
  readonly user: string;
  /** Whether he can log out. */
  readonly login: boolean;
  /** Whether he may see everything, without reviews. */
  readonly seesAll: boolean;
  /** Reviews these permissions, if they are unknown or outdated. Throws a LoginError if the login has ended. */
  learn(refs: Iterable<KindInNamespace>, signal: AbortSignal): Promise<void>;
  /** Changes when the permissions change. */
  readonly version: number;
  /** Whether reviews were skipped, so that something may be missing. */
  readonly isIncomplete: boolean;
  /** False without a review. */
  may(ref: KindInNamespace): boolean;
}

/** A user of this machine. */
export const unrestrictedViewer: Viewer = {
  user: "this machine",
  login: false,
  seesAll: true,
  learn: () => Promise.resolve(),
  version: 0,
  isIncomplete: false,
  may: () => true,
};

export interface Authenticator {
  /** Throws a LoginError if the user is unknown. */
  viewerOf(
    request: { readonly authorization?: string; readonly cookie?: string; readonly from: string },
    signal: AbortSignal,
  ): Promise<Viewer>;
  /** Whether the request's Host header is one of ours. */
  knowsHost(host: string): boolean;
  /** The cookie of the token; unset without logins. */
  readonly cookie?: string;
}

const NAMES = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/;

/** On a loopback address every local user may look. DNS rebinding is rejected. */
export const loopbackViewer: Authenticator = {
  viewerOf: () => Promise.resolve(unrestrictedViewer),
  knowsHost: (host) => NAMES.test(host),
};

/** Not logged in (401), not permitted (403), too many attempts (429), or not reviewed (503). */
export class LoginError extends Error {
  override readonly name = "LoginError";
  readonly code: "NoToken" | "Rejected" | "TooMany" | "Unreachable";
  readonly status: 401 | 429 | 503;

  constructor(code: LoginError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.status = code === "TooMany" ? 429 : code === "Unreachable" ? 503 : 401;
  }
}
