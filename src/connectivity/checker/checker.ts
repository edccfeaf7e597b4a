import { isDeepStrictEqual } from "node:util";
import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { keyOf } from "../../api/kind.ts";
import type { Prefix } from "../../ip/prefix.ts";
import type { Cache, Change } from "../../kube/cache/cache.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import { finishesWithin } from "../../util/deadline.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { Log } from "../../kube/log.ts";
import type { StatusWriter } from "../../kube/status/status-writer.ts";
import { lastResultOf, reachableOf } from "../history/activity.ts";
import { type Attempt, INTERVAL_MS } from "../history/attempt.ts";
import { type CheckHistory, nextSeq } from "../history/history.ts";
import { transitionBetween, markUnknown, historyState, reduce } from "../history/reduce.ts";
import { statusOf } from "../history/status.ts";
import type { CheckJournal } from "../journal/journal.ts";
import type { JournalEntry } from "../journal/replay.ts";
import { retiredAnnotation } from "../../api/annotations.ts";
import { ProbeScheduler, type ProbeSchedulerOptions } from "../probe/scheduler.ts";
import type { Target } from "../probe/target.ts";
import { checksUnreachable } from "../metrics.ts";
import { doubtAfter, probeTarget, type NotProbed, probeWithoutApi } from "./offline.ts";
import { checkpointMs, type WriterClaim, claimCheck, type CheckWriter } from "./status-rules.ts";
import { restoreHistory } from "../history/from-status.ts";
import { OtherWriters } from "./other-writers.ts";
import { outageEvents, type RecordedOutages } from "../history/outage-events.ts";

type Check = PodNetworkConnectivityCheck;

export interface CheckerOptions {
  checks: Pick<Cache<Check>, "get" | "subscribe" | "onConnection" | "waitForSync">;
  /** Identifies this process to others with the same checks. */
  claimant: CheckWriter;
  log: Log;
  /** The target of a check of this source; undefined for other checks. */
  targetOf: (check: Check) => string | undefined;
  writer: Pick<StatusWriter<Check>, "set" | "forget">;
  events: Pick<EventRecorder, "record">;
  journal: Pick<CheckJournal, "snapshot" | "append" | "recordEvents" | "forget">;
  /** From the journal, by the uid of the check. */
  recovered: ReadonlyMap<string, JournalEntry>;
  /** Special addresses that are allowed. */
  allowed: readonly Prefix[];
  intervalMs?: number;
  probe: ProbeSchedulerOptions["probe"];
}

interface Followed {
  readonly uid: string;
  readonly claim: WriterClaim;
  history: CheckHistory;
  recorded: RecordedOutages;
  /** The last report, in monotonic milliseconds. */
  reportedAt: number;
  /** The fraction of a checkpoint interval before the next one. */
  wait: number;
  /** The generation of the check at the last report. */
  generation: number | undefined;
  /** Everything is reported. */
  isReported: boolean;
  isOut: boolean;
  /** Consecutive attempts without a result because of a local fault. */
  faults: number;
}

/** How long a source waits for the API at its start before it continues with the known checks. */
const AWAY_MS = 10_000;

/** The checks of one source: probed, recorded in the journal, reduced to a status and reported. */
export class Checker implements Runnable {
  readonly name = "checks";
  readonly #options: CheckerOptions;
  readonly #followed = new Map<string, Followed>();
  /** By the uid of the check; not yet assigned to a check. */
  readonly #recovered: Map<string, JournalEntry>;
  readonly #rounds: ProbeScheduler;
  readonly #others: OtherWriters;
  #isHearing = true;

