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
