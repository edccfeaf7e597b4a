import { masked } from "../frr/entry.ts";
import type { Fragment } from "../frr/fragment.ts";
import type { Place, WantedLink } from "../hostnet/desired-link.ts";

type Named = Pick<WantedLink, "place" | "name">;
type LinkOutcome = Promise<{ readonly changed: number; readonly refused?: Error }>;

/** The kernel's side of a pass; hostnet/ has the real one. */
export interface Kernel {
  readonly have: Readonly<Record<Place, ReadonlyMap<string, { readonly name: string; readonly alias: string; readonly group?: string }>>>;
  bring(links: readonly WantedLink[]): LinkOutcome;
  remove(links: readonly Named[]): LinkOutcome;
  sysctls(wanted: Readonly<Record<string, string>>, place: Place): Promise<{ readonly changed: readonly string[] }>;
}

export interface RefusedLine {
  readonly line: string;
  readonly daemon: string;
  readonly words: string;
}

interface LineOutcome {
  readonly sent: number;
  readonly refused?: RefusedLine;
  /** It cannot be said in lines; nothing was sent. */
  readonly rebuild?: boolean;
}

export interface LostLine {
  readonly owner: string;
  readonly line: string;
}

interface Finished {
  readonly foreign: readonly string[];
  readonly differed: readonly string[];
  /** What someone else had taken away, and was put back. */
  readonly restored?: readonly LostLine[];
  /** What FRR took and does not have. */
  readonly lost?: readonly LostLine[];
}

/** FRR's side of a pass; frr/ has the real one. */
export interface Daemons {
  bring(fragment: Fragment): Promise<LineOutcome>;
  bringRaw(fragment: Fragment): Promise<LineOutcome>;
  remove(owner: string): Promise<LineOutcome>;
  rebuild(fragments: readonly Fragment[]): Promise<LineOutcome>;
  /** `keepForeign`: lines that belong to nobody stay. */
  finish(options: { repair?: boolean; keepForeign?: boolean }): Promise<Finished>;
}

/** All that a pass acts upon. */
export interface Ground {
  readonly kernel: Kernel;
  readonly daemons: Daemons;
  /** What FRR is told whatever the plan. */
  readonly base: Fragment;
  /** Whether the API server answers, now that an interface was moved; waits for it. */
  apiAnswers(): Promise<boolean>;
  /** FRR is about to be emptied and set up anew, with all of these. */
  onRebuild(owners: ReadonlySet<string>): void;
}

/** The kernel or FRR does not take what one resource asks for. Never leaves the pass: it becomes that resource's failure. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly source: "kernel" | "FRR";

  constructor(message: string, { cause, source = "kernel" }: { cause?: unknown; source?: Refusal["source"] } = {}) {
    super(message, { cause });
    this.source = source;
  }

  static of(error: Error & { readonly code?: string }): Refusal {
    // The namespace is gone, or nothing answers: no resource is to blame for that.
    if (error.code !== undefined && error.code !== "Refused") throw error;
    return new Refusal(error.message, { cause: error });
  }

  /** The same, where the way back was refused as well. */
  also(undoing: Refusal): Refusal {
    return new Refusal(`${this.message}; undoing it failed too: ${undoing.message}`, { cause: this.cause, source: this.source });
  }

  static ofLine({ line, daemon, words }: RefusedLine): Refusal {
    // Text that a person wrote is refused as a whole, and the words tell which of its lines it was.
    const message = line === "" ? `FRR refused it: ${masked(words)}` : `${daemon} refused "${masked(line)}": ${masked(words)}`;
    return new Refusal(message, { source: "FRR" });
  }
}
