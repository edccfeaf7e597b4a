import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { at, objectsAt, textAt } from "./json.ts";
import type { StoredObject } from "./served-kind.ts";

/** What a server fills into a Service. Addresses and node ports are not handed out: nothing here would answer on them. */
export function completeService(object: StoredObject): StoredObject {
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
