import type { Domain, Health, Thing } from "../../src/api/standing.ts";
import { idOf } from "../../src/api/standing.ts";
import type { Step, Verdict } from "../../src/explain/answer.ts";
import type {
  CauseRow,
  Cell,
  CheckRow,
  NodeRow,
  PolicyRow,
  PoolRow,
  RouterRow,
  Rows,
  ServiceRow,
  SessionsRow,
  SnapshotEvent,
  Tally,
  ThingAnswer,
  TreeNode,
  ViewName,
  WhyAnswer,
} from "../../src/web/views.ts";

export interface SpecimenSize {
  readonly nodes: number;
  readonly services: number;
  /** Every so-manyth node has its link down. None: all is well. */
  readonly every?: number;
}

export interface Specimen {
  readonly rows: { readonly [V in ViewName]: readonly Rows[V][] };
  thing(id: string): ThingAnswer;
  why(id: string): WhyAnswer;
}

const NOW = Date.now();
const ago = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();
const DOMAINS: readonly Domain[] = ["router", "loadbalancer", "failover", "connectivity", "cluster"];
const SPINES = ["spine-a", "spine-b", "spine-c", "spine-d"];
const ROUTER_NAMESPACE = "openperouter-system";

/** A cluster of any size as the server would tell of it: on some nodes a link is down, with everything that follows from it. */
export function specimen({ nodes: count, services: serviceCount, every }: SpecimenSize): Specimen {
  const nodes = Array.from({ length: count }, (_, at) => ({ name: `node${at + 1}`, bad: every !== undefined && at % every === 1 }));
  const bad = nodes.filter((node) => node.bad);
  const rows: Specimen["rows"] = {
    overview: [
      ...nodes.map(({ name, bad }) => nodeRow(name, bad)),
      ...bad.map(({ name }) => causeRow(name, serviceCount)),
      ...DOMAINS.map((domain) => ({
        type: "domain" as const,
        key: `domain/${domain}`,
        domain,
        health: bad.length > 0 && domain !== "failover" ? ("Degraded" as const) : ("Healthy" as const),
        ...(bad.length > 0 && domain !== "failover" && { since: ago(4) }),
        tally: tally(count * 5, bad.length),
      })),
    ],
    router: nodes.map(({ name, bad }) => routerRow(name, bad)),
    loadbalancer: [
      ...pools(),
      ...Array.from({ length: serviceCount }, (_, at) =>
        serviceRow(
          at,
          nodes.map(({ name }) => name),
          every !== undefined && at % 9 === 4,
        ),
      ),
      ...nodes.map(({ name, bad }) => sessionsRow(name, bad)),
    ],
    failover: [policyRow(), settledPolicy()],
    connectivity: [
      ...nodes
        .slice(0, 40)
        .flatMap((source) => nodes.slice(0, 60).map((target) => checkRow(source.name, target.name, source.bad || target.bad))),
      ...(bad.length > 0
        ? [
            {
              type: "blame" as const,
              key: "blame",
              sentences: bad.slice(0, 2).map(({ name }) => `Everything to and from ${name} fails: look at ${name}.`),
            },
          ]
        : []),
    ],
    sight: [{ type: "sight", key: "sight", complete: true, lost: [], hidden: [] }],
  };
  return {
    rows,
    thing: (id) => thingAnswer(id, rows),
    why: (id) =>
      whyAnswer(
        id,
        bad.map(({ name }) => name),
        serviceCount,
      ),
  };
}

export function snapshotOf(specimen: Specimen, views: readonly ViewName[], thing?: string, why?: string): SnapshotEvent {
  return {
    views: Object.fromEntries(views.map((view) => [view, specimen.rows[view]])),
    ...(thing !== undefined && { things: { [thing]: specimen.thing(thing) } }),
    ...(why !== undefined && { whys: { [why]: specimen.why(why) } }),
  };
}

