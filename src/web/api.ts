import type { Domain, Health, Component } from "../api/health.ts";
import type { Answer, ComponentHealth } from "../explain/answer.ts";

/**
 * The data of the page. A view is a set of rows, each with a key that is unique within the view; a change replaces or removes whole rows.
 * Times are RFC 3339.
 */
export interface Rows {
  overview: NodeRow | CauseRow | DomainRow;
  topology: TopologyRow | PeersRow | VniRow;
  router: RouterRow;
  loadbalancer: PoolRow | ServiceRow | SessionsRow;
  failover: PolicyRow;
  connectivity: CheckRow | CommonCausesRow;
  timeline: TimelineRow;
  /** Part of every stream: whether the page shows the current state of the cluster. */
  sync: SyncRow;
}
export type ViewName = keyof Rows;
export const VIEW_NAMES = [
  "overview",
  "topology",
  "router",
  "loadbalancer",
  "failover",
  "connectivity",
  "timeline",
  "sync",
] as const satisfies ViewName[];

/** `GET /api/views/<view>`, with the revision in its ETag. */
export interface ViewSnapshot<V extends ViewName = ViewName> {
  readonly view: V;
  readonly epoch: string;
  readonly revision: number;
  readonly rows: readonly Rows[V][];
}

/**
 * `GET /api/stream?views=overview,router&component=ID&why=ID` (component and why may be repeated) is an EventSource of these two events.
 * `snapshot` comes first and replaces everything on the page; it comes again if the stream could not be resumed or the reader was too slow.
 * The id of each is `<epoch>-<revision>`. `heartbeat` only keeps the stream alive: every 15 seconds without other events, and first if
 * nothing was missed.
 */
export interface SnapshotEvent {
  readonly views: { readonly [V in ViewName]?: readonly Rows[V][] };
  /** By id, as requested. */
  readonly components?: { readonly [id: string]: DetailAnswer };
  readonly whys?: { readonly [id: string]: WhyAnswer };
}

export interface ChangeEvent {
  readonly views: { readonly [V in ViewName]?: { readonly upsert?: readonly Rows[V][]; readonly remove?: readonly string[] } };
  readonly components?: { readonly [id: string]: DetailAnswer };
  readonly whys?: { readonly [id: string]: WhyAnswer };
}

interface Row<Type extends string> {
  readonly type: Type;
  readonly key: string;
}

export interface SyncRow extends Row<"sync"> {
  /** False until everything has been read once. */
  readonly complete: boolean;
  /** Kinds with a broken watch, whose rows may be outdated; a kind that was never `read` is missing. Empty while all watches work. */
  readonly lost: readonly { readonly kind: string; readonly since: string; readonly read: boolean }[];
  /** Kinds that the viewer may not list. Never in the lab or `up`. */
  readonly hidden: readonly string[];
  /** There are more namespaces than are reviewed, so some rows may be missing. */
  readonly incomplete?: boolean;
}

export type HealthCount = Readonly<Record<Health, number>>;

export interface MatrixCellRow {
  readonly health: Health;
  /** Since when it is not healthy. */
  readonly since?: string;
  readonly tally: HealthCount;
}

/** A domain without components on the node, or without permission, has no cell. */
export interface NodeRow extends Row<"node"> {
  readonly name: string;
  readonly health: Health;
  readonly since?: string;
  readonly message?: string;
  readonly cells: { readonly [D in Domain]?: MatrixCellRow };
}

/** A domain in the whole cluster. */
export interface DomainRow extends Row<"domain"> {
  readonly domain: Domain;
  readonly health: Health;
  readonly since?: string;
  readonly tally: HealthCount;
}

export interface CauseRow extends Row<"cause"> {
  /** Unset without permission: shown as "something you cannot access". */
  readonly verdict?: ComponentHealth;
  readonly health: Health;
  readonly since?: string;
  /** The nearest ones, at most `MAX_SYMPTOMS_SHOWN`; `why` of the cause has all. */
  readonly symptoms: readonly Pick<ComponentHealth, "id" | "component" | "domain" | "health" | "since">[];
  readonly symptomCount: number;
}
export const MAX_SYMPTOMS = 12;

/** A node with a router: its sessions with the fabric, its VNIs, and what its probes through the overlay found. */
export interface TopologyRow extends Row<"router"> {
  readonly id: string;
  readonly node: string;
  readonly health: Health;
  readonly since?: string;
  readonly vtep?: string;
  readonly sessions: readonly FabricSession[];
  /** As ranges: `100-104,110`. */
  readonly vnis: string;
  readonly vnisDown?: string;
  /** None where nothing is probed. */
  readonly overlay?: {
    readonly health: Health;
    readonly probed: number;
    readonly since?: string;
    readonly failing: readonly FailingPath[];
  };
}

/** The load balancer's own sessions on a node, with or without a router. */
export interface PeersRow extends Row<"peers"> {
  readonly node: string;
  readonly sessions: readonly FabricSession[];
}

