import { FailoverPolicy, type FailoverStatus, type FailoverToken } from "../../api/failover/failover-policy.ts";
import { apiVersionOf, type KubeObject } from "../../api/kind.ts";
import { ageOf } from "../../util/age.ts";
import { expectedLoss } from "../../failover/loss.ts";
import { drawSteps } from "../failover/draw-steps.ts";
import { drawSwitches } from "../failover/transitions-table.ts";
import { switchesOf } from "../failover/transitions.ts";
import { type TextCell, Columns, stripControlCharacters, titled } from "../print/columns.ts";
import type { Color, Colorize } from "../print/color.ts";

interface SectionOptions {
  readonly paint: Colorize;
  readonly now: number;
}

/** Undefined for other kinds. */
export function failoverSections(object: KubeObject, options: SectionOptions): string[][] | undefined {
  if (object.kind !== FailoverPolicy.kind || object.apiVersion !== apiVersionOf(FailoverPolicy)) return undefined;
  const policy = object as FailoverPolicy;
  const { status = {} } = policy;
  const switches = switchesOf(policy);
  const [latest] = switches;
  return [
    ...titled("State:", stateLines(policy, options)),
    ...(latest?.course ? titled(stepsTitle(latest, options), drawSteps(latest, options.now, options.paint)) : []),
    ...titled("Resources:", resourceLines(status, options)),
    ...titled("Other site:", peerLines(policy, options)),
    ...titled("History:", switches.length > 0 ? drawSwitches(switches, options.now, options.paint) : []),
  ];
}

function stepsTitle(
  { to, startTime, completionTime }: { to: string; startTime: string; completionTime?: string },
  { now }: SectionOptions,
): string {
  const ended = completionTime === undefined ? "still running" : `ended ${completionTime}`;
  return `Steps to ${to}: begun ${startTime} (${ageOf(startTime, now)} ago), ${ended}`;
}

function stateLines({ spec, status, metadata }: FailoverPolicy, { paint }: SectionOptions): string[] {
  const observed = status?.observedGeneration;
  const late = observed !== undefined && metadata.generation !== undefined && observed < metadata.generation;
  const entries: [string, string | undefined, Color?][] = [
    ["Desired", spec.desiredState],
    ["Current", status?.currentState ?? "not observed yet", status?.currentState === spec.desiredState ? "green" : "yellow"],
    ["Mode", status?.mode],
    ["Now", status?.summary],
    ["Workloads", status?.workloadStatus],
    ...readyEntry(status),
    ["Force", spec.force && `${stripControlCharacters(spec.force.reason)} (for epoch ${spec.force.epoch})`, "red"],
    ["Behind", late ? `from generation ${observed}; generation ${metadata.generation} is not observed yet` : undefined, "yellow"],
  ];
  const rows = entries.flatMap(([name, text, color]): TextCell[][] =>
    text === undefined ? [] : [[{ text: `${name}:` }, { text: stripControlCharacters(text), color }]],
  );
  return new Columns(paint, 2).lines(rows);
}

const READY: Readonly<Record<"True" | "False" | "Unknown", Color>> = { True: "green", False: "red", Unknown: "yellow" };

/** Readiness for a switch, which is not checked during one. */
function readyEntry(status: FailoverStatus | undefined): [string, string, Color?][] {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  if (!ready || ready.reason === "InProgress") return [];
  return [
    ["Ready", ready.status === "True" ? "yes" : `${ready.status === "False" ? "no" : "not known"}: ${ready.message}`, READY[ready.status]],
  ];
}

const STATES: Readonly<Record<string, Color>> = { Error: "red", "Not Found": "red", "Scaling Down": "yellow", Unknown: "yellow" };

function resourceLines(
  { volumeReplicationStatuses = [], workloadStatuses = [] }: FailoverStatus,
  { paint, now }: SectionOptions,
): string[] {
  const volumes = volumeReplicationStatuses.map((volume) => ({ kind: "VolumeReplication", ...volume }));
  const all: (Omit<(typeof volumes)[number], "kind"> & { kind: string })[] = [...volumes, ...workloadStatuses];
  if (all.length === 0) return [];
  const head = ["KIND", "NAMESPACE", "NAME", "STATE", "SINCE", "COPIED", "MESSAGE"];
  const rows = all.map(({ kind, namespace, name, state = "", error, message, lastUpdateTime, lastSyncTime }): TextCell[] => [
    { text: kind },
    { text: namespace ?? "" },
    { text: stripControlCharacters(name) },
    { text: stripControlCharacters(state), color: STATES[state] },
    { text: lastUpdateTime === undefined ? "" : ageOf(lastUpdateTime, now) },
    { text: lastSyncTime === undefined ? "" : `${ageOf(lastSyncTime, now)} ago` },
    { text: stripControlCharacters([error, message].filter((text) => text !== undefined && text !== "").join("; ")) },
  ]);
  return new Columns(paint).lines([head.map((text) => ({ text })), ...rows]);
}

function peerLines(policy: FailoverPolicy, { paint, now }: SectionOptions): string[] {
  const { spec, status } = policy;
  if (!spec.peer) return [];
  const { name, key } = spec.peer.kubeconfigSecret;
  const peer = status?.peer;
  const entries: [string, string | undefined, Color?][] = [
    ["Read with", `Secret ${name}, key ${key}`],
    ["Token here", tokenText(status?.token)],
    ["Token there", peer?.reachable ? tokenText(peer.token) : undefined],
    ["Desired there", peer?.desiredState],
    ["Reachable", peer && (peer.reachable ? "yes" : "no"), peer?.reachable ? "green" : "red"],
    ["Message", peer?.message],
    ["Lost by force", status?.currentState === "secondary" ? expectedLoss(policy, new Date(now)).text : undefined],
  ];
  const rows = entries.flatMap(([title, text, color]): TextCell[][] =>
    text === undefined ? [] : [[{ text: `${title}:` }, { text: stripControlCharacters(text), color }]],
  );
  return new Columns(paint, 2).lines(rows);
}

/** `Held, epoch 3` */
function tokenText(token: FailoverToken | undefined): string {
  return token ? `${token.state}, epoch ${token.epoch}` : "none yet";
}
