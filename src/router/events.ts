import type { EventText } from "../kube/event-correlator.ts";
import type { Done } from "./act.ts";
import type { Outcome } from "./report.ts";

/** An Event to be recorded. */
export interface Tiding {
  /** A resource, as `L2VNI/red`, or `status`: the node's status object. */
  readonly about: string;
  readonly text: EventText;
}

/** What failed, by owner: all its messages in one text. */
export function failing(failures: readonly { kind: string; name: string; reason: string; message?: string }[]): Map<string, Failing> {
  const grouped = Map.groupBy(failures, ({ kind, name }) => `${kind}/${name}`);
  return new Map(
    [...grouped].map(([owner, list]) => [
      owner,
      { reason: list[0]?.reason ?? "", message: list.map(({ message = "" }) => message).join("; ") },
    ]),
  );
}

export interface Failing {
  readonly reason: string;
  readonly message: string;
}

/** What fails now. Of those that wait for the Underlay it is not known, so they fail as they did before. */
export function stillFailing(before: ReadonlyMap<string, Failing>, { failures, stopped }: Outcome): Map<string, Failing> {
  const waiting = stopped ? [...before].filter(([owner]) => !owner.startsWith("Underlay/")) : [];
  return new Map([...waiting, ...failing(failures)]);
}

/** What users are told: who has begun to fail or fails otherwise, and who has recovered. */
export function failuresAndRecoveries(before: ReadonlyMap<string, Failing>, outcome: Outcome, node: string): Tiding[] {
  const now = stillFailing(before, outcome);
  const tidings: Tiding[] = [];
  for (const [owner, { reason, message }] of now) {
    const known = before.get(owner);
    if (known?.reason === reason && known.message === message) continue;
    tidings.push({ about: owner, text: { type: "Warning", reason, message: `Node ${node}: ${message}` } });
  }
  for (const { kind, name, generation } of outcome.selected) {
    const owner = `${kind}/${name}`;
    if (!before.has(owner) || now.has(owner)) continue;
    tidings.push({
      about: owner,
      text: { type: "Normal", reason: "Applied", message: `Node ${node}: generation ${generation} is live` },
    });
  }
  return tidings;
}

/** What someone else had changed and was put back. After a restart of FRR its lines are missing by nature, links are not. */
export function repairs(done: Done, node: string, { frrRestarted = false } = {}): Tiding[] {
  const changes = frrRestarted ? done.changes.flatMap((change) => (change.links > 0 ? { ...change, lines: 0 } : [])) : done.changes;
  const foreign = frrRestarted ? [] : done.foreign;
  const text = (message: string): EventText => ({ type: "Warning", reason: "DriftRepaired", message: `Node ${node}: ${message}` });
  const tidings = changes
    .filter(({ drift }) => drift)
    .map(({ owner, links, lines }): Tiding => {
      const what = [counted(links, "link change", "link changes"), counted(lines, "line of FRR", "lines of FRR")].filter(
        (part) => part !== "",
      );
      const about = /^(Underlay|L2VNI|L3VNI|L3Passthrough|RawFRRConfig)\//.test(owner) ? owner : "status";
      return { about, text: text(`what was applied had been changed by someone else; put back with ${what.join(" and ")}`) };
    });
  if (foreign.length > 0) {
    const shown = foreign.slice(0, 5).map((line) => `"${line}"`);
    const more = foreign.length > shown.length ? ` and ${foreign.length - shown.length} more` : "";
    tidings.push({ about: "status", text: text(`FRR had lines that no resource asks for; removed ${shown.join(", ")}${more}`) });
  }
  return tidings;
}

function counted(count: number, one: string, many: string): string {
  return count === 0 ? "" : `${count} ${count === 1 ? one : many}`;
}