  constructor(options: CheckerOptions) {
    this.#options = options;
    this.#recovered = new Map(options.recovered);
    this.#rounds = new ProbeScheduler({ ...options, onAttempt: (key, attempt) => this.#learn(key, attempt) });
    this.#others = new OtherWriters({
      log: options.log,
      isHearing: () => this.#isHearing,
      onSilent: (key) => this.#take(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { checks } = this.#options;
    // A check that is missing from an incomplete cache is not deleted.
    await this.#awaitView(signal);
    if (signal.aborted) return;
    const disconnect = checks.onConnection((state) => (this.#isHearing = state === "connected"));
    const unsubscribe = checks.subscribe((change) => this.#onChange(change));
    this.#forgetGone();
    try {
      await this.#rounds.run(signal);
    } finally {
      unsubscribe();
      disconnect();
      this.#others.end();
      // The last results, as far as the writer gets before it ends.
      for (const [key, followed] of this.#followed) if (!followed.isReported) this.#report(key, followed);
    }
  }

  async #awaitView(signal: AbortSignal): Promise<void> {
    const { checks } = this.#options;
    const view = checks.waitForSync(signal).catch(() => undefined);
    if (await finishesWithin(AWAY_MS, view)) return;
    const back = new AbortController();
    const trying = probeWithoutApi(this.#recovered, this.#options, AbortSignal.any([signal, back.signal]));
    await Promise.race([view, trying]);
    back.abort();
    await trying;
  }

  #forgetGone(): void {
    const known = new Set(this.#followed.values().map(({ uid }) => uid));
    for (const uid of this.#recovered.keys()) if (!known.has(uid)) void this.#options.journal.forget(uid);
    this.#recovered.clear();
  }

  #onChange(change: Change<Check>): void {
    const { object } = change;
    const key = keyOf(object);
    const target = change.type === "deleted" ? undefined : this.#options.targetOf(object);
    const known = this.#followed.get(key);
    if (known && (target === undefined || known.uid !== object.metadata.uid)) this.#leave(key, known);
    if (target === undefined) return this.#others.forget(key);
    const own = this.#followed.get(key)?.claim;
    if (this.#others.have(key, object, own)) {
      if (own) this.#drop(key);
      return;
    }
    const followed = this.#followed.get(key) ?? this.#follow(key, object);
    this.#tell(object, followed);
    const aim = this.#aim(object, target);
    if ("reason" in aim) this.#stopTrying(key, followed, aim, object);
    else this.#try(key, followed, aim, object);
    // Another process still probes it, and must learn that it is ours now.
    if (own && isOthersResult(change, this.#options.claimant)) this.#report(key, followed);
  }

  /** Takes over a check from another process. */
  #take(key: string): void {
    const object = this.#options.checks.get(key);
    if (object) this.#onChange({ type: "added", object, initial: false });
  }

  /** The target, or why it is not probed. */
  #aim({ metadata }: Check, text: string): Target | NotProbed {
    const retired = metadata.annotations?.[retiredAnnotation];
    if (retired === undefined) return probeTarget(text, metadata, this.#options.allowed);
    return { reason: "Retired", message: `Stopped at ${retired}: its mesh no longer requires it` };
  }

  #try(key: string, followed: Followed, target: Target, check: Check): void {
    this.#rememberProbe(followed, target);
    this.#rounds.set(key, target, nextSeq(followed.history));
    // Edited without a change of the target: the results apply to the new generation as well.
    if (isEdited(followed, check) && historyState(followed.history).target === target.text) this.#report(key, followed);
  }

  /** For a start without the API. */
  #rememberProbe(followed: Followed, { probed }: Target): void {
    const { past, recent, probed: known } = followed.history;
    if (isDeepStrictEqual(probed, known)) return;
    followed.history = { past, recent, ...(probed && { probed }) };
    void this.#options.journal.snapshot(followed.uid, followed.history);
  }

  #stopTrying(key: string, followed: Followed, why: NotProbed, check: Check): void {
    this.#rounds.remove(key);
    this.#doubt(key, followed, why);
    if (!followed.isReported || isEdited(followed, check)) this.#report(key, followed);
  }

  #doubt(key: string, followed: Followed, why: NotProbed): void {
    const doubtful = markUnknown(followed.history, { ...why, at: Date.now() });
    if (doubtful === followed.history) return;
    followed.history = doubtful;
    void this.#options.journal.snapshot(followed.uid, doubtful);
    this.#report(key, followed);
  }

  #follow(key: string, check: Check): Followed {
    const { journal } = this.#options;
    const uid = check.metadata.uid ?? "";
    const recalled = this.#recovered.get(uid);
    const { history, isPublished, isNews } = restoreHistory(recalled?.history, check, Date.now());
    // A result that the API has from another writer was already reported by it.
    const remembered = isPublished ? undefined : recalled?.recorded;
    const recorded = remembered ?? outageEvents(check, { opened: -Infinity, closed: -Infinity }).recorded;
    const reportedAt = isNews ? -Infinity : performance.now();
    const followed: Followed = {
      uid,
      claim: claimCheck(check, this.#options.claimant),
      history,
      recorded,
      reportedAt,
      wait: Math.random(),
      generation: reachableOf(check)?.observedGeneration,
      isReported: isPublished,
      isOut: false,
      faults: 0,
    };
    this.#followed.set(key, followed);
    count(followed);
    void journal.snapshot(uid, history);
    if (!remembered) void journal.recordEvents(uid, recorded);
    return followed;
  }

  #leave(key: string, { uid }: Followed): void {
    this.#drop(key);
    void this.#options.journal.forget(uid);
  }