function tally(total: number, down: number): Tally {
  return { Healthy: Math.max(0, total - down * 2), Degraded: down, Unknown: 0, Down: down };
}

function nodeRow(name: string, bad: boolean): NodeRow {
  const cell = (health: Health): Cell => ({ health, tally: tally(6, bad ? 1 : 0), ...(bad && { since: ago(4) }) });
  return {
    type: "node",
    key: `node/${name}`,
    name,
    health: bad ? "Down" : "Healthy",
    ...(bad && { since: ago(4), message: "eth1 is down" }),
    cells: {
      router: cell(bad ? "Down" : "Healthy"),
      loadbalancer: cell(bad ? "Degraded" : "Healthy"),
      connectivity: cell(bad ? "Unknown" : "Healthy"),
      cluster: cell(bad ? "Degraded" : "Healthy"),
    },
  };
}

function verdict(thing: Thing, domain: Domain, health: Health, message: string, minutes: number): Verdict {
  return { id: idOf(thing), thing, domain, health, message, since: ago(minutes) };
}

const linkOf = (node: string) => ({
  ...verdict({ kind: "Link", name: "eth1", node }, "router", "Down", "Interface eth1 has no carrier", 4),
  remedy: { text: "see whether the cable, or the port at the other end, is up", command: `plumbline describe rncs ${node}` },
});
const sessionOf = (node: string) =>
  verdict(
    { kind: "Session", name: "192.168.11.2", node },
    "router",
    "Down",
    "BGP session to 192.168.11.2 is Active: no route to host",
    3.8,
  );
const underlayOf = (node: string) =>
  verdict({ kind: "Underlay", namespace: ROUTER_NAMESPACE, name: "underlay", node }, "router", "Down", "Its interface eth1 is down", 4);
const serviceVerdict = (at: number) =>
  verdict(
    { kind: "Service", namespace: "shop", name: `web-${at}` },
    "loadbalancer",
    "Degraded",
    "Announced by some of its nodes only",
    3.7,
  );

function causeRow(node: string, services: number): CauseRow {
  const symptoms = [
    underlayOf(node),
    sessionOf(node),
    ...Array.from({ length: Math.min(4, services) }, (_, at) => serviceVerdict(at * 9 + 4)),
  ];
  const link = linkOf(node);
  return {
    type: "cause",
    key: `cause/${link.id}`,
    verdict: link,
    health: "Down",
    since: ago(4),
    symptoms,
    symptomCount: symptoms.length + 3,
  };
}

function routerRow(node: string, bad: boolean): RouterRow {
  return {
    type: "router",
    key: `router/${node}`,
    id: `RouterNodeConfigurationStatus/${ROUTER_NAMESPACE}/${node}`,
    node,
    health: bad ? "Down" : "Healthy",
    ...(bad && { reason: "SessionsDown", message: "Interface eth1 has no carrier; 2 of 3 sessions are down", since: ago(4) }),
    resources: { applied: bad ? 5 : 6, total: 6 },
    sessions: { up: bad ? 1 : 3, total: 3 },
    vnis: { up: bad ? 2 : 4, total: 4 },
    failed: bad ? [{ kind: "L3VNI", name: "blue", reason: "ValidationFailed" }] : [],
  };
}

function pools(): PoolRow[] {
  const pool = (name: string, addresses: string[], assigned: number, available: number, six?: [number, number]): PoolRow => ({
    type: "pool",
    key: `pool/${name}`,
    id: `IPAddressPool/metallb-system/${name}`,
    namespace: "metallb-system",
    name,
    addresses,
    ipv4: { assigned, available },
    ...(six && { ipv6: { assigned: six[0], available: six[1] } }),
    services: assigned,
    health: available === 0 ? "Degraded" : "Healthy",
    ...(available === 0 && { message: "Every address is assigned", since: ago(40) }),
  });
  return [
    pool("edge", ["203.0.113.0/24"], 41, 215, [12, 2 ** 64 - 12]),
    pool("public", ["198.51.100.0/28"], 15, 1),
    pool("legacy", ["192.0.2.8/29"], 8, 0),
  ];
}

