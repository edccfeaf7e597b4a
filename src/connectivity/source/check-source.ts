import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { keyOf } from "../../api/kind.ts";
import type { Prefix } from "../../ip/prefix.ts";
import type { Cache, Change } from "../../kube/cache/cache.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { StatusWriter } from "../../kube/status/status-writer.ts";
import type { Attempt } from "../attempt.ts";
import { fromStatus } from "../history/from-status.ts";
import { type History, nextSeq } from "../history/history.ts";
import { newsOf } from "../history/news.ts";
import { doubt, lastSeen, present, reduce } from "../history/reduce.ts";
import { statusOf } from "../history/status.ts";
import type { Journal } from "../journal/journal.ts";
import type { Remembered } from "../journal/replay.ts";
import { retiredMark } from "../marks.ts";
import { probe } from "../probe/probe.ts";
import { refusalOf } from "../probe/refusal.ts";
import { Rounds } from "../probe/rounds.ts";
import { parseTarget, type Target } from "../probe/target.ts";
import { checkpointMs } from "./checkpoint.ts";
import { tellings, type Told } from "./tellings.ts";

export interface CheckSourceOptions {
  checks: Cache<PodNetworkConnectivityCheck>;
  /** What this source has to try for the check; undefined for the checks of others. */
  targetOf: (check: PodNetworkConnectivityCheck) => string | undefined;
  writer: StatusWriter<PodNetworkConnectivityCheck>;
  events: EventRecorder;
  journal: Journal;
  /** What the journal knew before, by the uid of the check. */
  recovered: ReadonlyMap<string, Remembered>;
  /** Addresses that may be tried although they are special. */
  allowed: readonly Prefix[];
  intervalMs?: number;
}

interface Followed {
  readonly uid: string;
  history: History;
  told: Told;
  /** When the API was last told, by the clock that nobody sets. */
  reportedAt: number;
  /** The API was told everything. */
  isReported: boolean;
}

/** The checks of one source, for as long as it runs: tried in turn, remembered, reduced and reported. */
export class CheckSource implements Runnable {
  readonly name = "checks";
  readonly #options: CheckSourceOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #rounds: Rounds;

  constructor(options: CheckSourceOptions) {
    this.#options = options;
    this.#rounds = new Rounds({
      probe: (target, seq, signal) => probe(target, seq, { signal, allowed: options.allowed }),
      onAttempt: (key, attempt) => this.#learn(key, attempt),
      ...(options.intervalMs !== undefined && { intervalMs: options.intervalMs }),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { checks } = this.#options;
    const unsubscribe = checks.subscribe((change) => this.#hear(change));
    this.#forgetGone();
    try {
      await this.#rounds.run(signal);
    } finally {
      unsubscribe();
      // The last word, as far as the writer gets in the time that it takes for its end.
      for (const [key, followed] of this.#followed) if (!followed.isReported) this.#report(key, followed);
    }
  }

  /** What was deleted while this source did not run. */
  #forgetGone(): void {
    const { journal, recovered } = this.#options;
    const present = new Set(this.#followed.values().map(({ uid }) => uid));
    for (const uid of recovered.keys()) if (!present.has(uid)) void journal.forget(uid);
  }

  #hear(change: Change<PodNetworkConnectivityCheck>): void {
    const { object } = change;
    const key = keyOf(object);
    const target = change.type === "deleted" ? undefined : this.#options.targetOf(object);
    const known = this.#followed.get(key);
    if (known && (target === undefined || known.uid !== object.metadata.uid)) this.#leave(key, known);
    if (target === undefined) return;
    const followed = this.#followed.get(key) ?? this.#follow(key, object);
    this.#tell(object, followed);
    const aim = this.#aim(object, target);
    if ("reason" in aim) {
      this.#rounds.remove(key);
      const doubtful = doubt(followed.history, { ...aim, at: Date.now() });
      if (doubtful === followed.history) return;
      followed.history = doubtful;
      this.#report(key, followed);
    } else {
      this.#rounds.set(key, aim, nextSeq(followed.history));
    }
  }

  /** What to try, or why nothing is tried. */
  #aim({ metadata }: PodNetworkConnectivityCheck, text: string): Target | { reason: string; message: string } {
    const retired = metadata.annotations?.[retiredMark];
    if (retired !== undefined) return { reason: "Retired", message: `Not tried any more since ${retired}: its mesh no longer asks for it` };
    const target = parseTarget(text);
    if ("problem" in target) return { reason: "InvalidTarget", message: target.problem };
    const refusal = target.address && refusalOf(target.address, this.#options.allowed);
    return refusal === undefined ? target : { reason: "TargetRefused", message: refusal };
  }

  /** Whoever saw a result last knows: this source before its restart, or the API. */
  #follow(key: string, check: PodNetworkConnectivityCheck): Followed {
    const { journal, recovered } = this.#options;
    const uid = check.metadata.uid ?? "";
    const shown = fromStatus(check.status, Date.now());
    const recalled = recovered.get(uid);
    const newer = recalled && (lastSeen(recalled.history) ?? 0) >= (lastSeen(shown) ?? 0);
    const history = newer ? recalled.history : shown;
    // Without memory, what the API shows has been told by whoever wrote it.
    const told = recalled?.told ?? tellings(check, { opened: -Infinity, closed: -Infinity }).told;
    const followed: Followed = { uid, history, told, reportedAt: performance.now(), isReported: !newer };
    this.#followed.set(key, followed);
    void journal.snapshot(uid, history);
    return followed;
  }

  #leave(key: string, { uid }: Followed): void {
    const { writer, journal } = this.#options;
    this.#followed.delete(key);
    this.#rounds.remove(key);
    writer.forget(key);
    void journal.forget(uid);
  }

  #learn(key: string, attempt: Attempt): void {
    const followed = this.#followed.get(key);
    const check = this.#options.checks.get(key);
    if (!followed || !check) return;
    const before = followed.history;
    followed.history = reduce(before, attempt);
    if (followed.history === before) return;
    followed.isReported = false;
    void this.#options.journal.append(followed.uid, attempt);
    const age = performance.now() - followed.reportedAt;
    const isDue = age >= checkpointMs(check, this.#followed.size) || newsOf(before, followed.history) !== undefined;
    if (isDue || shownStatus(check) !== present(followed.history).verdict.status) this.#report(key, followed);
  }

  #report(key: string, followed: Followed): void {
    const check = this.#options.checks.get(key);
    followed.reportedAt = performance.now();
    followed.isReported = true;
    this.#options.writer.set(key, { status: statusOf(followed.history, check?.metadata.generation) });
  }

  /** Only of what the API holds: an outage that happened while it was away is told when it is back. */
  #tell(check: PodNetworkConnectivityCheck, followed: Followed): void {
    const { texts, told } = tellings(check, followed.told);
    if (texts.length === 0) return;
    for (const text of texts) this.#options.events.record(check, text);
    followed.told = told;
    void this.#options.journal.told(followed.uid, told);
  }
}

function shownStatus({ status }: PodNetworkConnectivityCheck): string | undefined {
  return status?.conditions?.find(({ type }) => type === "Reachable")?.status;
}