  #drop(key: string): void {
    if (this.#followed.get(key)?.isOut) checksUnreachable.dec();
    this.#followed.delete(key);
    this.#rounds.remove(key);
    this.#options.writer.forget(key);
  }

  #learn(key: string, attempt: Attempt): void {
    const followed = this.#followed.get(key);
    const check = this.#options.checks.get(key);
    if (!followed || !check) return;
    const before = followed.history;
    const after = reduce(before, attempt);
    if (attempt.fault !== undefined) this.#countFault(key, followed, attempt);
    if (after === before) return;
    followed.faults = 0;
    followed.history = after;
    followed.isReported = false;
    void this.#options.journal.append(followed.uid, attempt);
    if (transitionBetween(before, after) !== undefined) this.#report(key, followed);
    else if (this.#isDue(check, followed)) this.#report(key, followed, 1);
  }

  #countFault(key: string, followed: Followed, attempt: Attempt): void {
    followed.faults += 1;
    const why = doubtAfter(followed.faults, attempt, historyState(followed.history).verdict);
    if (why) this.#doubt(key, followed, why);
  }

  #isDue(check: Check, { reportedAt, wait, history }: Followed): boolean {
    const { intervalMs = INTERVAL_MS } = this.#options;
    const period = checkpointMs(check, this.#followed.size);
    return (
      period <= intervalMs ||
      performance.now() - reportedAt >= period * wait ||
      reachableOf(check)?.status !== historyState(history).verdict.status
    );
  }

  /** Checks that fail together are written together; later refreshes are spread by a random wait. */
  #report(key: string, followed: Followed, wait = Math.random()): void {
    const { uid, claim, history } = followed;
    followed.reportedAt = performance.now();
    followed.wait = wait;
    followed.generation = this.#options.checks.get(key)?.metadata.generation;
    followed.isReported = true;
    count(followed);
    this.#options.writer.set(key, { uid, status: statusOf(history, followed.generation, claim) });
  }

  /** Only for stored statuses: an outage while the API was unreachable is reported when it is back. */
  #tell(check: Check, followed: Followed): void {
    const { texts, recorded } = outageEvents(check, followed.recorded);
    if (texts.length === 0) return;
    for (const text of texts) this.#options.events.record(check, text);
    followed.recorded = recorded;
    void this.#options.journal.recordEvents(followed.uid, recorded);
  }
}

function count(followed: Followed): void {
  const isOut = historyState(followed.history).verdict.status === "False";
  if (isOut !== followed.isOut) checksUnreachable.inc(isOut ? 1 : -1);
  followed.isOut = isOut;
}

function isEdited({ generation }: Followed, { metadata }: Check): boolean {
  return generation !== undefined && generation !== metadata.generation;
}

function isOthersResult(change: Change<Check>, { name }: CheckWriter): boolean {
  if (change.type !== "updated") return false;
  const writer = change.object.status?.writer;
  return writer !== undefined && writer.name !== name && lastResultOf(change.old) !== lastResultOf(change.object);
}