function serviceRow(at: number, nodes: readonly string[], bad: boolean): ServiceRow {
  const l2 = at % 3 === 2 ? nodes[at % nodes.length] : undefined;
  const [namespace, name] = ["shop", `web-${at}`];
  return {
    type: "service",
    key: `service/${namespace}/${name}`,
    id: `Service/${namespace}/${name}`,
    namespace,
    name,
    addresses: [`203.0.113.${(at % 250) + 1}`],
    pool: at % 7 === 0 ? "public" : "edge",
    health: bad ? "Degraded" : "Healthy",
    ...(bad && { reason: "PartlyAnnounced", message: "node2 does not announce it: its sessions are down", since: ago(3.7) }),
    bgp: l2 === undefined ? { count: nodes.length, nodes: nodes.slice(0, 4) } : { count: 0, nodes: [] },
    ...(l2 !== undefined && { l2: { node: l2, interfaces: ["eth1"] } }),
  };
}

function sessionsRow(node: string, bad: boolean): SessionsRow {
  const peers = SPINES.map((peer, at) => {
    const down = bad && at < 2;
    return [
      peer,
      {
        bgp: down ? "Active" : "Established",
        bfd: down ? "Down" : "Up",
        health: down ? ("Down" as const) : ("Healthy" as const),
        since: ago(bad ? 4 : 900),
      },
    ];
  });
  return { type: "sessions", key: `sessions/${node}`, node, health: bad ? "Down" : "Healthy", peers: Object.fromEntries(peers) };
}

function policyRow(): PolicyRow {
  const at = (seconds: number) => new Date(NOW - 200_000 + seconds * 1_000).toISOString();
  return {
    type: "policy",
    key: "policy/shop/shop",
    id: "FailoverPolicy/shop/shop",
    namespace: "shop",
    name: "shop",
    desired: "primary",
    current: "mixed",
    mode: "safe",
    health: "Degraded",
    phase: "InProgress",
    message: "PromoteVolumes waits for ReplicationSource data",
    since: at(0),
    token: { epoch: 7, state: "Held" },
    peer: { reachable: true, desired: "secondary" },
    transition: {
      to: "primary",
      mode: "safe",
      start: at(0),
      steps: [
        { name: "TakeToken", state: "Done", start: at(0), end: at(3) },
        { name: "StopOther", state: "Done", start: at(3), end: at(48) },
        { name: "FinalSync", state: "Done", start: at(48), end: at(121) },
        {
          name: "PromoteVolumes",
          state: "Waiting",
          start: at(121),
          waitingFor: {
            kind: "PersistentVolumeClaim",
            namespace: "shop",
            name: "data",
            message: "is still attached at node3",
            others: 2,
            since: at(130),
          },
        },
        { name: "StartWorkloads", state: "Pending" },
        { name: "MoveNames", state: "Pending" },
      ],
    },
    history: [
      past("secondary", 21, [3, 40, 62, 18, 31, 9]),
      past("primary", 9_000, [2, 52, 85, 22, 40, 10]),
      past("secondary", 31_000, [3, 35, 44, 15, 28, 8], "Superseded"),
    ],
    workloads: { settled: 1, total: 3 },
    volumes: { settled: 0, total: 2 },
  };
}

function past(
  to: "primary" | "secondary",
  minutes: number,
  seconds: number[],
  outcome: "Completed" | "Superseded" = "Completed",
): PolicyRow["history"][number] {
  const names = ["TakeToken", "StopOther", "FinalSync", "PromoteVolumes", "StartWorkloads", "MoveNames"];
  const total = seconds.reduce((sum, one) => sum + one, 0);
  const steps = names.map((name, at) => ({ name, seconds: seconds[at] ?? 0 }));
  return { to, mode: "safe", start: ago(minutes + total / 60), end: ago(minutes), outcome, seconds: total, steps };
}

