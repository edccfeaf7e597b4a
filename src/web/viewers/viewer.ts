import type { Ref } from "../picture/scene.ts";

/** Who looks, and at what he may look. */
export interface Viewer {
  readonly user: string;
  /** Whether there is a login that he could end. */
  readonly login: boolean;
  /** He may see everything: nothing is asked for him. */
  readonly seesAll: boolean;
  /** Finds out what he may list of these, where that is not known or was found out long ago. Returns whether he may now see more or less than before; throws a LoginError when he may no longer look at all. */
  learn(refs: Iterable<Ref>, signal: AbortSignal): Promise<boolean>;
  /** As it was found out; no for what was not. */
  may(ref: Ref): boolean;
}

/** Whoever sits at this machine. */
export const anyone: Viewer = {
  user: "this machine",
  login: false,
  seesAll: true,
  learn: () => Promise.resolve(false),
  may: () => true,
};
