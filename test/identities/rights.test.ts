import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { accessAs, installIdentities, type Program } from "../../lab/kube/identities.ts";
import { applyCrds, installCrds } from "../../lab/kube/install-crds.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { networkFenceCrd } from "../support/network-fence.ts";

// What agents and controller may ask of a real API server, and what not. Nothing of it is carried out: every write is a dry run, which is judged like any other.

const { signal } = new AbortController();
const OWN = "/namespaces/plumbline-system";
const METALLB = "/namespaces/metallb-system";
const ROUTERS = "/namespaces/openperouter-system";
const SHOP = "/namespaces/shop";
const LEASES = `/apis/coordination.k8s.io/v1${OWN}/leases`;
const BALANCER = "/apis/metallb.io/v1beta1";
const PEERS = "/apis/metallb.io/v1beta2";
const ROUTER = "/apis/openpe.openperouter.github.io/v1alpha1";
const CHECKS = `/apis/controlplane.operator.openshift.io/v1alpha1${OWN}/podnetworkconnectivitychecks`;
const POLICIES = "/apis/crd.hahomelabs.com/v1alpha1";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const FENCES = "/apis/csiaddons.openshift.io/v1alpha1/networkfences";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const PROGRAMS = {
  agent: { agentOf: "worker0" },
  "an agent whose token names no node": "agent of no node",
  controller: "controller",
} as const satisfies Record<string, Program>;
const BUILTIN: Record<string, string> = {
  services: "Service",
  configmaps: "ConfigMap",
  secrets: "Secret",
  pods: "Pod",
  events: "Event",
  leases: "Lease",
  daemonsets: "DaemonSet",
  deployments: "Deployment",
  jobs: "Job",
  networkfences: "NetworkFence",
  clusterrolebindings: "ClusterRoleBinding",
  validatingwebhookconfigurations: "ValidatingWebhookConfiguration",
};
type Who = keyof typeof PROGRAMS;
/** `PATCH /api/...`, and with what; a POST may say just the name of what it creates. */
type Ask = readonly [request: string, body?: object | string | undefined];

let api: SuiteApiServer;
let admin: KubeClient;
const clients = new Map<Who, KubeClient>();

const of = (node: string) => ({ metadata: { annotations: { "plumbline.dev/node": node } } });
const named = (name: string, node?: string) => ({ metadata: { name, ...(node !== undefined && of(node).metadata) } });
const status = (fields: object = {}) => ({ status: fields });
const labels = { metadata: { labels: { touched: "yes" } } };
const lease = (name: string, node?: string) => ({ ...named(name, node), spec: { holderIdentity: node ?? "worker0" } });
const pod = { ...named("p"), spec: { containers: [{ name: "c", image: "example.com/c" }] } };
const workload = {
  ...named("web"),
  spec: { selector: { matchLabels: { app: "web" } }, template: { metadata: { labels: { app: "web" } }, spec: pod.spec } },
};
const fence = (name: string, spec: object = {}) => ({
  metadata: { name, annotations: { "plumbline.dev/failover-policy": "shop/site" } },
  spec: { networkFenceClassName: "rbd", cidrs: ["192.0.2.0/28"], ...spec },
});
const elsewhere = { spec: { template: { spec: { containers: [{ name: "c", image: "example.com/other" }] } } } };
const token = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
const event = (name: string, component: string, instance = "") => ({
  ...named(name),
  involvedObject: { kind: "Service", namespace: "shop", name: "web" },
  reason: "Told",
  message: "told",
  type: "Normal",
  source: { component },
  reportingComponent: component,
  reportingInstance: instance,
});
const owner = { apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "00000000-0000-0000-0000-000000000000" };
const unknown = { type: "Valid", status: "Unknown", reason: "ControllerSilent", message: "", lastTransitionTime: "2026-11-16T09:00:00Z" };
const known = { ...unknown, status: "True", reason: "ConfigurationValid" };

