import type { KindInNamespace } from "../rows/row-builder.ts";

/** Who looks, and at what he may look. */
export interface Viewer {
  readonly user: string;
  /** Whether there is a login that he could end. */
  readonly login: boolean;
  /** He may see everything: nothing is asked for him. */
  readonly seesAll: boolean;
  /** Finds out what he may list of these, where that is not known or was found out long ago. Throws a LoginError when he may no longer look at all. */
  learn(refs: Iterable<KindInNamespace>, signal: AbortSignal): Promise<void>;
  /** Another number whenever it turns out that he may see more or less than before. */
  readonly version: number;
  /** Whether there was more to find out than is asked about: then what he may see is missing. */
  readonly isIncomplete: boolean;
  /** As it was found out; no for what was not. */
  may(ref: KindInNamespace): boolean;
}

/** Whoever sits at this machine. */
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
  /** Who asks; throws a LoginError where that is not known. */
  viewerOf(
    request: { readonly authorization?: string; readonly cookie?: string; readonly from: string },
    signal: AbortSignal,
  ): Promise<Viewer>;
  /** Whether the host that the browser asked for is one of ours. */
  knowsHost(host: string): boolean;
  /** The cookie that a token is kept in; none where nobody has to say who he is. */
  readonly cookie?: string;
}

const NAMES = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/;

/** On a loopback address: whoever sits at the machine may look. A site elsewhere whose name was made to lead here may not. */
export const loopbackViewer: Authenticator = {
  viewerOf: () => Promise.resolve(unrestrictedViewer),
  knowsHost: (host) => NAMES.test(host),
};

/** Why someone may not look: he has not said who he is (401), or is not known to be allowed to (403), has tried too often (429), or could not be asked about (503). */
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