export interface FabricSession {
  readonly id: string;
  /** An address, or the interface of an unnumbered session. */
  readonly neighbor: string;
  /** FRR's word: Established when it is up. */
  readonly state: string;
  readonly health: Health;
  readonly since?: string;
}

interface FailingPath {
  readonly node: string;
  readonly reason: string;
  /** As ranges; none where it is about the underlay. */
  readonly vnis?: string;
  readonly message: string;
}

export interface VniRow extends Row<"vni"> {
  readonly vni: number;
  readonly layer: "L2" | "L3";
  readonly name: string;
}

/** The router of one node. Tree, sessions and VNIs are in its `component`: `RouterNodeConfigurationStatus/<namespace>/<node>`. */
export interface RouterRow extends Row<"router"> {
  readonly id: string;
  readonly node: string;
  readonly health: Health;
  readonly reason?: string;
  readonly message?: string;
  readonly since?: string;
  readonly resources: { readonly applied: number; readonly total: number };
  readonly sessions: { readonly up: number; readonly total: number };
  readonly vnis: { readonly up: number; readonly total: number };
  /** The first failed ones, for the list. */
  readonly failed: readonly { readonly kind: string; readonly name: string; readonly reason: string }[];
}

type ResourceState = "Applied" | "Failed" | "KeptPrevious" | "Rebuilding";

/** A resource and its dependents. */
export interface TreeNode {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly state: ResourceState;
  readonly health: Health;
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
  readonly children: readonly TreeNode[];
}

export interface RouterDetailData extends Row<"router"> {
  readonly row: RouterRow;
  readonly conditions: readonly ConditionRow[];
  readonly tree: readonly TreeNode[];
  readonly sessions: readonly {
    readonly id: string;
    readonly vrf: string;
    readonly neighbor: string;
    readonly state: string;
    readonly health: Health;
    readonly since?: string;
  }[];
  readonly vnis: readonly {
    readonly vni: number;
    readonly type: "L2" | "L3";
    readonly vrf: string;
    readonly state: string;
    readonly message?: string;
    readonly health: Health;
    readonly macs?: number;
    readonly vteps?: number;
    readonly prefixes?: number;
  }[];
}

export interface ConditionRow {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly since?: string;
}

export interface PoolRow extends Row<"pool"> {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly addresses: readonly string[];
  /** Unset if the pool has no addresses of the family. */
  readonly ipv4?: PoolUse;
  readonly ipv6?: PoolUse;
  readonly services: number;
  readonly health: Health;
  readonly message?: string;
  readonly since?: string;
}

export interface PoolUse {
  readonly assigned: number;
  readonly available: number;
}

/** A Service of type LoadBalancer. Its announcements by node are in its `component`: `Service/<namespace>/<name>`. */
export interface ServiceRow extends Row<"service"> {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly addresses: readonly string[];
  readonly pool?: string;
  readonly health: Health;
  readonly reason?: string;
  readonly message?: string;
  readonly since?: string;
  /** The number of nodes that announce it over BGP, and the first of them. */
  readonly bgp: { readonly count: number; readonly nodes: readonly string[] };
  /** The node that announces it over L2. */
  readonly l2?: { readonly node: string; readonly interfaces: readonly string[] };
}
export const MAX_NODES = 4;

/** The sessions of one node: one row of the grid peer × node. */
export interface SessionsRow extends Row<"sessions"> {
  readonly node: string;
  readonly health: Health;
  /** By the name of the BGPPeer. */
  readonly peers: { readonly [peer: string]: SessionCell };
}

export interface SessionCell {
  /** The id of the BGPPeer on this node. */
  readonly id: string;
  /** FRR's state: Established when it is up. */
  readonly bgp: string;
  /** None without BFD. */
  readonly bfd?: string;
  readonly health: Health;
  readonly since?: string;
}

export interface ServiceDetailData extends Row<"service"> {
  readonly row: ServiceRow;
  readonly conditions: readonly ConditionRow[];
  readonly announcements: readonly {
    readonly node: string;
    readonly protocol: "BGP" | "L2";
    readonly health: Health;
    /** `bgp`: FRR's state, with permission to list sessions. */
    readonly peers?: readonly { readonly name: string; readonly bgp?: string; readonly health: Health }[];
    readonly interfaces?: readonly string[];
    readonly advertisements?: readonly string[];
    readonly message?: string;
  }[];
  /** L2: in failover order. */
  readonly eligible: readonly string[];
  readonly endpoints: { readonly ready: number; readonly total: number };
}