beforeAll(async () => {
  api = await apiServer("rights");
  admin = new KubeClient(api.access);
  await installCrds(admin, CUSTOM_KINDS, signal);
  await applyCrds(admin, [networkFenceCrd], signal);
  await installIdentities(admin, signal);
  await admin.resource(Namespace).create({ metadata: { name: "shop" } }, { signal });
  for (const name of ["worker0", "worker1"]) await admin.resource(Node).create({ metadata: { name } }, { signal });
  const existing: Ask[] = [
    [`POST /api/v1${SHOP}/services`, { ...named("web"), spec: { ports: [{ port: 80 }] } }],
    [`POST /apis/apps/v1${SHOP}/deployments`, workload],
    [`POST ${FENCES}`, fence("of-somebody")],
    [`POST /api/v1${OWN}/configmaps`, "plumbline-members"],
    [`POST /api/v1${ROUTERS}/secrets`, "tor-password"],
    [`POST ${LEASES}`, lease("plumbline-controller")],
    [`POST ${BALANCER}${METALLB}/ipaddresspools`, { ...named("pool"), spec: { addresses: ["192.0.2.0/24"] } }],
    [`POST ${BALANCER}${METALLB}/configurationstates`, "controller"],
    [`PATCH ${BALANCER}${METALLB}/configurationstates/controller/status`, status({ result: "Valid", lastError: "", conditions: [known] })],
    [`POST ${BALANCER}${METALLB}/configurationstatuses`, "config-status"],
    [
      `PATCH ${BALANCER}${METALLB}/configurationstatuses/config-status/status`,
      status({ validConfig: true, lastError: "", conditions: [known] }),
    ],
    [`POST /api/v1${SHOP}/events`, event("of-worker0", "plumbline-agent", "worker0")],
    [`POST /api/v1${SHOP}/events`, event("of-worker1", "plumbline-agent", "worker1")],
    [`POST /api/v1${SHOP}/events`, event("of-the-controller", "plumbline-controller")],
    [`POST /api/v1${SHOP}/events`, event("of-others", "kubelet", "worker0")],
    ...["worker0", "worker1"].flatMap((node): Ask[] => [
      [`POST ${LEASES}`, lease(`agent-${node}`, node)],
      [`POST ${BALANCER}${METALLB}/configurationstates`, named(`speaker-${node}`, node)],
      [`POST ${BALANCER}${METALLB}/bgpsessionstatuses`, named(`${node}-tor`, node)],
      [`POST ${BALANCER}${SHOP}/servicebgpstatuses`, named(`web-${node}`, node)],
      [`POST ${BALANCER}${SHOP}/servicel2statuses`, named(`of-${node}`, node)],
      [`PATCH ${BALANCER}${SHOP}/servicel2statuses/of-${node}/status`, status({ node })],
      [`POST ${ROUTER}${ROUTERS}/routernodeconfigurationstatuses`, named(node, node)],
      [`POST ${CHECKS}`, { ...named(`from-${node}`, node), spec: { sourcePod: node, targetEndpoint: "192.0.2.1:80" } }],
    ]),
  ];
  for (const ask of existing) await send(admin, ask);
  for (const [who, program] of Object.entries(PROGRAMS) as [Who, Program][]) {
    clients.set(who, new KubeClient(accessAs(program, api.access)));
  }
  // A policy is not there at once.
  const denied: [Who, ...Ask][] = [
    ["agent", `PATCH ${ROUTER}${ROUTERS}/routernodeconfigurationstatuses/worker1/status`, status()],
    ["agent", `PATCH ${CHECKS}/from-worker1/status`, status()],
    ["controller", `PATCH /apis/apps/v1${SHOP}/deployments/web`, elsewhere],
    ["controller", "PATCH /api/v1/nodes/worker0", labels],
    ["controller", `PATCH /api/v1${SHOP}/events/of-others`, labels],
    ["controller", `POST ${FENCES}`, fence("of-somebody")],
  ];
  for (const [who, ...ask] of denied) await vi.waitUntil(async () => (await outcome(who, ask)) !== "allowed", { timeout: 60_000 });
});
afterAll(async () => {
  for (const client of [admin, ...clients.values()]) client.close();
  await api.stop();
});

function send(client: KubeClient, [request, body]: Ask, query: Record<string, string> = {}): Promise<unknown> {
  const [method = "", path = ""] = request.split(" ");
  if (method !== "POST") return client.request(method, path, { body, contentType: "application/merge-patch+json", query, signal });
  const created = typeof body === "string" ? named(body) : body;
  return client.request(method, path, { body: { ...typeOf(path), ...created }, query, signal });
}