function settledPolicy(): PolicyRow {
  return {
    type: "policy",
    key: "policy/bank/ledger",
    id: "FailoverPolicy/bank/ledger",
    namespace: "bank",
    name: "ledger",
    desired: "secondary",
    current: "secondary",
    health: "Healthy",
    phase: "Complete",
    since: ago(3_000),
    history: [past("secondary", 3_000, [2, 30, 41, 12, 25, 6])],
    workloads: { settled: 4, total: 4 },
    volumes: { settled: 2, total: 2 },
  };
}

function checkRow(source: string, target: string, bad: boolean): CheckRow {
  const name = `${source}-to-${target}`;
  const far = (Number(source.slice(4)) * 7 + Number(target.slice(4)) * 3) % 17;
  return {
    type: "check",
    key: `check/${name}`,
    id: `PodNetworkConnectivityCheck/plumbline-system/${name}`,
    namespace: "plumbline-system",
    name,
    source,
    target,
    health: bad ? "Down" : "Healthy",
    ...(bad ? { reason: "TCPConnectError", since: ago(3.5) } : { latencyMs: 0.4 + far / 10 }),
    outages: [...(bad ? [{ start: ago(3.5) }] : []), ...(far === 5 ? [{ start: ago(41), end: ago(33) }] : [])],
  };
}

function thingAnswer(id: string, rows: Specimen["rows"]): ThingAnswer {
  const router = rows.router.find((row) => row.id === id);
  if (router) return { thing: { ...routerThing(router), row: router } };
  for (const row of rows.loadbalancer) {
    if (row.type !== "service" || row.id !== id) continue;
    const announcements = row.bgp.nodes.map((node, at) => ({
      node,
      protocol: "BGP" as const,
      health: at === 1 && row.health !== "Healthy" ? ("Down" as const) : ("Healthy" as const),
      peers: SPINES.slice(0, 2).map((name) => ({
        name,
        bgp: at === 1 && row.health !== "Healthy" ? "Active" : "Established",
        health: at === 1 && row.health !== "Healthy" ? ("Down" as const) : ("Healthy" as const),
      })),
      advertisements: ["edge"],
      ...(at === 1 && row.health !== "Healthy" && { message: "No session of this node is up, so nobody hears it" }),
    }));
    const conditions = [{ type: "metallb.io/Announced", status: "True", reason: "Announced", message: "", since: ago(900) }];
    return { thing: { type: "service", key: row.key, row, conditions, announcements, eligible: [], endpoints: { ready: 3, total: 3 } } };
  }
  const check = rows.connectivity.find((row) => row.type === "check" && row.id === id);
  if (check?.type === "check") return { thing: checkThing(check) };
  const policy = rows.failover.find((row) => row.id === id);
  if (policy) return { thing: { type: "policy", key: policy.key, row: policy, conditions: [], resources: [] } };
  return { missing: `${id} is not in the specimen.` };
}

function checkThing(row: CheckRow): Extract<ThingAnswer, { thing: unknown }>["thing"] {
  const actions = Array.from({ length: 40 }, (_, at) => {
    const failed = row.health === "Down" && at > 34;
    return {
      time: ago((40 - at) * 0.7),
      success: !failed,
      reason: failed ? "ConnectError" : "ConnectDone",
      message: failed ? "connect ETIMEDOUT" : "tcp connection succeeded",
      ...(!failed && { latencyMs: 0.6 + ((at * 37) % 11) / 9 }),
    };
  });
  return {
    type: "check",
    key: row.key,
    row,
    ...(row.health === "Down" && { message: "connect ETIMEDOUT 10.0.0.2:8080" }),
    actions,
    outages: row.outages,
  };
}

