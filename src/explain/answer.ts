import type { Domain, Health, Remedy, Thing } from "../api/health.ts";

/** What is known of one thing, all in all. */
export interface Verdict {
  readonly id: string;
  readonly thing: Thing;
  readonly domain: Domain;
  /** Its own word and that of everything it needs. */
  readonly health: Health;
  readonly reason?: string;
  readonly message?: string;
  readonly since?: string;
  readonly remedy?: Remedy;
}

/** Something that is wrong and that nothing below explains. */
export interface Cause extends Verdict {
  /** What is wrong because of it, the nearest first. */
  readonly symptoms: readonly Verdict[];
}

/** A thing and, below it, what it needs that is not well, down to the causes. A thing that stands in several places is drawn out at the first. */
export interface Step extends Verdict {
  readonly cause: boolean;
  readonly needs: readonly Step[];
}

/** The answer to `why KIND/NAME`. Without causes: nothing is wrong with it. */
export interface Answer {
  readonly path: Step;
  readonly causes: readonly Cause[];
}