/** A new object says what it is; here the path does. */
function typeOf(path: string): { apiVersion: string; kind: string } {
  const [, core, group, resource = ""] = /^\/(?:api\/(v1)|apis\/([^/]+\/[^/]+)).*\/([^/]+)$/.exec(path) ?? [];
  return { apiVersion: core ?? group ?? "", kind: CUSTOM_KINDS.find(({ plural }) => plural === resource)?.kind ?? BUILTIN[resource] ?? "" };
}

async function outcome(who: Who, ask: Ask): Promise<string> {
  const client = clients.get(who) as KubeClient;
  try {
    await send(client, ask, ask[0].startsWith("GET ") ? {} : { dryRun: "All" });
    return "allowed";
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return error.status === 403 ? "forbidden" : (/denied request: (.*)/.exec(error.message)?.[1] ?? `${error.code}: ${error.message}`);
  }
}

const NOT_OURS = "an agent may create only objects whose annotation plumbline.dev/node is its own node";
const NOT_OURS_BEFORE = "an agent may change and delete only objects whose annotation plumbline.dev/node is its own node";
const NAME_OF_ANOTHER = "an agent must not use the name of another node's status or Lease, or of the leader's Lease";
const NO_NODE = "the token of an agent must be bound to its Pod or Node";
const NO_SWITCH = "the controller may change only the fields of other objects that a site switch needs";
const SESSION_OF_ANOTHER = "the name of a session status must start with the agent's own node";
const SERVICE_OF_ANOTHER = "the name of a Service status must end with the agent's own node";
const REPORT_OF_ANOTHER = "status.node must be the agent's own node";
const NOT_OUR_EVENT = "an agent or a controller may write only Events with its own reporting component";
const EVENT_OF_ANOTHER = "an agent may write only Events with its own node as the reporting instance";
const LABEL_OF_ANOTHER = "the node label must be the agent's own node";
const ONLY_INDEX = "the controller may change only annotation openpe.io/nodeindex of a Node";
const ONLY_FENCES = "the controller may only create NetworkFences that fence for a FailoverPolicy, and change none";
const NOT_OUR_METADATA = "the controller must not change labels, owners and finalizers of other objects";
const NOT_OUR_ANNOTATION = "the controller may write only annotations that belong to a switch";
const NOT_OUR_CHECK = "an agent may write only the status of checks whose annotation plumbline.dev/node is its own node";

