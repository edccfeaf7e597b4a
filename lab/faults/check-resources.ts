import { nodeAnnotation } from "../../src/api/annotations.ts";
import type { Kind, ObjectMeta } from "../../src/api/kind.ts";
import { ConnectivityMesh } from "../../src/api/connectivity/connectivity-mesh.ts";
import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { NAMESPACE } from "../cli/api.ts";
import { type Expectation, type Fault, DETECTION_LIMIT_MS } from "./fault.ts";
import { applied, type Made } from "./resources.ts";

function made(kind: Kind, name: string, spec: object, marks: Pick<ObjectMeta, "labels" | "annotations"> = {}): Made {
  return { kind, object: { metadata: { name, namespace: NAMESPACE, ...marks }, spec } };
}

/** A check that node3 makes. */
function check(about: string, name: string, targetEndpoint: string): Fault {
  const of = { [nodeAnnotation]: "node3" };
  const one = made(PodNetworkConnectivityCheck, name, { sourcePod: "node3", targetEndpoint }, { labels: of, annotations: of });
  return applied(about, "connectivity", [one], {
    says: new RegExp(`^PodNetworkConnectivityCheck ${NAMESPACE}/${name}: Reachable=(False|Unknown)`),
    untrue: new RegExp(`^PodNetworkConnectivityCheck ${NAMESPACE}/${name}: Reachable=True`),
    cause: new RegExp(`${name} |${targetEndpoint.replaceAll(".", "\\.")}`),
    withinMs: DETECTION_LIMIT_MS.session,
  });
}

function mesh(about: string, name: string, spec: object): Fault {
  return applied(about, "connectivity", [made(ConnectivityMesh, name, spec)], notReady(name));
}

function notReady(name: string): Expectation {
  return {
    says: new RegExp(`^ConnectivityMesh ${NAMESPACE}/${name}: Ready=False`),
    untrue: new RegExp(`^ConnectivityMesh ${NAMESPACE}/${name}: Ready=True`),
    cause: new RegExp(`^ConnectivityMesh/${NAMESPACE}/${name} `),
    withinMs: DETECTION_LIMIT_MS.rejected,
  };
}

/** What `lab break` knows of checks that cannot succeed or cannot be made. */
export const CHECK_RESOURCE_FAULTS: Readonly<Record<string, Fault>> = {
  "check-forbidden": check("someone creates a check of a cloud metadata address", "check-forbidden", "169.254.169.254:80"),
  "check-refused": check("someone creates a check of a port where nothing listens", "check-refused", "dns.lab:9"),
  "check-unknown-name": check("someone creates a check of a name that does not exist", "check-unknown-name", "nowhere.lab:80"),
  "mesh-selector-bad": mesh("someone applies a mesh with an invalid selector", "mesh-selector-bad", {
    sources: { nodes: { selector: { matchExpressions: [{ key: "rack", operator: "In" }] } } },
    targets: [{ host: "dns.lab:53" }],
  }),
  "mesh-service-missing": mesh("someone applies a mesh whose target is a missing Service", "mesh-service-missing", {
    sources: { nodes: {} },
    targets: [{ service: { name: "nowhere", namespace: "default" } }],
  }),
};
