import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { keyOf } from "../../api/kind.ts";
import type { Prefix } from "../../ip/prefix.ts";
import type { Cache, Change } from "../../kube/cache/cache.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import { finishesWithin } from "../../util/time-limit.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { Log } from "../../kube/log.ts";
import type { StatusWriter } from "../../kube/status/status-writer.ts";
import { lastResultOf, reachableOf } from "../history/activity.ts";
import { type Attempt, INTERVAL_MS } from "../history/attempt.ts";
import { type CheckHistory, nextSeq } from "../history/history.ts";
import { transitionBetween } from "../history/transition.ts";
import { markUnknown, historyState, reduce } from "../history/reduce.ts";
import { statusOf } from "../history/status.ts";
import type { CheckJournal } from "../journal/journal.ts";
import type { JournalEntry } from "../journal/replay.ts";
import { retiredAnnotation } from "../../api/annotations.ts";
import { ProbeScheduler, type ProbeSchedulerOptions } from "../probe/scheduler.ts";
import type { Target } from "../probe/target.ts";
import { checksUnreachable } from "../metrics.ts";
import { probeTarget, type NotProbed, probeWithoutApi } from "./offline.ts";
import { checkpointMs, type WriterClaim, claimCheck, type CheckWriter } from "./status-rules.ts";
import { restoreHistory } from "../history/from-status.ts";
import { OtherWriters } from "./other-writers.ts";
import { outageEvents, type RecordedOutages } from "../history/outage-events.ts";

type Check = PodNetworkConnectivityCheck;

export interface CheckerOptions {
  checks: Pick<Cache<Check>, "get" | "subscribe" | "onConnection" | "waitForSync">;
  /** This process, for others who make the same checks. */
  claimant: CheckWriter;
  log: Log;
  /** What this source has to try for the check; undefined for the checks of others. */
  targetOf: (check: Check) => string | undefined;
  writer: Pick<StatusWriter<Check>, "set" | "forget">;
  events: Pick<EventRecorder, "record">;
  journal: Pick<CheckJournal, "snapshot" | "append" | "recordEvents" | "forget">;
  /** What the journal knew before, by the uid of the check. */
  recovered: ReadonlyMap<string, JournalEntry>;
  /** Addresses that may be tried although they are special. */
  allowed: readonly Prefix[];
  intervalMs?: number;
  probe: ProbeSchedulerOptions["probe"];
}

interface Followed {
  readonly uid: string;
  readonly claim: WriterClaim;
  history: CheckHistory;
  recorded: RecordedOutages;
  /** When the API was last told, by the clock that nobody sets. */
  reportedAt: number;
  /** How much of the time between two checkpoints it waits for the next one. */
  wait: number;
  /** Which generation of the check the last report was about. */
  generation: number | undefined;
  /** The API was told everything. */
  isReported: boolean;
  /** Counted among those that are not reached. */
  isOut: boolean;
  /** So many attempts in a row said nothing, because the source itself could not try. */
  faults: number;
}

const MOST_FAULTS = 3;
/** So long after its start a source waits for the API, before it goes on with what it tried before. */
const AWAY_MS = 10_000;

/** The checks of one source, for as long as it runs: tried in turn, remembered, reduced and reported. */
export class Checker implements Runnable {
  readonly name = "checks";
  readonly #options: CheckerOptions;
  readonly #followed = new Map<string, Followed>();
  /** By the uid of the check, what is known of those that are not followed yet. */
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
    // What is missing from a view that is not whole has not been deleted.
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
      // The last word, as far as the writer gets in the time that it takes for its end.
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

  /** What was deleted while this source did not run. */
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
    // Another process still makes it, and must hear that it is ours now.
    if (own && isOthersResult(change, this.#options.claimant)) this.#report(key, followed);
  }

  /** Makes a check that was somebody else's. */
  #take(key: string): void {
    const object = this.#options.checks.get(key);
    if (object) this.#onChange({ type: "added", object, initial: false });
  }

  /** What to try, or why nothing is tried. */
  #aim({ metadata }: Check, text: string): Target | NotProbed {
    const retired = metadata.annotations?.[retiredAnnotation];
    if (retired === undefined) return probeTarget(text, this.#options.allowed);
    return { reason: "Retired", message: `Stopped at ${retired}: its mesh no longer requires it` };
  }

  #try(key: string, followed: Followed, target: Target, check: Check): void {
    this.#rounds.set(key, target, nextSeq(followed.history));
    // Edited without a change of what is tried: the results so far are about the new generation as well.
    if (isEdited(followed, check) && historyState(followed.history).target === target.text) this.#report(key, followed);
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
    // What the API knows better has been told by whoever wrote it.
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
    if (attempt.fault !== undefined) this.#countFault(key, followed, attempt.fault);
    if (after === before) return;
    followed.faults = 0;
    followed.history = after;
    followed.isReported = false;
    void this.#options.journal.append(followed.uid, attempt);
    if (transitionBetween(before, after) !== undefined) this.#report(key, followed);
    else if (this.#isDue(check, followed)) this.#report(key, followed, 1);
  }

  /** One says nothing. Of a target that could not be tried several times in a row nobody knows whether it is still reached. */
  #countFault(key: string, followed: Followed, fault: string): void {
    followed.faults += 1;
    if (historyState(followed.history).verdict.reason === "NoResultYet")
      this.#doubt(key, followed, { reason: "NoResultYet", message: `No result yet: ${fault}` });
    else if (followed.faults >= MOST_FAULTS) this.#doubt(key, followed, { reason: "SourceFault", message: fault });
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

  /** Checks that fail together are written together: after that each waits for a while of its own, so that they are not refreshed together. */
  #report(key: string, followed: Followed, wait = Math.random()): void {
    const { uid, claim, history } = followed;
    followed.reportedAt = performance.now();
    followed.wait = wait;
    followed.generation = this.#options.checks.get(key)?.metadata.generation;
    followed.isReported = true;
    count(followed);
    this.#options.writer.set(key, { uid, status: statusOf(history, followed.generation, claim) });
  }

  /** Only of what the API holds: an outage that happened while it was away is told when it is back. */
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

/** Whether the check was edited since it was last reported on. */
function isEdited({ generation }: Followed, { metadata }: Check): boolean {
  return generation !== undefined && generation !== metadata.generation;
}

/** Whether a process other than this one has just written a result. */
function isOthersResult(change: Change<Check>, { name }: CheckWriter): boolean {
  if (change.type !== "updated") return false;
  const writer = change.object.status?.writer;
  return writer !== undefined && writer.name !== name && lastResultOf(change.old) !== lastResultOf(change.object);
}
