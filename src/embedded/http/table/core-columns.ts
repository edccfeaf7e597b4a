import { isObject, type JsonObject } from "../../../api/admission/value.ts";
import type { StoredObject } from "../../kinds/served-kind.ts";
import { at, objectsAt, textAt } from "../../objects/json.ts";
import { ageOf, humanDuration } from "./age.ts";
import type { TableColumn } from "./columns.ts";

const NONE = "<none>";

type Cell = (object: StoredObject) => unknown;

const column = (name: string, cell: Cell, more: Partial<TableColumn> = {}): TableColumn => ({
  name,
  type: "string",
  description: "",
  cell,
  ...more,
});
const wide = (name: string, cell: Cell): TableColumn => column(name, cell, { wide: true });

const name = column("Name", ({ metadata }) => metadata.name, { format: "name", description: "The name of the object." });
const age = column("Age", ({ metadata }) => ageOf(metadata.creationTimestamp), { description: "How long the object has existed." });

const text =
  (...path: string[]): Cell =>
  (object) =>
    textAt(object, ...path);
const textOr =
  (otherwise: string, ...path: string[]): Cell =>
  (object) =>
    textAt(object, ...path) || otherwise;
const count = (value: unknown): number => (typeof value === "number" ? value : 0);
const number =
  (...path: string[]): Cell =>
  (object) =>
    count(at(object, ...path));
const sizeAt = (object: StoredObject, field: string) => Object.keys(isObject(object[field]) ? object[field] : {}).length;
const textsAt = (object: unknown, ...path: string[]) => {
  const list = at(object, ...path);
  return Array.isArray(list) ? list.map(String) : [];
};

/** `a=b,c=d` */
function labels(value: unknown): string {
  const entries = Object.entries(isObject(value) ? value : {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, label]) => `${key}=${String(label)}`).join(",") || NONE;
}

function selector(value: unknown): string {
  const expressions = objectsAt(value, "matchExpressions").map((expression) => {
    const key = textAt(expression, "key");
    const operator = textAt(expression, "operator");
    if (operator === "Exists" || operator === "DoesNotExist") return operator === "Exists" ? key : `!${key}`;
    return `${key} ${operator.toLowerCase()} (${textsAt(expression, "values").join(",")})`;
  });
  const matching = labels(at(value, "matchLabels"));
  return [...(matching === NONE ? [] : [matching]), ...expressions].join(",") || NONE;
}

const containers = (field: string, ...path: string[]): Cell => {
  return (object) =>
    objectsAt(object, ...path, "spec", "containers")
      .map((container) => textAt(container, field))
      .join(",");
};
const containerColumns = (...path: string[]) => [
  wide("Containers", containers("name", ...path)),
  wide("Images", containers("image", ...path)),
];

function externalAddress(object: StoredObject): string {
  const type = textAt(object, "spec", "type");
  const given = textsAt(object, "spec", "externalIPs");
  if (type === "ExternalName") return textAt(object, "spec", "externalName");
  if (type !== "LoadBalancer") return given.join(",") || NONE;
  const ingress = objectsAt(object, "status", "loadBalancer", "ingress").map((entry) => textAt(entry, "ip") || textAt(entry, "hostname"));
  const addresses = [...new Set(ingress.filter((address) => address !== ""))].sort((a, b) => (a < b ? -1 : 1));
  return [...addresses, ...given].join(",") || "<pending>";
}

function servicePorts(object: StoredObject): string {
  const ports = objectsAt(object, "spec", "ports").map((port) => {
    const node = count(port["nodePort"]) > 0 ? `:${count(port["nodePort"])}` : "";
    return `${count(port["port"])}${node}/${textAt(port, "protocol")}`;
  });
  return ports.join(",") || NONE;
}

function nodeStatus(object: StoredObject): string {
  const ready = objectsAt(object, "status", "conditions").find((condition) => condition["type"] === "Ready");
  const state = ready === undefined ? "Unknown" : ready["status"] === "True" ? "Ready" : "NotReady";
  return at(object, "spec", "unschedulable") === true ? `${state},SchedulingDisabled` : state;
}

const ROLE = "node-role.kubernetes.io/";
function nodeRoles({ metadata }: StoredObject): string {
  const roles = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(ROLE) && label !== ROLE);
  return (
    roles
      .map((label) => label.slice(ROLE.length))
      .sort((a, b) => (a < b ? -1 : 1))
      .join(",") || NONE
  );
}

const nodeAddress =
  (type: string): Cell =>
  (object) => {
    const address = objectsAt(object, "status", "addresses").find((entry) => entry["type"] === type);
    return textAt(address, "address") || NONE;
  };

