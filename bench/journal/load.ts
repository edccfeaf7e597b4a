import type { Attempt } from "../../src/connectivity/history/attempt.ts";

export interface Measured {
  msPerThousand: number;
}

/** The newest attempt of each check that was acknowledged. */
export interface Acknowledged {
  seqs: readonly number[];
}

export const uidOf = (check: number) => `00000000-0000-4000-8000-${String(check).padStart(12, "0")}`;

export type Append = (check: number, attempt: Attempt) => Promise<unknown>;

/** Appends for many checks, of which each goes on only when its last attempt is on the disk, and keeps what was acknowledged of each. */
export class Load {
  readonly seqs: number[];
  readonly #append: Append;

  constructor(checks: number, append: Append) {
    this.seqs = Array.from({ length: checks }, () => 0);
    this.#append = append;
  }

  async run(entries: number): Promise<Measured> {
    const started = performance.now();
    let left = entries;
    await Promise.all(
      this.seqs.map(async (_, check) => {
        while (left-- > 0) {
          const seq = (this.seqs[check] ?? 0) + 1;
          await this.#append(check, attemptOf(check, seq));
          this.seqs[check] = seq;
        }
      }),
    );
    return { msPerThousand: ((performance.now() - started) / entries) * 1000 };
  }
}

function attemptOf(check: number, seq: number): Attempt {
  const target = `10.0.${check}.23:2379`;
  const at = 1_790_000_000_000 + seq * 60_000;
  const reachable = seq % 10 !== 0;
  const message = reachable ? `Connected to ${target}` : `Failed connect to ${target}; No route to host`;
  return { seq, at, target, reachable, actions: [{ outcome: reachable ? "ConnectDone" : "ConnectError", at, latencyMs: 0.512, message }] };
}
