import { Deployment } from "../../src/api/core/deployment.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import type { Kind } from "../../src/api/kind.ts";
import { type Expectation, type Fault, DETECTION_LIMIT_MS } from "./fault.ts";
import { applied, type Made } from "./resources.ts";

const NAMESPACE = "default";
/** The one Secret that the controller may read there, by deploy/failover/peer.yaml. */
const PEER_SECRET = "failover-other-site";
/** A port without a listener. */
const NOWHERE = `apiVersion: v1
kind: Config
clusters: [{ name: west, cluster: { server: "https://127.0.0.1:1" } }]
users: [{ name: west, user: { token: none } }]
contexts: [{ name: west, context: { cluster: west, user: west } }]
current-context: west
`;

function made(kind: Kind, name: string, content: object, labels: Record<string, string> = {}): Made {
  return { kind, object: { metadata: { name, namespace: NAMESPACE, labels }, ...content } };
}

function policy(name: string, spec: object): Made {
  return made(FailoverPolicy, name, { spec: { desiredState: "primary", ...spec } });
}

const managed = (kind: string, name: string) => ({ managedResources: [{ kind, name }] });
const template = (app: string) => ({ metadata: { labels: { app } }, spec: { containers: [{ name: app, image: app }] } });

function deployment(name: string, replicas: number): Made {
  return made(Deployment, name, { spec: { replicas, selector: { matchLabels: { app: name } }, template: template(name) } });
}

function inError(name: string, cause = `FailoverPolicy/${NAMESPACE}/${name}`, what = "Error=True"): Expectation {
  return {
    says: new RegExp(`^FailoverPolicy ${NAMESPACE}/${name}: ${what}`),
    untrue: new RegExp(`^FailoverPolicy ${NAMESPACE}/${name}: Complete=True`),
    cause: new RegExp(`^(${cause})(@[^ ]+)? `),
    withinMs: DETECTION_LIMIT_MS.rejected,
  };
}

/** What `lab break` knows of policies that cannot be followed where there is one site only. */
export const POLICY_FAULTS: Readonly<Record<string, Fault>> = {
  "policy-workload-missing": applied(
    "someone applies a FailoverPolicy for a missing Deployment",
    "failover",
    [policy("policy-workload-missing", managed("Deployment", "drill-nowhere"))],
    inError("policy-workload-missing", `FailoverPolicy/${NAMESPACE}/policy-workload-missing|Deployment/${NAMESPACE}/drill-nowhere`),
  ),
  "policy-volume-missing": applied(
    "someone applies a FailoverPolicy for a volume in a cluster without replication",
    "failover",
    [policy("policy-volume-missing", managed("VolumeReplication", "drill-nowhere"))],
    inError("policy-volume-missing", `FailoverPolicy/${NAMESPACE}/policy-volume-missing|VolumeReplication/${NAMESPACE}/drill-nowhere`),
  ),
  "policy-taken": applied(
    "someone applies a second FailoverPolicy for the same Deployment",
    "failover",
    [deployment("twice", 0), policy("first", managed("Deployment", "twice")), policy("policy-taken", managed("Deployment", "twice"))],
    inError("policy-taken", `FailoverPolicy/${NAMESPACE}/policy-taken|Deployment/${NAMESPACE}/twice`),
  ),
  "policy-deletes-volumes": applied(
    "someone applies a FailoverPolicy for a StatefulSet whose volumes are deleted when it is scaled down",
    "failover",
    [
      made(StatefulSet, "deletes", {
        spec: {
          replicas: 1,
          serviceName: "deletes",
          selector: { matchLabels: { app: "deletes" } },
          template: template("deletes"),
          persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete" },
        },
      }),
      policy("policy-deletes-volumes", { desiredState: "secondary", ...managed("StatefulSet", "deletes") }),
    ],
    inError("policy-deletes-volumes", `FailoverPolicy/${NAMESPACE}/policy-deletes-volumes|StatefulSet/${NAMESPACE}/deletes`),
  ),
  "policy-peer-missing": applied(
    "someone applies a FailoverPolicy whose peer is in a missing Secret",
    "failover",
    [
      deployment("peerless", 0),
      policy("policy-peer-missing", { ...managed("Deployment", "peerless"), peer: { kubeconfigSecret: { name: PEER_SECRET } } }),
    ],
    inError(
      "policy-peer-missing",
      `FailoverPolicy/${NAMESPACE}/policy-peer-missing|Secret/${NAMESPACE}/${PEER_SECRET}|Site/[^ ]*`,
      "(Error=True|peer unreachable)",
    ),
  ),
  "policy-peer-away": applied(
    "someone applies a FailoverPolicy whose peer does not answer",
    "failover",
    [
      made(Secret, PEER_SECRET, { type: "Opaque", stringData: { kubeconfig: NOWHERE } }),
      deployment("peer-away", 0),
      policy("policy-peer-away", { ...managed("Deployment", "peer-away"), peer: { kubeconfigSecret: { name: PEER_SECRET } } }),
    ],
    inError("policy-peer-away", `FailoverPolicy/${NAMESPACE}/policy-peer-away|Site/[^ ]*`, "peer unreachable"),
  ),
  "policy-pod-stays": podStays(),
};

/** A finalizer keeps the pod, like the kubelet of an unreachable node. */
function podStays(): Fault {
  const pod = { name: "stays-1", namespace: NAMESPACE };
  const stuck = { metadata: { ...pod, labels: { app: "stays" }, finalizers: ["drill.plumbline.dev/stays"] } };
  const spec = { nodeName: "node3", terminationGracePeriodSeconds: 0, containers: [{ name: "stays", image: "stays" }] };
  const fault = applied(
    "someone switches a site to secondary, and a pod does not terminate",
    "failover",
    [
      deployment("stays", 1),
      { kind: Pod, object: { ...stuck, spec } },
      policy("policy-pod-stays", { desiredState: "secondary", ...managed("Deployment", "stays") }),
    ],
    inError("policy-pod-stays", `Pod/${NAMESPACE}/stays-1`, "Complete=False"),
  );
  return {
    ...fault,
    break: async (context) => {
      await fault.break(context);
      await context.client.resource(Pod).delete(pod, { signal: context.signal });
    },
    fix: async (context) => {
      await context.client.resource(Pod).patch(pod, { metadata: { finalizers: null } }, { signal: context.signal });
      await fault.fix?.(context);
    },
  };
}