function routerThing(row: RouterRow) {
  const bad = row.health !== "Healthy";
  const node = (kind: string, name: string, children: TreeNode[] = [], failed = false): TreeNode => ({
    id: idOf({ kind, namespace: ROUTER_NAMESPACE, name, node: row.node }),
    kind,
    name,
    state: failed ? "KeptPrevious" : "Applied",
    health: failed ? "Degraded" : kind === "Underlay" && bad ? "Down" : "Healthy",
    ...(failed && { reason: "ValidationFailed", message: "VNI 200 is held by L3VNI red", field: "spec.vni" }),
    children,
  });
  const tree = [
    node("Underlay", "underlay", [
      node("L3VNI", "red", [node("L2VNI", "red-web"), node("L2VNI", "red-db")]),
      node("L3VNI", "blue", [node("L2VNI", "blue-web")], bad),
    ]),
  ];
  const sessions = ["192.168.11.2", "192.168.12.2", "192.168.13.2"].map((neighbor, at) => ({
    id: idOf({ kind: "Session", name: neighbor, node: row.node }),
    vrf: "default",
    neighbor,
    state: bad && at < 2 ? "Active" : "Established",
    health: bad && at < 2 ? ("Down" as const) : ("Healthy" as const),
    since: ago(bad && at < 2 ? 4 : 2_000),
  }));
  const vnis = [100, 200, 1100, 1200].map((vni, at) => ({
    vni,
    type: at < 2 ? ("L3" as const) : ("L2" as const),
    vrf: at % 2 === 0 ? "red" : "blue",
    state: bad && at % 2 === 1 ? "Down" : "Up",
    health: bad && at % 2 === 1 ? ("Down" as const) : ("Healthy" as const),
    macs: 40 + at,
    vteps: 2,
    prefixes: 12 * (at + 1),
  }));
  const conditions = [
    { type: "Ready", status: bad ? "False" : "True", reason: bad ? "Failed" : "Applied", message: row.message ?? "", since: ago(4) },
  ];
  return { type: "router" as const, key: row.key, conditions, tree, sessions, vnis };
}

function whyAnswer(id: string, bad: readonly string[], services: number): WhyAnswer {
  const [guilty] = bad;
  const about = /@(.+)$/.exec(id)?.[1] ?? (id.startsWith("Node/") ? id.slice(5) : guilty);
  const [kind = "", ...rest] = id.split("@")[0]?.split("/") ?? [];
  const thing: Thing = {
    kind,
    ...(rest.length > 1 && { namespace: rest[0] ?? "" }),
    name: rest.at(-1) ?? "",
    ...(id.includes("@") && { node: about ?? "" }),
  };
  if (about === undefined || !bad.includes(about))
    return { answer: { path: { id, thing, domain: "cluster", health: "Healthy", cause: false, needs: [] }, causes: [] } };
  const step = (verdict: Verdict, needs: Step[] = [], cause = false): Step => ({ ...verdict, cause, needs });
  const link = linkOf(about);
  const chain = step(sessionOf(about), [step(underlayOf(about), [step(link, [], true)])]);
  const own: Verdict = {
    id,
    thing,
    domain: "loadbalancer",
    health: "Degraded",
    message: "Announced by some of its nodes only",
    since: ago(3.7),
  };
  const path =
    id === link.id
      ? step(link, [], true)
      : id === underlayOf(about).id
        ? step(underlayOf(about), [step(link, [], true)])
        : step(own, [
            step(
              verdict(
                { ...thing, kind: "BGPPeer", name: "spine-a", node: about },
                "loadbalancer",
                "Down",
                "Session is Active, last reset: interface down",
                3.8,
              ),
              [chain],
            ),
          ]);
  const { symptoms } = causeRow(about, services);
  return { answer: { path, causes: [{ ...link, symptoms: symptoms.map((symptom) => ({ ...symptom })) }] } };
}
