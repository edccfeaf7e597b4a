import type { Domain, Health, Component } from "../api/health.ts";
import type { Answer, ComponentHealth } from "../explain/answer.ts";

/**
 * What the page is made of, as the server sends it and the page draws it. A view is a set of rows, each with a key of its own within the view; a
 * change replaces whole rows or takes them away. Times are RFC 3339.
 */
export interface Rows {
  overview: NodeRow | CauseRow | DomainRow;
  router: RouterRow;
  loadbalancer: PoolRow | ServiceRow | SessionsRow;
  failover: PolicyRow;
  connectivity: CheckRow | CommonCausesRow;
  /** Is part of every stream: whether what is shown is what the cluster holds. */
  sync: SyncRow;
}
export type ViewName = keyof Rows;
export const VIEW_NAMES = ["overview", "router", "loadbalancer", "failover", "connectivity", "sync"] as const satisfies ViewName[];

/** `GET /api/views/<view>`, with the revision in its ETag too. */
export interface ViewSnapshot<V extends ViewName = ViewName> {
  readonly view: V;
  readonly epoch: string;
  readonly revision: number;
  readonly rows: readonly Rows[V][];
}

/**
 * `GET /api/stream?views=overview,router&component=ID&why=ID` (component and why may stand there several times) is an EventSource of these two events. `snapshot`
 * comes first and replaces everything that the page holds; it comes again when the stream could not be resumed or the reader was too slow. The id of
 * each is `<epoch>-<revision>`. `heartbeat` tells nothing but that the stream lives: every 15 seconds of silence, and first when nothing was missed.
 */
export interface SnapshotEvent {
  readonly views: { readonly [V in ViewName]?: readonly Rows[V][] };
  /** By id, as asked for. */
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

// ---- sight

export interface SyncRow extends Row<"sync"> {
  /** False until everything has been read once: nothing that is missing says anything before that. */
  readonly complete: boolean;
  /** Kinds whose watch is broken, so that what is shown of them is as old as that; one that was never `read` is not shown at all. Empty while all is live. */
  readonly lost: readonly { readonly kind: string; readonly since: string; readonly read: boolean }[];
  /** What the viewer may not list, so that none of it is shown. Never in the lab or `up`. */
  readonly hidden: readonly string[];
  /** The viewer may list in more namespaces than the API server is asked about, so that some of what he may see is missing. */
  readonly incomplete?: boolean;
}

// ---- overview

/** How many things are in which health. */
export type HealthCount = Readonly<Record<Health, number>>;

/** One domain on one node. */
export interface MatrixCellRow {
  readonly health: Health;
  /** Since when it is not well; none when it is. */
  readonly since?: string;
  readonly tally: HealthCount;
}

/** A node across the domains. A domain that has nothing there, or that the viewer may not see, has no cell. */
export interface NodeRow extends Row<"node"> {
  readonly name: string;
  readonly health: Health;
  readonly since?: string;
  readonly message?: string;
  readonly cells: { readonly [D in Domain]?: MatrixCellRow };
}

/** A domain over the whole cluster, nodes or not. */
export interface DomainRow extends Row<"domain"> {
  readonly domain: Domain;
  readonly health: Health;
  readonly since?: string;
  readonly tally: HealthCount;
}

/** Something that is wrong now and that nothing below explains. */
export interface CauseRow extends Row<"cause"> {
  /** None where the viewer may not see it: it is then "something you cannot access". */
  readonly verdict?: ComponentHealth;
  readonly health: Health;
  readonly since?: string;
  /** The nearest ones, at most `MAX_SYMPTOMS_SHOWN`; `why` of the cause has them all. */
  readonly symptoms: readonly Pick<ComponentHealth, "id" | "component" | "domain" | "health" | "since">[];
  readonly symptomCount: number;
}
export const MAX_SYMPTOMS = 12;

// ---- router

/** The router of one node. Its tree, sessions and VNIs are its `component`: `RouterNodeConfigurationStatus/<namespace>/<node>`. */
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
  /** The first of those that failed, for the list. */
  readonly failed: readonly { readonly kind: string; readonly name: string; readonly reason: string }[];
}

type ResourceState = "Applied" | "Failed" | "KeptPrevious" | "Rebuilding";

