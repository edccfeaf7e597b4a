import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { ConfigMap } from "../../api/core/config-map.ts";
import { CronJob } from "../../api/core/cron-job.ts";
import { DaemonSet } from "../../api/core/daemon-set.ts";
import { Deployment } from "../../api/core/deployment.ts";
import { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import { Event } from "../../api/core/event.ts";
import { HorizontalPodAutoscaler } from "../../api/core/horizontal-pod-autoscaler.ts";
import { Job } from "../../api/core/job.ts";
import { Lease } from "../../api/core/lease.ts";
import { Namespace } from "../../api/core/namespace.ts";
import { Node } from "../../api/core/node.ts";
import { PersistentVolumeClaim } from "../../api/core/persistent-volume-claim.ts";
import { Pod } from "../../api/core/pod.ts";
import { Secret } from "../../api/core/secret.ts";
import { Service } from "../../api/core/service.ts";
import { StatefulSet } from "../../api/core/stateful-set.ts";
import { VolumeAttachment } from "../../api/core/volume-attachment.ts";
import type { Kind } from "../../api/kind.ts";
import { at, same, textAt, without, objectsAt } from "./json.ts";
import { labelProblems, subdomainProblems } from "./syntax.ts";
import { checkData, checkSecret, completeConfigMap, completeSecret, decodeConfigMap, decodeSecret } from "./data-kinds.ts";
import type { KindRules, ServedKind, StoredObject } from "./served-kind.ts";

const HOUR_MS = 3_600_000;

const plain: KindRules = {
  nameComplaints: (name) => subdomainProblems(name),
  hasStatus: false,
  statusCarriesMetadata: true,
  unconditionalUpdate: true,
  createOnUpdate: false,
  returnsDeleted: false,
  orphansDependents: false,
  qualifiedFinalizers: true,
};

const specChanged = (next: StoredObject, stored: StoredObject) => !same(next["spec"], stored["spec"]);
const nothing = () => ({});

const withStatus: KindRules = { ...plain, hasStatus: true, initialStatus: nothing };
const workload: KindRules = { ...withStatus, raisesGeneration: specChanged };

const text =
  (...path: string[]) =>
  (object: StoredObject) =>
    textAt(object, ...path);
const texts = (...names: string[]) => Object.fromEntries(names.map((name) => [name, text(...name.split("."))]));

const namespaceRules: KindRules = {
  ...withStatus,
  nameComplaints: labelProblems,
  returnsDeleted: true,
  initialStatus: () => ({ phase: "Active" }),
  complete: (object) => {
    const labels = { ...object.metadata.labels, "kubernetes.io/metadata.name": object.metadata.name };
    return { ...object, metadata: { ...object.metadata, labels }, spec: object["spec"] ?? { finalizers: ["kubernetes"] } };
  },
  selectableFields: { ...texts("status.phase"), name: text("metadata", "name") },
};

const podRules: KindRules = {
  ...workload,
  returnsDeleted: true,
  initialStatus: () => ({ phase: "Pending" }),
  selectableFields: {
    ...texts("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
    ...texts("status.phase", "status.podIP", "status.nominatedNodeName"),
    "spec.hostNetwork": (object) => String(at(object, "spec", "hostNetwork") === true),
  },
};

const eventFields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
const eventRules: KindRules = {
  ...plain,
  createOnUpdate: true,
  expiresAfterMs: HOUR_MS,
  selectableFields: {
    ...texts(...eventFields.map((name) => `involvedObject.${name}`), "reason", "type"),
    reportingComponent: (object) => textAt(object, "reportingComponent") || textAt(object, "source", "component"),
    source: (object) => textAt(object, "source", "component") || textAt(object, "reportingComponent"),
  },
};

const endpointSliceRules: KindRules = {
  ...plain,
  complete: (slice) => {
    const { ports } = slice as { ports?: unknown };
    return Array.isArray(ports) ? { ...slice, ports: ports.map(completeSlicePort) } : slice;
  },
  raisesGeneration: (next, stored) =>
    !same(without(next, "metadata"), without(stored, "metadata")) || !same(next.metadata.labels ?? {}, stored.metadata.labels ?? {}),
};

function completeSlicePort(port: unknown): unknown {
  return isObject(port) ? { name: "", protocol: "TCP", ...port } : port;
}

const daemonSetStatus = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };

const core = (kind: Kind, doc: string, rules: KindRules = plain, more: { categories?: string[]; listKind?: string } = {}): ServedKind => ({
  ...kind,
  singular: kind.kind.toLowerCase(),
  listKind: `${kind.kind}List`,
  categories: [],
  versions: [{ name: kind.version }],
  doc,
  rules,
  ...more,
});
const all = { categories: ["all"] };

/** The built-in kinds that Plumbline reads and writes. Their objects are stored without validation of their fields. */
export const CORE_KINDS: readonly ServedKind[] = [
  core(Namespace, "A scope for names.", namespaceRules),
  core(Node, "A machine that agents run on.", {
    ...withStatus,
    statusFromManifest: true,
    initialStatus: (object) => (isObject(object["status"]) ? object["status"] : {}),
    selectableFields: { "spec.unschedulable": (object) => String(at(object, "spec", "unschedulable") === true) },
  }),
  core(ConfigMap, "Configuration as keys and texts.", { ...plain, decode: decodeConfigMap, complete: completeConfigMap, check: checkData }),
  core(Secret, "Confidential keys and values.", {
    ...plain,
    decode: decodeSecret,
    complete: completeSecret,
    check: checkSecret,
    selectableFields: texts("type"),
  }),
  core(
    Service,
    "A stable address in front of pods.",
    {
      ...withStatus,
      nameComplaints: labelProblems,
      createOnUpdate: true,
      returnsDeleted: true,
      initialStatus: () => ({ loadBalancer: {} }),
      complete: completeService,
      selectableFields: texts("spec.clusterIP", "spec.type"),
    },
    all,
  ),
  core(Pod, "Containers that run together on a node.", podRules, all),
  core(Event, "Something that happened to an object.", eventRules),
  core(PersistentVolumeClaim, "A request for storage.", {
    ...withStatus,
    returnsDeleted: true,
    initialStatus: () => ({ phase: "Pending" }),
  }),
  core(EndpointSlice, "The addresses behind a Service.", endpointSliceRules),
  core(Lease, "A lock with its holder and its expiry.", {
    ...plain,
    unconditionalUpdate: false,
    createOnUpdate: true,
    qualifiedFinalizers: false,
  }),
  core(
    Deployment,
    "Pods that are updated one after the other.",
    {
      ...workload,
      raisesGeneration: (next, stored) =>
        specChanged(next, stored) || !same(next.metadata.annotations ?? {}, stored.metadata.annotations ?? {}),
    },
    all,
  ),
  core(DaemonSet, "A pod on every node.", { ...workload, initialStatus: () => daemonSetStatus }, all),
  core(StatefulSet, "Pods with names and storage of their own.", { ...workload, initialStatus: () => ({ replicas: 0 }) }, all),
  core(Job, "Pods that run to completion.", { ...workload, orphansDependents: true }, all),
  core(CronJob, "Jobs on a schedule.", workload, all),
  core(HorizontalPodAutoscaler, "Scales a workload by its load.", withStatus, all),
  core(VolumeAttachment, "A volume that is, or is to be, attached to a node.", {
    ...withStatus,
    statusCarriesMetadata: false,
    unconditionalUpdate: false,
    returnsDeleted: true,
    initialStatus: () => ({ attached: false }),
  }),
];

/** Cluster IPs and node ports are not allocated: nothing would answer on them. */
function completeService(object: StoredObject): StoredObject {
  const spec = isObject(object["spec"]) ? object["spec"] : {};
  const type = textAt(spec, "type") || "ClusterIP";
  const outside = type === "NodePort" || type === "LoadBalancer";
  const defaults: JsonObject = {
    type,
    sessionAffinity: "None",
    ...(type !== "ExternalName" && { internalTrafficPolicy: "Cluster", ...families(spec) }),
    ...(outside && { externalTrafficPolicy: "Cluster" }),
    ...(type === "LoadBalancer" && { allocateLoadBalancerNodePorts: true }),
  };
  const ports = Array.isArray(spec["ports"]) ? { ports: spec["ports"].map(completePort) } : {};
  const completed = { ...object, spec: { ...defaults, ...spec, ...ports } };
  return type === "LoadBalancer" ? withIpMode(completed) : completed;
}

function families(spec: JsonObject): JsonObject {
  const dual = ["PreferDualStack", "RequireDualStack"].includes(textAt(spec, "ipFamilyPolicy"));
  return { ipFamilyPolicy: "SingleStack", ipFamilies: dual ? ["IPv4", "IPv6"] : ["IPv4"] };
}

function completePort(port: unknown): unknown {
  if (!isObject(port)) return port;
  return { protocol: "TCP", ...(port["port"] !== undefined && { targetPort: port["port"] }), ...port };
}

function withIpMode(object: StoredObject): StoredObject {
  const ingress = objectsAt(object, "status", "loadBalancer", "ingress");
  if (!ingress.some((entry) => entry["ip"] && entry["ipMode"] === undefined)) return object;
  const complete = ingress.map((entry) => (entry["ip"] ? Object.assign({ ipMode: "VIP" }, entry) : entry));
  const status = at(object, "status") as JsonObject;
  return { ...object, status: { ...status, loadBalancer: { ...(status["loadBalancer"] as JsonObject), ingress: complete } } };
}