describe("forbidden", () => {
  const byRights: Record<string, readonly [Who, ...Ask][]> = {
    "a Service, or what is said of one, by an agent": [
      ["agent", `PATCH /api/v1${SHOP}/services/web`, labels],
      ["agent", `PATCH /api/v1${SHOP}/services/web/status`, status()],
      ["agent", `DELETE /api/v1${SHOP}/services/web`],
    ],
    "to unfence what is fenced": [
      ["controller", `PATCH ${FENCES}/of-somebody`, { spec: { fenceState: "Unfenced" } }],
      ["controller", `DELETE ${FENCES}/of-somebody`],
      ["agent", `POST ${FENCES}`, fence("failover-uid-2")],
    ],
    "Secrets that are none of its business": [
      ["agent", `GET /api/v1/secrets`],
      ["agent", `GET /api/v1${SHOP}/secrets`],
      ["agent", `GET /api/v1${ROUTERS}/secrets`],
      ["agent", `GET /api/v1${OWN}/secrets`],
      ["agent", `GET /api/v1${OWN}/secrets/plumbline-webhook-cert`],
      ["agent", `GET /api/v1/namespaces/kube-system/secrets`],
      ["agent", `POST /api/v1${METALLB}/secrets`, "mine"],
      ["controller", `GET /api/v1/secrets`],
      ["controller", `GET /api/v1${OWN}/secrets`],
      ["controller", `GET /api/v1${METALLB}/secrets`],
      ["controller", `GET /api/v1${ROUTERS}/secrets`],
      ["controller", `GET /api/v1${SHOP}/secrets/failover-other-site`],
      ["controller", `POST /api/v1${SHOP}/secrets`, "mine"],
    ],
    "Pods and whatever runs": [
      ["agent", `POST /api/v1${OWN}/pods`, pod],
      ["agent", `GET /api/v1/pods`],
      ["agent", `DELETE /api/v1${OWN}/pods/p`],
      ["agent", `POST /api/v1${OWN}/pods/p/exec`],
      ["controller", `POST /api/v1${OWN}/pods`, pod],
      ["controller", `DELETE /api/v1${SHOP}/pods/p`],
      ["controller", `POST /api/v1${SHOP}/pods/p/eviction`],
      ["controller", `POST /apis/apps/v1${OWN}/daemonsets`, "d"],
      ["controller", `PATCH /apis/apps/v1${OWN}/daemonsets/d`, labels],
      ["controller", `DELETE /apis/apps/v1${SHOP}/deployments/d`],
      ["controller", `POST /apis/batch/v1${SHOP}/jobs`, "j"],
    ],
    "Nodes and namespaces": [
      ["agent", "PATCH /api/v1/nodes/worker0", labels],
      ["agent", "PATCH /api/v1/nodes/worker0/status", status()],
      ["agent", "DELETE /api/v1/nodes/worker1"],
      ["controller", "DELETE /api/v1/nodes/worker1"],
      ["controller", "PATCH /api/v1/nodes/worker1/status", status()],
      ["controller", "DELETE /api/v1/namespaces/shop"],
    ],
    "configuration, which people write": [
      ["agent", `PATCH ${BALANCER}${METALLB}/ipaddresspools/pool`, labels],
      ["agent", `PATCH ${BALANCER}${METALLB}/ipaddresspools/pool/status`, status()],
      ["agent", `POST ${PEERS}${METALLB}/bgppeers`, "p"],
      ["agent", `PATCH ${ROUTER}${ROUTERS}/l3vnis/red`, labels],
      ["agent", `PATCH ${ROUTER}${ROUTERS}/l3vnis/red/status`, status()],
      ["agent", `GET ${BALANCER}/ipaddresspools`],
      ["controller", `PATCH ${BALANCER}${METALLB}/ipaddresspools/pool`, labels],
      ["controller", `DELETE ${BALANCER}${METALLB}/ipaddresspools/pool`],
      ["controller", `POST ${PEERS}${METALLB}/bgppeers`, "p"],
      ["controller", `PATCH ${ROUTER}${ROUTERS}/l3vnis/red`, labels],
      ["controller", `DELETE ${POLICIES}${SHOP}/failoverpolicies/site`],
      ["controller", `PATCH /api/v1${SHOP}/services/web`, labels],
      ["controller", `DELETE /api/v1${SHOP}/persistentvolumeclaims/data`],
    ],
    "what agents share, by one of them": [
      ["agent", `PATCH /api/v1${OWN}/configmaps/plumbline-members`, { data: { live: "[]" } }],
      ["agent", `GET /api/v1${OWN}/configmaps`],
      ["agent", `GET ${LEASES}`],
      ["agent", `DELETE ${LEASES}/agent-worker0`],
      ["agent", `DELETE ${BALANCER}${METALLB}/configurationstates/speaker-worker0`],
      ["agent", `DELETE ${ROUTER}${ROUTERS}/routernodeconfigurationstatuses/worker0`],
      ["agent", `POST ${CHECKS}`, "c"],
      ["agent", `PATCH ${CHECKS}/from-worker0`, labels],
      ["agent", `GET ${POLICIES}/failoverpolicies`],
    ],
    "permissions, and accounts with more of them": [
      ...(["agent", "controller"] as const).flatMap((who): [Who, ...Ask][] => [
        [who, `POST /api/v1${OWN}/serviceaccounts/plumbline-controller/token`, token],
        [who, `POST /api/v1/namespaces/kube-system/serviceaccounts/default/token`, token],
        [who, `POST ${RBAC}/clusterrolebindings`, "mine"],
        [who, `PATCH ${RBAC}/clusterroles/plumbline-${who}`, labels],
        [who, `DELETE ${ADMISSION}/validatingadmissionpolicies/plumbline-agent-writes-of-its-node`],
        [who, `POST ${ADMISSION}/validatingwebhookconfigurations`, "mine"],
        [who, `PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/bgppeers.metallb.io`, labels],
      ]),
      ["agent", `PATCH ${ADMISSION}/validatingwebhookconfigurations/plumbline-webhook`, labels],
      ["controller", `PATCH ${ADMISSION}/validatingwebhookconfigurations/of-others`, labels],
    ],
  };

  test.each(Object.entries(byRights))("by RBAC: %s", async (_what, rows) => {
    expect(await outcomes(rows)).toEqual(rows.map((row) => [line(row), "forbidden"]));
  });

  test("by the admission policies: statuses, Leases and names of another node, the Lease of the leader, and pod templates", async () => {
    const rows: [...[Who, ...Ask], denial: string][] = [
      ["agent", `PATCH ${BALANCER}${METALLB}/configurationstates/speaker-worker1/status`, status(), NOT_OURS],
      ["agent", `PATCH ${BALANCER}${METALLB}/configurationstates/speaker-worker1`, of("worker0"), NOT_OURS_BEFORE],
      ["agent", `PATCH ${BALANCER}${METALLB}/configurationstates/controller`, of("worker0"), NAME_OF_ANOTHER],
      ["agent", `PATCH ${BALANCER}${METALLB}/bgpsessionstatuses/worker1-tor/status`, status(), NOT_OURS],
      ["agent", `DELETE ${BALANCER}${METALLB}/bgpsessionstatuses/worker1-tor`, undefined, NOT_OURS_BEFORE],
      ["agent", `PATCH ${BALANCER}${SHOP}/servicebgpstatuses/web-worker1/status`, status(), NOT_OURS],
      ["agent", `PATCH ${BALANCER}${SHOP}/servicebgpstatuses/web-worker1`, of("worker0"), NOT_OURS_BEFORE],
      ["agent", `DELETE ${BALANCER}${SHOP}/servicebgpstatuses/web-worker1`, undefined, NOT_OURS_BEFORE],
      ["agent", `POST ${BALANCER}${SHOP}/servicebgpstatuses`, named("new", "worker1"), NOT_OURS],
      ["agent", `POST ${BALANCER}${SHOP}/servicebgpstatuses`, named("new"), NOT_OURS],
      ["agent", `PATCH ${BALANCER}${SHOP}/servicel2statuses/of-worker1/status`, status(), NOT_OURS],
      ["agent", `PATCH ${BALANCER}${SHOP}/servicel2statuses/of-worker0`, of("worker1"), NOT_OURS],
      ["agent", `DELETE ${BALANCER}${SHOP}/servicel2statuses/of-worker1`, undefined, NOT_OURS_BEFORE],
      ["agent", `PATCH ${ROUTER}${ROUTERS}/routernodeconfigurationstatuses/worker1/status`, status(), NOT_OURS],
      ["agent", `PATCH ${ROUTER}${ROUTERS}/routernodeconfigurationstatuses/worker1`, of("worker0"), NOT_OURS_BEFORE],
      ["agent", `POST ${ROUTER}${ROUTERS}/routernodeconfigurationstatuses`, named("worker2", "worker0"), NAME_OF_ANOTHER],
      ["agent", `PATCH ${LEASES}/agent-worker1`, { spec: { holderIdentity: "worker0" } }, NOT_OURS],
      ["agent", `POST ${LEASES}`, lease("agent-worker2", "worker2"), NOT_OURS],
      ["agent", `POST ${LEASES}`, lease("agent-worker2", "worker0"), NAME_OF_ANOTHER],
      ["agent", `PATCH ${LEASES}/plumbline-controller`, { spec: { holderIdentity: "worker0" } }, NOT_OURS],
      ["agent", `PATCH ${LEASES}/plumbline-controller`, of("worker0"), NAME_OF_ANOTHER],
      ["agent", `POST ${BALANCER}${METALLB}/bgpsessionstatuses`, named("worker1-other", "worker0"), SESSION_OF_ANOTHER],
      [
        "agent",
        `POST ${BALANCER}${METALLB}/bgpsessionstatuses`,
        { metadata: { generateName: "worker1-", ...of("worker0").metadata } },
        SESSION_OF_ANOTHER,
      ],
      ["agent", `POST ${BALANCER}${SHOP}/servicebgpstatuses`, named("new-worker1", "worker0"), SERVICE_OF_ANOTHER],
      ["agent", `PATCH ${BALANCER}${METALLB}/bgpsessionstatuses/worker0-tor/status`, status({ node: "worker1" }), REPORT_OF_ANOTHER],
      ["agent", `PATCH ${BALANCER}${SHOP}/servicebgpstatuses/web-worker0/status`, status({ node: "worker1" }), REPORT_OF_ANOTHER],
      ["agent", `PATCH ${CHECKS}/from-worker1/status`, status(), NOT_OUR_CHECK],
      ["agent", `PATCH ${BALANCER}${SHOP}/servicel2statuses/of-worker0/status`, status({ node: "worker1" }), REPORT_OF_ANOTHER],
      [
        "agent",
        `POST ${BALANCER}${METALLB}/bgpsessionstatuses`,
        { metadata: { name: "worker0-other", ...of("worker0").metadata, labels: { "metallb.io/node": "worker1" } } },
        LABEL_OF_ANOTHER,
      ],
      [
        "agent",
        `PATCH ${BALANCER}${METALLB}/bgpsessionstatuses/worker0-tor`,
        { metadata: { labels: { "metallb.io/node": "worker1" } } },
        LABEL_OF_ANOTHER,
      ],
      ["agent", `POST /api/v1${SHOP}/events`, event("new", "kubelet", "worker0"), NOT_OUR_EVENT],
      ["agent", `POST /api/v1${SHOP}/events`, event("new", "plumbline-agent", "worker1"), EVENT_OF_ANOTHER],
      ["agent", `PATCH /api/v1${SHOP}/events/of-worker1`, { message: "x" }, EVENT_OF_ANOTHER],
      ["agent", `PATCH /api/v1${SHOP}/events/of-worker1`, { reportingInstance: "worker0" }, EVENT_OF_ANOTHER],
      ["agent", `PATCH /api/v1${SHOP}/events/of-others`, { message: "x" }, NOT_OUR_EVENT],
      ["agent", `PATCH /api/v1${SHOP}/events/of-the-controller`, { message: "x" }, NOT_OUR_EVENT],
      ["an agent whose token names no node", `POST /api/v1${SHOP}/events`, event("new", "plumbline-agent", "worker0"), EVENT_OF_ANOTHER],
      ["controller", `PATCH /api/v1${SHOP}/events/of-worker1`, { message: "x" }, NOT_OUR_EVENT],
      ["controller", `POST /api/v1${SHOP}/events`, event("new", "plumbline-agent", "worker1"), NOT_OUR_EVENT],
      // Only that nothing is known any more, and nothing else.
      ...[
        status({ result: "Invalid", conditions: [unknown] }),
        status({ result: "Unknown", conditions: [known] }),
        status({ result: "Unknown", lastError: "x", conditions: [unknown] }),
        status({ result: "Unknown", resources: [], conditions: [unknown] }),
        status({ result: "Unknown", conditions: null }),
      ].map((body): [Who, string, object, string] => [
        "agent",
        `PATCH ${BALANCER}${METALLB}/configurationstates/controller/status`,
        body,
        NOT_OURS,
      ]),
      ...[
        status({ validConfig: false, conditions: [unknown] }),
        status({ validConfig: null, conditions: [known] }),
        status({ validConfig: null, lastError: "x", conditions: [unknown] }),
        status({ validConfig: null, lastError: null, conditions: [unknown] }),
      ].map((body): [Who, string, object, string] => [
        "agent",
        `PATCH ${BALANCER}${METALLB}/configurationstatuses/config-status/status`,
        body,
        NOT_OURS,
      ]),
      ["controller", "PATCH /api/v1/nodes/worker0", { spec: { unschedulable: true } }, ONLY_INDEX],
      ["controller", "PATCH /api/v1/nodes/worker0", { spec: { taints: [{ key: "x", effect: "NoExecute" }] } }, ONLY_INDEX],
      ["controller", "PATCH /api/v1/nodes/worker0", labels, ONLY_INDEX],
      ["controller", "PATCH /api/v1/nodes/worker0", { metadata: { ownerReferences: [owner] } }, ONLY_INDEX],
      ["controller", "PATCH /api/v1/nodes/worker0", { metadata: { finalizers: ["example.com/f"] } }, ONLY_INDEX],
      ["controller", "PATCH /api/v1/nodes/worker0", { metadata: { annotations: { "example.com/theirs": "x" } } }, ONLY_INDEX],
      ["controller", `PATCH /apis/apps/v1${SHOP}/deployments/web`, { metadata: { ownerReferences: [owner] } }, NOT_OUR_METADATA],
      ["controller", `PATCH /apis/apps/v1${SHOP}/deployments/web`, { metadata: { finalizers: ["example.com/f"] } }, NOT_OUR_METADATA],
      ["controller", `PATCH /apis/apps/v1${SHOP}/deployments/web`, labels, NOT_OUR_METADATA],
      [
        "controller",
        `PATCH /apis/apps/v1${SHOP}/deployments/web`,
        { metadata: { annotations: { "example.com/theirs": "x" } } },
        NOT_OUR_ANNOTATION,
      ],
      ["controller", `PATCH /apis/apps/v1${SHOP}/deployments/web`, elsewhere, NO_SWITCH],
      [
        "controller",
        `PATCH /apis/apps/v1${SHOP}/deployments/web`,
        { spec: { strategy: { type: "Recreate", rollingUpdate: null } } },
        NO_SWITCH,
      ],
      ["controller", `POST ${FENCES}`, fence("failover-uid-2", { fenceState: "Unfenced" }), ONLY_FENCES],
      ["controller", `POST ${FENCES}`, fence("of-somebody"), ONLY_FENCES],
      ["controller", `POST ${FENCES}`, { ...fence("failover-uid-2"), metadata: { name: "failover-uid-2" } }, ONLY_FENCES],
      ["controller", `POST ${FENCES}`, fence("failover-uid-2", { driver: "rbd.csi.ceph.com" }), ONLY_FENCES],
      ["an agent whose token names no node", `PATCH ${LEASES}/agent-worker0`, labels, NO_NODE],
      ["an agent whose token names no node", `PATCH ${BALANCER}${METALLB}/configurationstates/speaker-worker0/status`, status(), NO_NODE],
      ["an agent whose token names no node", `PATCH ${ROUTER}${ROUTERS}/routernodeconfigurationstatuses/worker0/status`, status(), NO_NODE],
      ["an agent whose token names no node", `PATCH ${CHECKS}/from-worker0/status`, status(), NO_NODE],
    ];
    const requests = rows.map(([who, request, body]): [Who, ...Ask] => [who, request, body]);
    expect(await outcomes(requests)).toEqual(rows.map(([who, request, , denial]) => [line([who, request]), denial]));
  });
});

