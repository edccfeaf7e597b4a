import type { ObjectMeta } from "../../api/kind.ts";
import type { Prefix } from "../../ip/prefix.ts";
import type { Attempt } from "../history/attempt.ts";
import { nextSeq, type Probed, type ReachableState } from "../history/history.ts";
import { historyState, reduce } from "../history/reduce.ts";
import type { CheckJournal } from "../journal/journal.ts";
import type { JournalEntry } from "../journal/replay.ts";
import { ProbeScheduler, type ProbeSchedulerOptions } from "../probe/scheduler.ts";
import { forbiddenReason } from "../probe/special-addresses.ts";
import { probeAnnotation } from "../../api/annotations.ts";
import { parseProbedTarget, parseTarget, type Target, type TargetProblem, withProbe } from "../probe/target.ts";
import type { UnknownReason } from "../history/reasons.ts";

export interface OfflineOptions extends Pick<ProbeSchedulerOptions, "probe" | "intervalMs"> {
  readonly journal: Pick<CheckJournal, "append">;
  readonly allowed: readonly Prefix[];
}

/** Reasons with which the source itself does not probe. */
const NOT_TRIED: ReadonlySet<string> = new Set<UnknownReason>(["Retired", "InvalidTarget", "InvalidProbe", "TargetRefused"]);

/**
 * A source that starts while the API is unreachable continues with the known checks, by the uid of the check, until the signal. The results
 * are in `recovered` and in the journal, and reach the API later.
 */
export async function probeWithoutApi(recovered: Map<string, JournalEntry>, options: OfflineOptions, signal: AbortSignal): Promise<void> {
  const { journal, allowed, ...rounding } = options;
  const learn = (uid: string, attempt: Attempt): void => {
    const known = recovered.get(uid);
    const history = known && reduce(known.history, attempt);
    if (!history || history === known.history) return;
    recovered.set(uid, { ...known, history });
    void journal.append(uid, attempt);
  };
  const rounds = new ProbeScheduler({ ...rounding, onAttempt: learn });
  for (const [uid, { history }] of recovered) {
    const { target, verdict } = historyState(history);
    if (target === undefined || NOT_TRIED.has(verdict.reason)) continue;
    const aim = allowedTarget(storedTarget(target, history.probed), allowed);
    if (!("reason" in aim)) rounds.set(uid, aim, nextSeq(history));
  }
  await rounds.run(signal);
}

export interface NotProbed {
  readonly reason: UnknownReason;
  readonly message: string;
}

const MOST_FAULTS = 3;

/** Why it is unknown whether the target is reachable. A single fault after a result is ignored, several in a row are not. */
export function doubtAfter(
  faults: number,
  { fault = "", isNotObserved }: Pick<Attempt, "fault" | "isNotObserved">,
  before: Pick<ReachableState, "reason">,
): NotProbed | undefined {
  const isFirst = before.reason === "NoResultYet";
  if (faults >= MOST_FAULTS || (isFirst && isNotObserved)) return { reason: isNotObserved ? "NotObserved" : "SourceFault", message: fault };
  return isFirst ? { reason: "NoResultYet", message: `No result yet: ${fault}` } : undefined;
}

export function probeTarget(endpoint: string, { annotations }: ObjectMeta, allowed: readonly Prefix[]): Target | NotProbed {
  const target = parseTarget(endpoint);
  if ("problem" in target) return { reason: "InvalidTarget", message: target.problem };
  const probed = parseProbedTarget(endpoint, annotations?.[probeAnnotation]);
  if ("problem" in probed) return { reason: "InvalidProbe", message: probed.problem };
  return allowedTarget(probed, allowed);
}

function storedTarget(text: string, probed: Probed | undefined): Target | TargetProblem {
  const target = parseTarget(probed?.endpoint ?? text);
  return probed && !("problem" in target) ? withProbe(target, probed.probe) : target;
}

function allowedTarget(target: Target | TargetProblem, allowed: readonly Prefix[]): Target | NotProbed {
  if ("problem" in target) return { reason: "InvalidTarget", message: target.problem };
  const problem = target.address && forbiddenReason(target.address, allowed);
  return problem === undefined ? target : { reason: "TargetRefused", message: problem };
}