function firstSeen(object: StoredObject): string {
  return ageOf(textAt(object, "firstTimestamp") || textAt(object, "eventTime"));
}

function lastSeen(object: StoredObject): string {
  const last = textAt(object, "series", "lastObservedTime") || textAt(object, "lastTimestamp");
  return last ? ageOf(last) : firstSeen(object);
}

function involved(object: StoredObject): string {
  const kind = textAt(object, "involvedObject", "kind").toLowerCase();
  const target = textAt(object, "involvedObject", "name");
  return target ? `${kind}/${target}` : kind;
}

function eventSource(object: StoredObject): string {
  const component = textAt(object, "source", "component") || textAt(object, "reportingComponent");
  const instance = textAt(object, "source", "host") || textAt(object, "reportingInstance");
  return instance ? `${component}, ${instance}` : component;
}

function podReady(object: StoredObject): string {
  const ready = objectsAt(object, "status", "containerStatuses").filter((status) => status["ready"] === true);
  return `${ready.length}/${objectsAt(object, "spec", "containers").length}`;
}

function podStatus(object: StoredObject): string {
  if (object.metadata.deletionTimestamp) return "Terminating";
  const [waiting] = objectsAt(object, "status", "containerStatuses").flatMap(
    (status) => textAt(status, "state", "waiting", "reason") || [],
  );
  return waiting ?? (textAt(object, "status", "reason") || textAt(object, "status", "phase"));
}

function podRestarts(object: StoredObject): string {
  const statuses = objectsAt(object, "status", "containerStatuses");
  return String(statuses.reduce((sum, status) => sum + count(status["restartCount"]), 0));
}

/** The first three, and how many more. */
function some(list: readonly string[], otherwise: string): string {
  if (list.length === 0) return otherwise;
  const shown = list.slice(0, 3).join(",");
  return list.length > 3 ? `${shown} + ${list.length - 3} more...` : shown;
}

function portName(port: JsonObject): string {
  return typeof port["port"] === "number" ? String(port["port"]) : textAt(port, "name") || "*";
}

function jobStatus(object: StoredObject): string {
  const holds = (type: string) =>
    objectsAt(object, "status", "conditions").some((condition) => condition["type"] === type && condition["status"] === "True");
  if (holds("Complete")) return "Complete";
  if (holds("Failed")) return "Failed";
  if (object.metadata.deletionTimestamp) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(holds) ?? "Running";
}