test("what each of them needs is allowed", async () => {
  const rows: [Who, ...Ask][] = [
    ["agent", "GET /api/v1/nodes"],
    ["agent", "GET /api/v1/services"],
    ["agent", "GET /api/v1/namespaces"],
    ["agent", "GET /apis/discovery.k8s.io/v1/endpointslices"],
    ["agent", `GET /api/v1${METALLB}/secrets`],
    ["agent", `GET /api/v1${ROUTERS}/secrets/tor-password`],
    ["agent", `GET /api/v1${OWN}/configmaps/plumbline-members`],
    ["agent", `GET ${PEERS}${METALLB}/bgppeers`],
    ["agent", `GET ${ROUTER}${ROUTERS}/underlays`],
    ["agent", `GET ${CHECKS}`],
    ["agent", `POST /api/v1${SHOP}/events`, event("new", "plumbline-agent", "worker0")],
    ["agent", `PATCH /api/v1${SHOP}/events/of-worker0`, { message: "again", count: 2 }],
    ["controller", "GET /api/v1/events"],
    ["controller", `POST /api/v1${SHOP}/events`, event("new", "plumbline-controller", "replica-1")],
    ["controller", `PATCH /api/v1${SHOP}/events/of-the-controller`, { message: "again", count: 2 }],
    ["agent", `GET ${LEASES}/plumbline-controller`],
    ["agent", `PATCH ${BALANCER}${METALLB}/configurationstates/controller/status`, status({ result: "Unknown", conditions: [unknown] })],
    [
      "agent",
      `PATCH ${BALANCER}${METALLB}/configurationstatuses/config-status/status`,
      status({ validConfig: null, conditions: [unknown] }),
    ],
    [
      "agent",
      `POST ${BALANCER}${METALLB}/bgpsessionstatuses`,
      { metadata: { name: "worker0-other", ...of("worker0").metadata, labels: { "metallb.io/node": "worker0" } } },
    ],
    ["agent", `PATCH ${LEASES}/agent-worker0`, { spec: { holderIdentity: "worker0" } }],
    ["agent", `PATCH ${BALANCER}${METALLB}/configurationstates/speaker-worker0/status`, status()],
    ["agent", `PATCH ${BALANCER}${METALLB}/bgpsessionstatuses/worker0-tor/status`, status()],
    ["agent", `POST ${BALANCER}${METALLB}/bgpsessionstatuses`, named("worker0-other", "worker0")],
    ["agent", `DELETE ${BALANCER}${METALLB}/bgpsessionstatuses/worker0-tor`],
    ["agent", `POST ${BALANCER}${SHOP}/servicebgpstatuses`, named("new-worker0", "worker0")],
    ["agent", `POST ${BALANCER}${SHOP}/servicebgpstatuses`, named("new-worker0-0123456789", "worker0")],
    ["agent", `PATCH ${BALANCER}${SHOP}/servicebgpstatuses/web-worker0/status`, status({ node: "worker0" })],
    ["agent", `DELETE ${BALANCER}${SHOP}/servicebgpstatuses/web-worker0`],
    // The one report that changes hands.
    ["agent", `PATCH ${BALANCER}${SHOP}/servicel2statuses/of-worker1`, of("worker0")],
    ["agent", `PATCH ${BALANCER}${SHOP}/servicel2statuses/of-worker0/status`, status({ node: "worker0" })],
    ["agent", `PATCH ${ROUTER}${ROUTERS}/routernodeconfigurationstatuses/worker0/status`, status()],
    ["agent", `PATCH ${CHECKS}/from-worker0/status`, status()],
    ["controller", `PATCH ${LEASES}/plumbline-controller`, { spec: { holderIdentity: "a" } }],
    ["controller", `DELETE ${LEASES}/agent-worker1`],
    ["controller", `PATCH /api/v1${OWN}/configmaps/plumbline-members`, { data: { live: "[]" } }],
    ["controller", "PATCH /api/v1/nodes/worker0", { metadata: { annotations: { "openpe.io/nodeindex": "0" } } }],
    ["controller", `PATCH /api/v1${SHOP}/services/web/status`, status()],
    ["controller", `PATCH ${BALANCER}${METALLB}/ipaddresspools/pool/status`, status()],
    ["controller", `PATCH ${BALANCER}${METALLB}/configurationstates/speaker-worker1/status`, status()],
    ["controller", `DELETE ${BALANCER}${SHOP}/servicebgpstatuses/web-worker1`],
    ["controller", `DELETE ${ROUTER}${ROUTERS}/routernodeconfigurationstatuses/worker1`],
    ["controller", `POST ${CHECKS}`, { ...named("new"), spec: { sourcePod: "worker0", targetEndpoint: "192.0.2.1:80" } }],
    ["controller", `PATCH ${CHECKS}/from-worker1/status`, status()],
    ["controller", `GET ${POLICIES}/failoverpolicies`],
    ["controller", `GET ${FENCES}`],
    ["controller", `POST ${FENCES}`, fence("failover-uid-2")],
    ["controller", "GET /apis/apps/v1/deployments"],
    ["controller", `PATCH /apis/apps/v1${SHOP}/deployments/web`, { ...of("worker0"), spec: { replicas: 0 } }],
  ];
  expect(await outcomes(rows)).toEqual(rows.map((row) => [line(row), "allowed"]));
});

test("an agent that finds its own report or Lease without the annotation puts it back", async () => {
  const bare = { metadata: { annotations: { "plumbline.dev/node": null } } };
  const paths = [
    `${LEASES}/agent-worker0`,
    `${BALANCER}${METALLB}/configurationstates/speaker-worker0`,
    `${ROUTER}${ROUTERS}/routernodeconfigurationstatuses/worker0`,
  ];
  for (const path of paths) {
    await send(admin, [`PATCH ${path}`, bare]);
    expect([path, await outcome("agent", [`PATCH ${path}`, of("worker0")])]).toEqual([path, "allowed"]);
    await send(admin, [`PATCH ${path}`, of("worker0")]);
  }
});

const line = ([who, request]: readonly [Who, string, ...unknown[]]) => `${who}: ${request}`;

async function outcomes(rows: readonly (readonly [Who, ...Ask])[]): Promise<string[][]> {
  const came: string[][] = [];
  for (const [who, ...ask] of rows) came.push([line([who, ...ask]), await outcome(who, ask)]);
  return came;
}
