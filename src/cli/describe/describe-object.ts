import { isObject, type JsonObject } from "../../api/admission/value.ts";
import type { Event } from "../../api/core/event.ts";
import type { Condition, KubeObject } from "../../api/kind.ts";
import type { DeclaredApi } from "../resources/embedded-api.ts";
import { ageOf } from "../../util/age.ts";
import { type TextCell, Columns, stripControlCharacters } from "../print/columns.ts";
import { type Colorize, statusColor } from "../print/color.ts";
import { checkSections } from "./check-sections.ts";
import { failoverSections } from "./failover-sections.ts";

export interface Described {
  readonly object: KubeObject;
  /** Undefined if this user may not list events. */
  readonly events: readonly Event[] | undefined;
  /** The file of the object, on the embedded API. */
  readonly declared?: DeclaredApi | undefined;
}

export interface DescribeOptions {
  readonly paint: Colorize;
  readonly yaml: (value: unknown) => string;
  readonly now: number;
}

export function describeObject({ object, events, declared }: Described, options: DescribeOptions): string {
  const content = contentOf(object);
  const { conditions, ...status } = isObject(content["status"]) ? content["status"] : {};
  const sections = [
    facts(object, declared, options),
    ...overrides(declared, options),
    ...Object.entries(content)
      .filter(([name, value]) => name !== "status" && isObject(value))
      .flatMap(([name, value]) => section(name, value, options)),
    ...(checkSections(object, options) ?? failoverSections(object, options) ?? section("status", status, options)),
    ...conditionTable(Array.isArray(conditions) ? (conditions as Partial<Condition>[]) : [], options),
    eventTable(events, options),
  ];
  return sections.map((lines) => lines.map((line) => `${line}\n`).join("")).join("\n");
}

function facts(object: KubeObject, declared: DeclaredApi | undefined, { now, paint }: DescribeOptions): string[] {
  const { metadata } = object;
  const moment = (time: string) => `${time} (${ageOf(time, now)} ago)`;
  const owners = metadata.ownerReferences?.map(({ kind, name }) => `${kind}/${name}`);
  const entries: [string, string | undefined][] = [
    ["Name", metadata.name],
    ["Namespace", metadata.namespace],
    ["Kind", `${object.kind} (${object.apiVersion})`],
    ["Labels", pairs(metadata.labels)],
    ["Annotations", pairs(metadata.annotations)],
    ["Created", metadata.creationTimestamp && moment(metadata.creationTimestamp)],
    ["Deleting", metadata.deletionTimestamp && `since ${moment(metadata.deletionTimestamp)}`],
    ["Finalizers", metadata.finalizers?.join(", ")],
    ["Owners", owners?.join(", ")],
    ["Generation", metadata.generation === undefined ? undefined : String(metadata.generation)],
    ["File", declared && `${declared.source.path}:${declared.source.line}`],
    ...Object.entries(contentOf(object))
      .filter(([, value]) => !isObject(value))
      .map(([name, value]): [string, string] => [capitalized(name), stripControlCharacters(value)]),
  ];
  const rows = entries
    .filter(([, value]) => value !== undefined)
    .map(([name, value = ""]) => [{ text: `${name}:` }, { text: stripControlCharacters(value) }]);
  return new Columns(paint, 2).lines(rows);
}

function contentOf(object: KubeObject): JsonObject {
  const rest = Object.entries(object).filter(([name]) => !["apiVersion", "kind", "metadata"].includes(name));
  const secret = object.apiVersion === "v1" && object.kind === "Secret";
  return Object.fromEntries(
    rest.map(([name, value]) => [name, secret && name === "data" && isObject(value) ? sizes(value) : (value as unknown)]),
  );
}

/** Values of Secrets are not printed. */
function sizes(data: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, `${Buffer.from(String(value), "base64").length} bytes`]));
}

function section(name: string, value: unknown, { yaml }: DescribeOptions): string[][] {
  if (!isObject(value) || Object.keys(value).length === 0) return [];
  return [[`${capitalized(name)}:`, ...indented(yaml(value).trimEnd().split("\n"))]];
}

function overrides(declared: DeclaredApi | undefined, { paint }: DescribeOptions): string[][] {
  if (!declared || declared.overrides.length === 0) return [];
  const { path } = declared.source;
  const rows = declared.overrides.map(({ field, declared: written, current }) =>
    [field, written, current].map((value) => ({ text: value === undefined ? "<none>" : stripControlCharacters(value) })),
  );
  const head = ["FIELD", "IN THE FILE", "NOW"].map((text) => ({ text }));
  return [
    [
      `Overrides: differs from ${path}; to reset: plumbline apply --reset -f ${path}`,
      ...indented(new Columns(paint).lines([head, ...rows])),
    ],
  ];
}

function conditionTable(conditions: readonly Partial<Condition>[], { paint, now }: DescribeOptions): string[][] {
  if (conditions.length === 0) return [];
  const head = ["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"].map((text): TextCell => ({ text }));
  const rows = conditions.map(({ type = "", status = "", reason, lastTransitionTime, message }): TextCell[] => [
    { text: stripControlCharacters(type) },
    { text: stripControlCharacters(status), color: statusColor(type, status) },
    { text: stripControlCharacters(reason) },
    { text: lastTransitionTime ? ageOf(lastTransitionTime, now) : "" },
    { text: stripControlCharacters(message) },
  ]);
  return [["Conditions:", ...indented(new Columns(paint).lines([head, ...rows]))]];
}

function eventTable(events: readonly Event[] | undefined, { paint, now }: DescribeOptions): string[] {
  if (!events) return ["Events: forbidden; you need a role that can list events"];
  if (events.length === 0) return ["Events: none"];
  const head = ["TYPE", "REASON", "AGE", "FROM", "MESSAGE"].map((text): TextCell => ({ text }));
  const rows = events
    .toSorted((a, b) => (lastOccurrence(a) < lastOccurrence(b) ? -1 : 1))
    .map((event): TextCell[] => [
      { text: stripControlCharacters(event.type), color: event.type === "Warning" ? "yellow" : undefined },
      { text: stripControlCharacters(event.reason) },
      { text: eventAge(event, now) },
      { text: stripControlCharacters(event.source?.component || event.reportingComponent) },
      { text: stripControlCharacters(event.message) },
    ]);
  return ["Events:", ...indented(new Columns(paint).lines([head, ...rows]))];
}

function lastOccurrence({ lastTimestamp, eventTime, firstTimestamp, metadata }: Event): string {
  return lastTimestamp || eventTime || firstTimestamp || metadata.creationTimestamp || "";
}

/** `5m`, or `5m (x3 over 10m)` */
function eventAge(event: Event, now: number): string {
  const { count = 1, firstTimestamp } = event;
  const age = ageOf(lastOccurrence(event), now);
  return count > 1 && firstTimestamp ? `${age} (x${count} over ${ageOf(firstTimestamp, now)})` : age;
}

/** It repeats the whole object, Secret values included. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

function pairs(map: Record<string, string> | undefined): string | undefined {
  const entries = Object.entries(map ?? {}).filter(([key]) => key !== LAST_APPLIED);
  return entries.length === 0 ? undefined : entries.map(([key, value]) => `${key}=${value}`).join(", ");
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
