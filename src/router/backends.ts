import type { FragmentOutcome, OwnedLine, ReadBackResult } from "../frr/apply.ts";
import { masked } from "../frr/entry.ts";
import type { Fragment } from "../frr/fragment.ts";
import { type RejectedLine, rejectionText } from "../frr/transaction.ts";
import type { LinkName } from "../hostnet/apply.ts";
import type { SysctlOutcome } from "../hostnet/sysctls.ts";
import type { NetnsRole, DesiredLink } from "../hostnet/desired-link.ts";

export type LostLine = OwnedLine;
type LinkOutcome = Promise<{ readonly changed: number; readonly rejected?: Error }>;
type LineOutcome = Promise<Omit<FragmentOutcome, "lines">>;

/** Implemented by hostnet/. */
export interface LinkBackend {
  readonly have: Readonly<
    Record<NetnsRole, ReadonlyMap<string, { readonly name: string; readonly alias: string; readonly group?: string }>>
  >;
  apply(links: readonly DesiredLink[]): LinkOutcome;
  remove(links: readonly LinkName[]): LinkOutcome;
  sysctls(wanted: Readonly<Record<string, string>>, role: NetnsRole): Promise<Pick<SysctlOutcome, "changed" | "unwritable">>;
}

/** Implemented by frr/. */
export interface FrrBackend {
  apply(fragment: Fragment): LineOutcome;
  applyRaw(fragment: Fragment): LineOutcome;
  remove(owner: string): LineOutcome;
  rebuild(fragments: readonly Fragment[]): LineOutcome;
  /** `keepForeign`: lines without an owner stay. */
  finish(options: { repair?: boolean; keepForeign?: boolean }): Promise<ReadBackResult>;
}

export interface RouterBackends {
  readonly kernel: LinkBackend;
  readonly daemons: FrrBackend;
  /** FRR lines that every plan has. */
  readonly base: Fragment;
  /** Waits for the API server after an interface was moved. */
  apiAnswers(): Promise<boolean>;
  /** FRR will be emptied and configured again with these resources. */
  onRebuild(owners: ReadonlySet<string>): void;
}

/** Caught within the pass: it becomes the failure of that resource. */
export class BackendError extends Error {
  override readonly name = "BackendError";
  readonly source: "kernel" | "FRR";

  constructor(message: string, { cause, source = "kernel" }: { cause?: unknown; source?: BackendError["source"] } = {}) {
    super(message, { cause });
    this.source = source;
  }

  static of(error: Error & { readonly code?: string }): BackendError {
    // The namespace is gone, or nothing answers: no fault of a resource.
    if (error.code !== undefined && error.code !== "Rejected") throw error;
    return new BackendError(error.message, { cause: error });
  }

  static ofLine({ line, daemon, text }: RejectedLine): BackendError {
    return new BackendError(rejectionText({ line: masked(line), daemon, text: masked(text) }), { source: "FRR" });
  }

  /** The same, if the rollback failed too. */
  also(undoing: BackendError): BackendError {
    return new BackendError(`${this.message}; rollback failed: ${undoing.message}`, { cause: this.cause, source: this.source });
  }
}
