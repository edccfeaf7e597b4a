import type { Kind, KubeObject } from "../api/kind.ts";
import { L2VNI } from "../api/openpe/l2vni.ts";
import { L3Passthrough } from "../api/openpe/l3passthrough.ts";
import { L3VNI } from "../api/openpe/l3vni.ts";
import { RawFRRConfig } from "../api/openpe/raw-frr-config.ts";
import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../api/openpe/underlay.ts";
import type { EventText } from "../kube/events/event-correlator.ts";
import type { ForeignObject } from "../hostnet/foreign.ts";
import type { RouterApplyResult } from "./pass-record.ts";
import type { FileDamage } from "../resilience/state-file.ts";
import type { RouterObjects } from "./model/observed.ts";
import { describeForeign, type PassOutcome } from "./report.ts";
import { joinFirst, plural } from "../util/text.ts";

export interface RouterEvent {
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
export function stillFailing(before: ReadonlyMap<string, Failing>, { failures, stopped }: PassOutcome): Map<string, Failing> {
  const waiting = stopped ? [...before].filter(([owner]) => !owner.startsWith("Underlay/")) : [];
  return new Map([...waiting, ...failing(failures)]);
}

/** Events for resources that begin to fail, fail for another reason, or recover. */
export function failureEvents(before: ReadonlyMap<string, Failing>, outcome: PassOutcome, node: string): RouterEvent[] {
  const now = stillFailing(before, outcome);
  const events: RouterEvent[] = [];
  for (const [owner, { reason, message }] of now) {
    const known = before.get(owner);
    if (known?.reason === reason && known.message === message) continue;
    events.push({ about: owner, text: { type: "Warning", reason, message: `Node ${node}: ${message}` } });
  }
  for (const { kind, name, generation } of outcome.selected) {
    const owner = `${kind}/${name}`;
    if (!before.has(owner) || now.has(owner)) continue;
    events.push({
      about: owner,
      text: { type: "Normal", reason: "Applied", message: `Node ${node}: generation ${generation} is live` },
    });
  }
  return events;
}

/** Entries as `vni110 100.65.0.2`. */
export function floodRepairEvent(entries: readonly string[], node: string): RouterEvent {
  const listed = entries.map((entry) => entry.replace(" ", " to "));
  const message = `Node ${node}: Configuration drift repaired: flood entries of ${joinFirst(listed, 5)}`;
  return { about: "status", text: { type: "Warning", reason: "DriftRepaired", message } };
}

export type KnownForeign = Pick<ForeignObject, "object" | "netns" | "text">;

/** After an agent restart, the status has the objects that users know of. */
export function knownForeign(status: RouterNodeConfigurationStatus["status"]): KnownForeign[] {
  return (status?.foreign ?? []).map(({ object, namespace, text }) => ({ object, netns: namespace, text }));
}

/** An Event for foreign objects that are new since the last pass. */
export function foreignEvents(before: readonly KnownForeign[], now: readonly ForeignObject[], node: string): RouterEvent[] {
  const known = new Set(before.map(describeForeign));
  const added = now.map(describeForeign).filter((text) => !known.has(text));
  return added.length === 0
    ? []
    : [aboutStatus("ForeignObjects", `Node ${node}: foreign objects may block packets: ${joinFirst(added, 5)}`)];
}

/** Events for repaired drift. After a restart of FRR missing lines are expected, missing links are not. */
export function driftEvents(done: RouterApplyResult, node: string, { frrRestarted = false } = {}): RouterEvent[] {
  const changes = frrRestarted ? done.changes.flatMap((change) => (change.links > 0 ? { ...change, lines: 0 } : [])) : done.changes;
  const foreign = frrRestarted ? [] : done.foreign;
  const text = (message: string): EventText => ({ type: "Warning", reason: "DriftRepaired", message: `Node ${node}: ${message}` });
  const events = changes
    .filter(({ drift }) => drift)
    .map(({ owner, links, lines }): RouterEvent => {
      const what = [changeCount(links, "link change", "link changes"), changeCount(lines, "FRR line", "FRR lines")].filter(
        (part) => part !== "",
      );
      const about = /^(Underlay|L2VNI|L3VNI|L3Passthrough|RawFRRConfig)\//.test(owner) ? owner : "status";
      return { about, text: text(`Configuration drift repaired: ${what.join(" and ")}`) };
    });
  if (foreign.length > 0) {
    const quoted = foreign.map((line) => `"${line}"`);
    events.push({ about: "status", text: text(`Removed FRR lines that no resource configures: ${joinFirst(quoted, 5)}`) });
  }
  return events;
}

function changeCount(count: number, one: string, many: string): string {
  return count === 0 ? "" : plural(count, one, many);
}

export function damageEvent({ message, recovered }: FileDamage, node: string): RouterEvent {
  return aboutStatus(recovered ? "StateRecovered" : "StateLost", `Node ${node}: ${message}`);
}

export function restartEvent(done: RouterApplyResult, node: string): RouterEvent {
  const lines = done.changes.reduce((sum, change) => sum + change.lines, 0);
  const restored = lines === 0 ? "its configuration is complete" : `restored ${lines} configuration lines`;
  return aboutStatus("FRRRestarted", `Node ${node}: FRR restarted; ${restored}`);
}

function aboutStatus(reason: string, message: string): RouterEvent {
  return { about: "status", text: { type: "Warning", reason, message } };
}

const KINDS: Readonly<Record<string, { kind: Kind; of: keyof RouterObjects }>> = {
  Underlay: { kind: Underlay, of: "underlays" },
  L2VNI: { kind: L2VNI, of: "l2vnis" },
  L3VNI: { kind: L3VNI, of: "l3vnis" },
  L3Passthrough: { kind: L3Passthrough, of: "passthroughs" },
  RawFRRConfig: { kind: RawFRRConfig, of: "rawConfigs" },
};

/** The object that an owner such as `L2VNI/red` names. */
export function findObject(objects: RouterObjects, owner: string): KubeObject | undefined {
  const slash = owner.indexOf("/");
  const known = KINDS[owner.slice(0, slash)];
  return (
    known &&
    withKind(
      known.kind,
      objects[known.of].find(({ metadata }) => metadata.name === owner.slice(slash + 1)),
    )
  );
}

/** Objects of a list have no kind. */
export function withKind(kind: Kind, object: KubeObject | undefined): KubeObject | undefined {
  return object && { ...object, apiVersion: kind.group === "" ? kind.version : `${kind.group}/${kind.version}`, kind: kind.kind };
}
