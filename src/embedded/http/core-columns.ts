import { isObject } from "../../api/admission/value.ts";
import type { StoredObject } from "../kinds/served-kind.ts";
import { at, objectsAt, textAt } from "../kinds/json.ts";
import { ageOf } from "../../util/age.ts";
import {
  count,
  eventSource,
  externalAddress,
  firstObserved,
  involved,
  jobCompletions,
  jobDuration,
  jobStatus,
  labels,
  lastObserved,
  nodeAddress,
  nodeRoles,
  nodeStatus,
  NONE,
  podReady,
  podRestarts,
  podStatus,
  portName,
  selector,
  servicePorts,
  some,
  textsAt,
  type CellFunction,
} from "./core-cells.ts";
import type { TableColumn } from "./columns.ts";

const column = (name: string, cell: CellFunction, more: Partial<TableColumn> = {}): TableColumn => ({
  name,
  type: "string",
  description: "",
  cell,
  ...more,
});
const wide = (name: string, cell: CellFunction): TableColumn => column(name, cell, { wide: true });

const name = column("Name", ({ metadata }) => metadata.name, { format: "name", description: "The name of the object." });
const age = column("Age", ({ metadata }) => ageOf(metadata.creationTimestamp), { description: "How long the object has existed." });

const text =
  (...path: string[]): CellFunction =>
  (object) =>
    textAt(object, ...path);
const textOr =
  (otherwise: string, ...path: string[]): CellFunction =>
  (object) =>
    textAt(object, ...path) || otherwise;
const number =
  (...path: string[]): CellFunction =>
  (object) =>
    count(at(object, ...path));
const sizeAt = (object: StoredObject, field: string) => Object.keys(isObject(object[field]) ? object[field] : {}).length;

const containers = (field: string, ...path: string[]): CellFunction => {
  return (object) =>
    objectsAt(object, ...path, "spec", "containers")
      .map((container) => textAt(container, field))
      .join(",");
};
const containerColumns = (...path: string[]) => [
  wide("Containers", containers("name", ...path)),
  wide("Images", containers("image", ...path)),
];

const MODES: Record<string, string> = { ReadWriteOnce: "RWO", ReadOnlyMany: "ROX", ReadWriteMany: "RWX", ReadWriteOncePod: "RWOP" };
const bound =
  (cell: CellFunction): CellFunction =>
  (object) =>
    textAt(object, "spec", "volumeName") ? cell(object) : "";
const readyReplicas: CellFunction = (object) =>
  `${count(at(object, "status", "readyReplicas"))}/${count(at(object, "spec", "replicas") ?? 1)}`;
const int = { type: "integer" };

/** The columns of built-in kinds, as in Kubernetes. */
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
    column("Last Seen", lastObserved),
    column("Type", text("type")),
    column("Reason", text("reason")),
    column("Object", involved),
    wide("Subobject", text("involvedObject", "fieldPath")),
    wide("Source", eventSource),
    column("Message", (object) => textAt(object, "message").trim()),
    wide("First Seen", firstObserved),
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
