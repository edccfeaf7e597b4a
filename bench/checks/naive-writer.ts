import type { LogEntry, OutageEntry, PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import type { Attempt } from "../../src/connectivity/history/attempt.ts";

type Status = NonNullable<PodNetworkConnectivityCheck["status"]>;

interface CheckState {
  successes: LogEntry[];
  failures: LogEntry[];
  outages: OutageEntry[];
  conditions: NonNullable<Status["conditions"]>;
}

/** The spec's literal way: each result is put in front of its list, the list is trimmed, and the status is written. Nothing of ours is in here. */
export class LiteralWriter {
  writes = 0;
  readonly #statuses = new Map<string, CheckState>();

  /** Whether an outage began or ended with it. */
  append(check: string, attempt: Attempt): boolean {
    const state = this.#statuses.get(check) ?? { successes: [], failures: [], outages: [], conditions: [] };
    this.#statuses.set(check, state);
    const before = state.successes.find(({ reason }) => reason === "ConnectDone")?.time;
    const entries = attempt.actions.map(({ outcome, at, latencyMs, message }): LogEntry => {
      return { time: textOf(at), success: outcome.endsWith("Done"), reason: outcome, message, latency: latencyOf(latencyMs) };
    });
    for (const entry of entries) putInFront(entry.success ? state.successes : state.failures, entry, 20);
    const decisive = entries.find(({ success, reason }) => (attempt.reachable ? reason === "ConnectDone" : !success));
    const turned = decisive !== undefined && turnOf(state, attempt.reachable, decisive, before);
    if (decisive) setCondition(state, attempt.reachable, decisive);
    this.writes += 1;
    return turned;
  }

  /** As it was written last. */
  status(check: string): Status {
    const { successes = [], failures = [], outages = [], conditions = [] } = this.#statuses.get(check) ?? {};
    return {
      ...(successes.length > 0 && { successes }),
      ...(failures.length > 0 && { failures }),
      ...(outages.length > 0 && { outages }),
      conditions,
    };
  }
}

function putInFront<E>(list: E[], entry: E, cap: number): void {
  list.unshift(entry);
  list.length = Math.min(list.length, cap);
}

function turnOf({ outages }: CheckState, reachable: boolean, entry: LogEntry, before: LogEntry["time"] | undefined): boolean {
  const open = outages[0]?.end === undefined ? outages[0] : undefined;
  if (reachable) {
    if (!open) return false;
    open.end = entry.time;
    open.message = `Connectivity restored after ${minutesOf(Date.parse(entry.time ?? "") - Date.parse(open.start ?? ""))}`;
    putInFront((open.endLogs ??= []), entry, 5);
    return true;
  }
  if (open) {
    open.endedAfter = entry.time;
    putInFront((open.endLogs ??= []), entry, 5);
    const isKnown = open.startLogs?.some(({ message }) => message === entry.message) ?? false;
    if (!isKnown && (open.startLogs?.length ?? 0) < 5) open.startLogs?.unshift(entry);
    return false;
  }
  const message = `Connectivity outage detected at ${entry.time}`;
  const times = { start: entry.time, endedAfter: entry.time, ...(before !== undefined && { startedAfter: before }) };
  putInFront(outages, { ...times, startLogs: [entry], endLogs: [entry], message }, 20);
  return true;
}

function setCondition(state: CheckState, reachable: boolean, { time, reason = "", message = "" }: LogEntry): void {
  const status = reachable ? "True" : "False";
  const [last] = state.conditions;
  const lastTransitionTime = last?.status === status ? last.lastTransitionTime : (time ?? "");
  state.conditions = [{ type: "Reachable", status, reason, message, lastTransitionTime }];
}

const textOf = (at: number) => `${new Date(at).toISOString().slice(0, 19)}Z`;
const latencyOf = (ms: number) => (ms >= 1000 ? `${ms / 1000}s` : ms >= 1 ? `${ms}ms` : `${Math.round(ms * 1e6) / 1e3}µs`);

function minutesOf(ms: number): string {
  const [minutes, seconds] = [Math.floor(ms / 60_000), Math.floor(ms / 1000) % 60];
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`;
}
