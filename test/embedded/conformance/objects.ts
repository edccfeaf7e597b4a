import type { JsonObject } from "../../../src/api/admission/value.ts";

const OPENPE = "openpe.openperouter.github.io/v1alpha1";

/** Where the objects of a kind are, within a namespace. */
export const paths = {
  vnis: (namespace: string) => `/apis/${OPENPE}/namespaces/${namespace}/l3vnis`,
  statuses: (namespace: string) => `/apis/${OPENPE}/namespaces/${namespace}/routernodeconfigurationstatuses`,
  pools: (namespace: string) => `/apis/metallb.io/v1beta1/namespaces/${namespace}/ipaddresspools`,
  maps: (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`,
  secrets: (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`,
  services: (namespace: string) => `/api/v1/namespaces/${namespace}/services`,
  events: (namespace: string) => `/api/v1/namespaces/${namespace}/events`,
  leases: (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`,
  deployments: (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/deployments`,
  nodes: "/api/v1/nodes",
  namespaces: "/api/v1/namespaces",
};

export function vni(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: OPENPE, kind: "L3VNI", metadata: { name, ...metadata }, spec: { vrf: "red", vni: 100, ...spec } };
}

export function nodeStatus(name: string, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: OPENPE, kind: "RouterNodeConfigurationStatus", metadata: { name, ...metadata } };
}

export function pool(name: string, spec: JsonObject = {}): JsonObject {
  return { apiVersion: "metallb.io/v1beta1", kind: "IPAddressPool", metadata: { name }, spec: { addresses: ["192.0.2.0/24"], ...spec } };
}

export function map(name: string, data: Record<string, string> = { a: "b" }, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data };
}

export function core(kind: string, name: string, rest: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind, metadata: { name, ...metadata }, ...rest };
}

export function lease(name: string, spec: JsonObject = {}): JsonObject {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name }, spec: { holderIdentity: "me", ...spec } };
}

export function deployment(name: string, containers: JsonObject[]): JsonObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers } },
    },
  };
}

export const condition = (type: string, status: string, message = "") => ({
  type,
  status,
  reason: "Because",
  message,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
