import { isObject, type JsonObject } from "../../api/admission/value.ts";
import type { StoredObject } from "../kinds/served-kind.ts";
import { at, objectsAt, textAt } from "../kinds/json.ts";
import { ageOf, humanDuration } from "../../util/age.ts";

export const NONE = "<none>";

export type CellFunction = (object: StoredObject) => unknown;

export const count = (value: unknown): number => (typeof value === "number" ? value : 0);

export function textsAt(object: unknown, ...path: string[]): string[] {
  const list = at(object, ...path);
  return Array.isArray(list) ? list.map(String) : [];
}

/** `a=b,c=d` */
export function labels(value: unknown): string {
  const entries = Object.entries(isObject(value) ? value : {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, label]) => `${key}=${String(label)}`).join(",") || NONE;
}

export function selector(value: unknown): string {
  const expressions = objectsAt(value, "matchExpressions").map((expression) => {
    const key = textAt(expression, "key");
    const operator = textAt(expression, "operator");
    if (operator === "Exists" || operator === "DoesNotExist") return operator === "Exists" ? key : `!${key}`;
    return `${key} ${operator.toLowerCase()} (${textsAt(expression, "values").join(",")})`;
  });
  const matching = labels(at(value, "matchLabels"));
  return [...(matching === NONE ? [] : [matching]), ...expressions].join(",") || NONE;
}

export function externalAddress(object: StoredObject): string {
  const type = textAt(object, "spec", "type");
  const given = textsAt(object, "spec", "externalIPs");
  if (type === "ExternalName") return textAt(object, "spec", "externalName");
  if (type !== "LoadBalancer") return given.join(",") || NONE;
  const ingress = objectsAt(object, "status", "loadBalancer", "ingress").map((entry) => textAt(entry, "ip") || textAt(entry, "hostname"));
  const addresses = [...new Set(ingress.filter((address) => address !== ""))].sort((a, b) => (a < b ? -1 : 1));
  return [...addresses, ...given].join(",") || "<pending>";
}

export function servicePorts(object: StoredObject): string {
  const ports = objectsAt(object, "spec", "ports").map((port) => {
    const node = count(port["nodePort"]) > 0 ? `:${count(port["nodePort"])}` : "";
    return `${count(port["port"])}${node}/${textAt(port, "protocol")}`;
  });
  return ports.join(",") || NONE;
}

export function nodeStatus(object: StoredObject): string {
  const ready = objectsAt(object, "status", "conditions").find((condition) => condition["type"] === "Ready");
  const state = ready === undefined ? "Unknown" : ready["status"] === "True" ? "Ready" : "NotReady";
  return at(object, "spec", "unschedulable") === true ? `${state},SchedulingDisabled` : state;
}

const ROLE = "node-role.kubernetes.io/";
export function nodeRoles({ metadata }: StoredObject): string {
  const roles = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(ROLE) && label !== ROLE);
  return (
    roles
      .map((label) => label.slice(ROLE.length))
      .sort((a, b) => (a < b ? -1 : 1))
      .join(",") || NONE
  );
}

export const nodeAddress =
  (type: string): CellFunction =>
  (object) => {
    const address = objectsAt(object, "status", "addresses").find((entry) => entry["type"] === type);
    return textAt(address, "address") || NONE;
  };

export function firstObserved(object: StoredObject): string {
  return ageOf(textAt(object, "firstTimestamp") || textAt(object, "eventTime"));
}

export function lastObserved(object: StoredObject): string {
  const last = textAt(object, "series", "lastObservedTime") || textAt(object, "lastTimestamp");
  return last ? ageOf(last) : firstObserved(object);
}

export function involved(object: StoredObject): string {
  const kind = textAt(object, "involvedObject", "kind").toLowerCase();
  const target = textAt(object, "involvedObject", "name");
  return target ? `${kind}/${target}` : kind;
}

export function eventSource(object: StoredObject): string {
  const component = textAt(object, "source", "component") || textAt(object, "reportingComponent");
  const instance = textAt(object, "source", "host") || textAt(object, "reportingInstance");
  return instance ? `${component}, ${instance}` : component;
}

export function podReady(object: StoredObject): string {
  const ready = objectsAt(object, "status", "containerStatuses").filter((status) => status["ready"] === true);
  return `${ready.length}/${objectsAt(object, "spec", "containers").length}`;
}

export function podStatus(object: StoredObject): string {
  if (object.metadata.deletionTimestamp) return "Terminating";
  const [waiting] = objectsAt(object, "status", "containerStatuses").flatMap(
    (status) => textAt(status, "state", "waiting", "reason") || [],
  );
  return waiting ?? (textAt(object, "status", "reason") || textAt(object, "status", "phase"));
}

export function podRestarts(object: StoredObject): string {
  const statuses = objectsAt(object, "status", "containerStatuses");
  return String(statuses.reduce((sum, status) => sum + count(status["restartCount"]), 0));
}

/** The first three, and the number of the others. */
export function some(list: readonly string[], otherwise: string): string {
  if (list.length === 0) return otherwise;
  const first = list.slice(0, 3).join(",");
  return list.length > 3 ? `${first} + ${list.length - 3} more...` : first;
}

export function portName(port: JsonObject): string {
  return typeof port["port"] === "number" ? String(port["port"]) : textAt(port, "name") || "*";
}

export function jobStatus(object: StoredObject): string {
  const holds = (type: string) =>
    objectsAt(object, "status", "conditions").some((condition) => condition["type"] === type && condition["status"] === "True");
  if (holds("Complete")) return "Complete";
  if (holds("Failed")) return "Failed";
  if (object.metadata.deletionTimestamp) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(holds) ?? "Running";
}

export function jobCompletions(object: StoredObject): string {
  const succeeded = count(at(object, "status", "succeeded"));
  const completions = at(object, "spec", "completions");
  if (typeof completions === "number") return `${succeeded}/${completions}`;
  const parallelism = count(at(object, "spec", "parallelism"));
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

export function jobDuration(object: StoredObject): string {
  const start = Date.parse(textAt(object, "status", "startTime"));
  const end = Date.parse(textAt(object, "status", "completionTime"));
  if (Number.isNaN(start)) return "";
  return humanDuration((Number.isNaN(end) ? Date.now() : end) - start);
}