export interface PolicyRow extends Row<"policy"> {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly desired: "primary" | "secondary";
  readonly current: "primary" | "secondary" | "mixed" | "unknown";
  readonly mode?: "safe" | "unsafe";
  readonly health: Health;
  readonly phase: "Complete" | "InProgress" | "Error" | "Unknown";
  readonly message?: string;
  readonly since?: string;
  readonly token?: { readonly epoch: number; readonly state: "Held" | "Released"; readonly forced?: string };
  readonly peer?: { readonly reachable: boolean; readonly message?: string; readonly desired?: string };
  /** As set in the spec; 0 without. */
  readonly wave?: number;
  /** Whether it could be switched. */
  readonly ready?: "True" | "False" | "Unknown";
  /** When the oldest copy at the secondary site was taken. */
  readonly copied?: string;
  /** The running switch, or the last one. */
  readonly transition?: Transition & { readonly steps: readonly FailoverStep[] };
  /** Newest first, at most ten. */
  readonly history: readonly PastTransition[];
  readonly workloads: { readonly ok: number; readonly total: number };
  readonly volumes: { readonly ok: number; readonly total: number };
}

export interface Transition {
  readonly to: "primary" | "secondary";
  readonly mode: "safe" | "unsafe";
  readonly start: string;
  readonly end?: string;
  readonly forced?: string;
  readonly lastSync?: string;
  readonly writesStopped?: string;
}

export interface FailoverStep {
  readonly name: string;
  readonly state: "Pending" | "Running" | "Waiting" | "Done";
  readonly start?: string;
  readonly end?: string;
  readonly waitingFor?: {
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly message: string;
    readonly others?: number;
    readonly since?: string;
  };
}

export interface PastTransition extends Transition {
  readonly outcome: "Completed" | "Superseded";
  readonly seconds?: number;
  readonly lossSeconds?: number;
  readonly steps: readonly { readonly name: string; readonly seconds?: number }[];
}

export interface PolicyDetailData extends Row<"policy"> {
  readonly row: PolicyRow;
  readonly conditions: readonly ConditionRow[];
  readonly resources: readonly {
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly state?: string;
    readonly error?: string;
    readonly message?: string;
    readonly since?: string;
    readonly lastSync?: string;
  }[];
}

/**
 * One cell of source × target. Its actions with latencies and all its outages are in its `component`:
 * `PodNetworkConnectivityCheck/<namespace>/<name>`.
 */
export interface CheckRow extends Row<"check"> {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly source: string;
  readonly target: string;
  /** `service/shop/web`, `endpoint/shop/web`, `node/n2`; unset if unknown. */
  readonly targetIs?: string;
  readonly health: Health;
  readonly reason?: string;
  readonly since?: string;
  /** Of the last successful connection. */
  readonly latencyMs?: number;
  /** Newest first, at most `MAX_OUTAGES_SHOWN`; one without an end is open. */
  readonly outages: readonly { readonly start: string; readonly end?: string }[];
}
export const MAX_OUTAGES = 5;

/** The common causes of failing checks; at most one such row. */
export interface CommonCausesRow extends Row<"blame"> {
  readonly sentences: readonly string[];
}

export interface CheckDetailData extends Row<"check"> {
  readonly row: CheckRow;
  readonly message?: string;
  /** Oldest first, successes and failures. */
  readonly actions: readonly {
    readonly time: string;
    readonly success: boolean;
    readonly reason?: string;
    readonly message?: string;
    readonly latencyMs?: number;
  }[];
  /** Newest first. */
  readonly outages: readonly {
    readonly start: string;
    readonly end?: string;
    readonly startedAfter?: string;
    readonly endedAfter?: string;
    readonly message?: string;
  }[];
}

/** Something that happened, together with others of the same kind within a minute. */
export interface TimelineRow extends Row<"entry"> {
  readonly time: string;
  readonly what: "failed" | "fixed" | "changed";
  /** Where it is known from: the health of a component, an Event, an outage of a check, or a change of an object. */
  readonly source: "health" | "event" | "outage" | "object";
  readonly health: Health;
  readonly reason?: string;
  /** About the first component. */
  readonly message?: string;
  /** The first `MAX_COMPONENTS`. */
  readonly components: readonly Component[];
  readonly count: number;
  /** Since when it had failed, of what is fixed: the first of them. */
  readonly since?: string;
}
export const MAX_COMPONENTS = 20;

/** Any other component of the cause graph. */
export interface ComponentDetail extends Row<"plain"> {
  readonly verdict: ComponentHealth;
}

/** `GET /api/components/<id>`. */
export type DetailAnswer =
  | { readonly component: RouterDetailData | ServiceDetailData | PolicyDetailData | CheckDetailData | ComponentDetail }
  | NotThere;

/** `GET /api/why?component=<id>`. */
export type WhyAnswer = { readonly answer: Answer } | NotThere;

/** It does not exist, or the viewer may not see it. */
interface NotThere {
  readonly missing: string;
}

/** The kind of a component that the viewer may not see; it has no namespace and no text, and its name is only an id. */
export const HIDDEN_KIND = "Hidden" satisfies Component["kind"];

/** `GET /api/whoami`; 401 with `ErrorBody` if a token is needed (`POST /api/login` with `{ "token": ... }`; `POST /api/logout`). */
export interface WhoAmI {
  readonly user: string;
  readonly login: boolean;
  /** The command of this page: `plumbline`, or the launcher of a checkout. */
  readonly version: string;
}

/** The body of every response with a status of 400 or more. */
export interface ErrorBody {
  readonly error: string;
}