/** A resource with those that stand on it below it. */
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

// ---- load balancer

export interface PoolRow extends Row<"pool"> {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly addresses: readonly string[];
  /** A family that the pool does not have is not there. */
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

/** A Service of type LoadBalancer. Which node announces it to whom, and why another does not, is its `component`: `Service/<namespace>/<name>`. */
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
  /** How many nodes announce it over BGP, and the first of them. */
  readonly bgp: { readonly count: number; readonly nodes: readonly string[] };
  /** The node that answers on the local network. */
  readonly l2?: { readonly node: string; readonly interfaces: readonly string[] };
}
export const MAX_NODES = 4;

/** The sessions of one node, one row of the grid peer × node. */
export interface SessionsRow extends Row<"sessions"> {
  readonly node: string;
  readonly health: Health;
  /** By the name of the BGPPeer. */
  readonly peers: { readonly [peer: string]: SessionCell };
}

export interface SessionCell {
  /** The BGPPeer as it is on this node. */
  readonly id: string;
  /** FRR's word: Established when it is up. */
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
    /** `bgp`: FRR's word, for those who may list sessions. */
    readonly peers?: readonly { readonly name: string; readonly bgp?: string; readonly health: Health }[];
    readonly interfaces?: readonly string[];
    readonly advertisements?: readonly string[];
    readonly message?: string;
  }[];
  /** L2: who would take over, in order. */
  readonly eligible: readonly string[];
  readonly endpoints: { readonly ready: number; readonly total: number };
}

// ---- failover

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
  /** When the copy at the secondary site was taken: that of the volume that is furthest behind. */
  readonly copied?: string;
  /** The switch that is running, or the last one. */
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

// ---- connectivity

/** One cell of source × target. Its actions with their latencies, and all its outages, are its `component`: `PodNetworkConnectivityCheck/<namespace>/<name>`. */
export interface CheckRow extends Row<"check"> {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly source: string;
  readonly target: string;
  /** What the target is: `service/shop/web`, `endpoint/shop/web`, `node/n2`; none where that is not known. */
  readonly targetIs?: string;
  readonly health: Health;
  readonly reason?: string;
  readonly since?: string;
  /** Of the last connection that succeeded. */
  readonly latencyMs?: number;
  /** The latest, newest first, at most `MAX_OUTAGES_SHOWN`; one without end lasts. */
  readonly outages: readonly { readonly start: string; readonly end?: string }[];
}
export const MAX_OUTAGES = 5;

/** What failing checks have in common, in sentences; there is at most one such row. */
export interface CommonCausesRow extends Row<"blame"> {
  readonly sentences: readonly string[];
}

export interface CheckDetailData extends Row<"check"> {
  readonly row: CheckRow;
  readonly message?: string;
  /** Oldest first, what succeeded and what failed together. */
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

// ---- things and why

/** Anything else that the cause graph knows: only what it says. */
export interface ComponentDetail extends Row<"plain"> {
  readonly verdict: ComponentHealth;
}

/** `GET /api/components/<id>`: what there is to see of one thing. */
export type DetailAnswer =
  | { readonly component: RouterDetailData | ServiceDetailData | PolicyDetailData | CheckDetailData | ComponentDetail }
  | NotThere;

/** `GET /api/why?component=<id>`. */
export type WhyAnswer = { readonly answer: Answer } | NotThere;

/** There is no such thing, or the viewer may not see it; one cannot be told from the other. */
interface NotThere {
  readonly missing: string;
}

/** In an Answer, a thing that the viewer may not see has this kind, no namespace, and no words; its name only tells it from others. */
export const HIDDEN_KIND = "Hidden" satisfies Component["kind"];

/** `GET /api/whoami`; 401 with `ErrorBody` where a token is needed first (`POST /api/login` with `{ "token": ... }`; `POST /api/logout`). */
export interface WhoAmI {
  readonly user: string;
  /** Whether there is a login to end. */
  readonly login: boolean;
  /** The command that this page comes from: `plumbline`, or the launcher of a checkout. */
  readonly version: string;
}

/** The body of every answer from 400 on. */
export interface ErrorBody {
  readonly error: string;
}