function jobCompletions(object: StoredObject): string {
  const succeeded = count(at(object, "status", "succeeded"));
  const completions = at(object, "spec", "completions");
  if (typeof completions === "number") return `${succeeded}/${completions}`;
  const parallelism = count(at(object, "spec", "parallelism"));
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(object: StoredObject): string {
  const start = Date.parse(textAt(object, "status", "startTime"));
  const end = Date.parse(textAt(object, "status", "completionTime"));
  if (Number.isNaN(start)) return "";
  return humanDuration((Number.isNaN(end) ? Date.now() : end) - start);
}

const MODES: Record<string, string> = { ReadWriteOnce: "RWO", ReadOnlyMany: "ROX", ReadWriteMany: "RWX", ReadWriteOncePod: "RWOP" };
const bound =
  (cell: Cell): Cell =>
  (object) =>
    textAt(object, "spec", "volumeName") ? cell(object) : "";
const readyReplicas: Cell = (object) => `${count(at(object, "status", "readyReplicas"))}/${count(at(object, "spec", "replicas") ?? 1)}`;
const int = { type: "integer" };

/** The columns of Kubernetes' own kinds, as people know them. */
export const coreColumns: Readonly<Record<string, readonly TableColumn[]>> = {
  Namespace: [name, column("Status", text("status", "phase")), age],
  Node: [
    name,
    column("Status", nodeStatus),
    column("Roles", nodeRoles),
    age,
    column("Version", text("status", "nodeInfo", "kubeletVersion")),
    wide("Internal-IP", nodeAddress("InternalIP")),
    wide("External-IP", nodeAddress("ExternalIP")),
    wide("OS-Image", textOr("<unknown>", "status", "nodeInfo", "osImage")),
    wide("Kernel-Version", textOr("<unknown>", "status", "nodeInfo", "kernelVersion")),
    wide("Container-Runtime", textOr("<unknown>", "status", "nodeInfo", "containerRuntimeVersion")),
  ],
  ConfigMap: [name, column("Data", (object) => sizeAt(object, "data") + sizeAt(object, "binaryData")), age],
  Secret: [name, column("Type", text("type")), column("Data", (object) => sizeAt(object, "data")), age],
  Service: [
    name,
    column("Type", text("spec", "type")),
    column("Cluster-IP", textOr(NONE, "spec", "clusterIP")),
    column("External-IP", externalAddress),
    column("Port(s)", servicePorts),
    age,
    wide("Selector", (object) => labels(at(object, "spec", "selector"))),
  ],
  Pod: [
    name,
    column("Ready", podReady),
    column("Status", podStatus),
    column("Restarts", podRestarts),
    age,
    wide("IP", textOr(NONE, "status", "podIP")),
    wide("Node", textOr(NONE, "spec", "nodeName")),
    wide("Nominated Node", textOr(NONE, "status", "nominatedNodeName")),
    wide("Readiness Gates", () => NONE),
  ],
  Event: [
    column("Last Seen", lastSeen),
    column("Type", text("type")),
    column("Reason", text("reason")),
    column("Object", involved),
    wide("Subobject", text("involvedObject", "fieldPath")),
    wide("Source", eventSource),
    column("Message", (object) => textAt(object, "message").trim()),
    wide("First Seen", firstSeen),
    wide("Count", (object) => count(at(object, "series", "count") ?? at(object, "count")) || 1),
    { ...name, wide: true },
  ],
  Lease: [name, column("Holder", text("spec", "holderIdentity")), age],
  EndpointSlice: [
    name,
    column("AddressType", text("addressType")),
    column("Ports", (object) =>
      some(
        objectsAt(object, "ports").map((port) => portName(port)),
        "<unset>",
      ),
    ),
    column("Endpoints", (object) =>
      some(
        objectsAt(object, "endpoints").flatMap((endpoint) => textsAt(endpoint, "addresses")),
        "<unset>",
      ),
    ),
    age,
  ],
  Deployment: [
    name,
    column("Ready", readyReplicas),
    column("Up-to-date", number("status", "updatedReplicas")),
    column("Available", number("status", "availableReplicas")),
    age,
    ...containerColumns("spec", "template"),
    wide("Selector", (object) => selector(at(object, "spec", "selector"))),
  ],
  DaemonSet: [
    name,
    column("Desired", number("status", "desiredNumberScheduled"), int),
    column("Current", number("status", "currentNumberScheduled"), int),
    column("Ready", number("status", "numberReady"), int),
    column("Up-to-date", number("status", "updatedNumberScheduled"), int),
    column("Available", number("status", "numberAvailable"), int),
    column("Node Selector", (object) => labels(at(object, "spec", "template", "spec", "nodeSelector"))),
    age,
    ...containerColumns("spec", "template"),
    wide("Selector", (object) => selector(at(object, "spec", "selector"))),
  ],
  StatefulSet: [name, column("Ready", readyReplicas), age, ...containerColumns("spec", "template")],
  Job: [
    name,
    column("Status", jobStatus),
    column("Completions", jobCompletions),
    column("Duration", jobDuration),
    age,
    ...containerColumns("spec", "template"),
    wide("Selector", (object) => selector(at(object, "spec", "selector"))),
  ],
  CronJob: [
    name,
    column("Schedule", text("spec", "schedule")),
    column("Timezone", textOr(NONE, "spec", "timeZone")),
    column("Suspend", (object) => at(object, "spec", "suspend") === true, { type: "boolean" }),
    column("Active", (object) => objectsAt(object, "status", "active").length, int),
    column("Last Schedule", (object) =>
      textAt(object, "status", "lastScheduleTime") ? ageOf(textAt(object, "status", "lastScheduleTime")) : NONE,
    ),
    age,
    ...containerColumns("spec", "jobTemplate", "spec", "template"),
    wide("Selector", (object) => selector(at(object, "spec", "jobTemplate", "spec", "selector"))),
  ],
  PersistentVolumeClaim: [
    name,
    column("Status", (object) => (object.metadata.deletionTimestamp ? "Terminating" : textAt(object, "status", "phase"))),
    column("Volume", text("spec", "volumeName")),
    column("Capacity", bound(text("status", "capacity", "storage"))),
    column(
      "Access Modes",
      bound((object) =>
        textsAt(object, "status", "accessModes")
          .map((mode) => MODES[mode] ?? mode)
          .join(","),
      ),
    ),
    column("StorageClass", text("spec", "storageClassName")),
    column("VolumeAttributesClass", textOr("<unset>", "spec", "volumeAttributesClassName")),
    age,
    wide("VolumeMode", textOr("<unset>", "spec", "volumeMode")),
  ],
  VolumeAttachment: [
    name,
    column("Attacher", text("spec", "attacher"), { format: "name" }),
    column("PV", text("spec", "source", "persistentVolumeName")),
    column("Node", text("spec", "nodeName")),
    column("Attached", (object) => at(object, "status", "attached") === true, { type: "boolean" }),
    age,
  ],
};
