import { masked } from "../frr/entry.ts";
import type { Fragment } from "../frr/fragment.ts";
import type { NetnsRole, DesiredLink } from "../hostnet/desired-link.ts";

type Named = Pick<DesiredLink, "place" | "name">;
type LinkOutcome = Promise<{ readonly changed: number; readonly refused?: Error }>;

/** The kernel's side of a pass; hostnet/ has the real one. */
export interface LinkBackend {
  readonly have: Readonly<
    Record<NetnsRole, ReadonlyMap<string, { readonly name: string; readonly alias: string; readonly group?: string }>>
  >;
  bring(links: readonly DesiredLink[]): LinkOutcome;
  remove(links: readonly Named[]): LinkOutcome;
  sysctls(wanted: Readonly<Record<string, string>>, role: NetnsRole): Promise<{ readonly changed: readonly string[] }>;
}

export interface RejectedFrrLine {
  readonly line: string;
  readonly daemon: string;
  readonly words: string;
}

interface LineOutcome {
  readonly sent: number;
  readonly refused?: RejectedFrrLine;
  /** Lines cannot express the change; nothing was sent. */
  readonly rebuild?: boolean;
}

export interface LostLine {
  readonly owner: string;
  readonly line: string;
}

interface Finished {
  readonly foreign: readonly string[];
  readonly differed: readonly string[];
  /** Lines that were removed from outside and are restored. */
  readonly restored?: readonly LostLine[];
  /** Lines that FRR accepted but does not have. */
  readonly lost?: readonly LostLine[];
}

/** FRR's side of a pass; frr/ has the real one. */
export interface FrrBackend {
  bring(fragment: Fragment): Promise<LineOutcome>;
  bringRaw(fragment: Fragment): Promise<LineOutcome>;
  remove(owner: string): Promise<LineOutcome>;
  rebuild(fragments: readonly Fragment[]): Promise<LineOutcome>;
  /** `keepForeign`: lines without an owner stay. */
  finish(options: { repair?: boolean; keepForeign?: boolean }): Promise<Finished>;
}

/** What a pass acts on. */
export interface RouterBackends {
  readonly kernel: LinkBackend;
  readonly daemons: FrrBackend;
  /** FRR lines that every plan has. */
  readonly base: Fragment;
  /** Whether the API server answers, now that an interface was moved; waits for it. */
  apiAnswers(): Promise<boolean>;
  /** FRR is about to be emptied and set up again with these resources. */
  onRebuild(owners: ReadonlySet<string>): void;
}

/** The kernel or FRR rejects a resource. Never leaves the pass: it becomes the failure of that resource. */
export class BackendError extends Error {
  override readonly name = "Refusal";
  readonly source: "kernel" | "FRR";

  constructor(message: string, { cause, source = "kernel" }: { cause?: unknown; source?: BackendError["source"] } = {}) {
    super(message, { cause });
    this.source = source;
  }

  static of(error: Error & { readonly code?: string }): BackendError {
    // The namespace is gone, or nothing answers: not the fault of a resource.
    if (error.code !== undefined && error.code !== "Refused") throw error;
    return new BackendError(error.message, { cause: error });
  }

  /** The same, if the rollback failed too. */
  also(undoing: BackendError): BackendError {
    return new BackendError(`${this.message}; rollback failed: ${undoing.message}`, { cause: this.cause, source: this.source });
  }

  static ofLine({ line, daemon, words }: RejectedFrrLine): BackendError {
    // FRR rejects raw configuration as a whole; its message names the line.
    const message = line === "" ? `FRR rejected it: ${masked(words)}` : `${daemon} rejected "${masked(line)}": ${masked(words)}`;
    return new BackendError(message, { source: "FRR" });
  }
}
