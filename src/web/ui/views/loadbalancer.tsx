import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { PoolRow, PoolUse, ServiceRow, SessionsRow } from "../../api.ts";
import { liveRows } from "../live/rows.ts";
import { nameColumn, unhealthySinceColumn } from "../parts/columns.tsx";
import { HealthIcon, healthText } from "../parts/health.tsx";
import { Matrix, type MatrixCell } from "../parts/matrix.tsx";
import { Empty, Pane, Waiting } from "../parts/pane.tsx";
import { matches, onlyUnhealthy, Search, searchText } from "../parts/search.tsx";
import { only, plural, worstFirst } from "../parts/sorting.ts";
import { type Column, compareNames, Table } from "../parts/table.tsx";
import { durationSince } from "../parts/time.tsx";
import { go, linkTo, route } from "../live/route.ts";
import { count } from "./overview.tsx";
import { ServiceDetail } from "./service-detail.tsx";

const MAX_POOLS = 40;

export function LoadBalancerView() {
  const rows = liveRows.loadbalancer.value;
  const pools = useComputed(() => worstFirst(only(liveRows.loadbalancer.value, "pool"), ({ name }) => name));
  const services = useComputed(() =>
    worstFirst(only(liveRows.loadbalancer.value, "service"), ({ namespace, name }) => `${namespace}/${name}`),
  );
  const sessions = useComputed(() => worstFirst(only(liveRows.loadbalancer.value, "sessions"), ({ node }) => node));
  if (!rows) return <Waiting what="the load balancer" />;
  const { component } = route.value;
  return (
    <div class={`split ${component === undefined ? "" : "open"}`}>
      <div class="stack">
        <Pools pools={pools.value} />
        <Services services={services.value} />
        <Sessions sessions={sessions.value} />
      </div>
      {component !== undefined && <ServiceDetail id={component} />}
    </div>
  );
}

function Pools({ pools }: { pools: readonly PoolRow[] }) {
  return (
    <Pane title="Pools" class="pools" count={`${pools.length}`}>
      <div class="bars" tabIndex={pools.length > 0 ? 0 : undefined} role="group" aria-label="Pools">
        {pools.length === 0 && (
          <Empty title="No pool">
            Services get their addresses from an IPAddressPool. Make one: <code>plumbline apply -f examples/pools</code>
          </Empty>
        )}
        {pools.slice(0, MAX_POOLS).map((pool) => (
          <Pool key={pool.key} pool={pool} />
        ))}
        {pools.length > MAX_POOLS && <p class="soft">{plural(pools.length - MAX_POOLS, "more pool")}, none of them worse</p>}
      </div>
    </Pane>
  );
}

function Pool({ pool: { id, name, addresses, ipv4, ipv6, services, health, message } }: { pool: PoolRow }) {
  return (
    <a class="pool" href={linkTo({ view: "why", component: id })} title={[addresses.join(", "), message].filter(Boolean).join("\n")}>
      <span class="title">
        <HealthIcon health={health} size={14} /> <span class="mono cut">{name}</span>
        <span class="soft">{plural(services, "service")}</span>
      </span>
      {ipv4 && <Use family="IPv4" use={ipv4} />}
      {ipv6 && <Use family="IPv6" use={ipv6} />}
    </a>
  );
}

/** Full at nine tenths, for those who plan ahead; the words say it too. */
const NEARLY = 0.9;

function Use({ family, use: { assigned, available } }: { family: string; use: PoolUse }) {
  const total = assigned + available;
  const share = total === 0 ? 1 : assigned / total;
  const kind = available === 0 ? "full" : share >= NEARLY ? "nearly" : "";
  const text = `${family}: ${assigned} of ${large(total)} assigned${kind === "full" ? ", full" : kind === "nearly" ? ", nearly full" : ""}`;
  return (
    <span class={`use ${kind}`}>
      <span class="soft">{family}</span>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={text}>
        <rect class="track" width="100" height="8" rx="1" />
        <rect class="filled" width={assigned === 0 ? 0 : Math.max(share * 100, 1)} height="8" rx="1" />
      </svg>
      <span class="number">
        {assigned}
        <span class="soft">/{large(total)}</span>
        {kind === "full" && " full"}
      </span>
    </span>
  );
}

/** A /64 has more addresses than anyone wants to read. */
const large = (count: number) => (count < 1_000_000 ? String(count) : `2^${Math.round(Math.log2(count))}`);

const COLUMNS: readonly Column<ServiceRow>[] = [
  nameColumn("Service"),
  {
    id: "addresses",
    title: "Address",
    width: "minmax(7em, 1fr)",
    by: ({ addresses }) => addresses[0] ?? "",
    cell: ({ addresses }) => <span class="cut mono">{addresses.join(", ") || "none"}</span>,
  },
  {
    id: "pool",
    title: "Pool",
    width: "minmax(5em, .6fr)",
    by: ({ pool }) => pool ?? "",
    cell: ({ pool }) => <span class="cut">{pool ?? "–"}</span>,
  },
  {
    id: "announced",
    title: "Announced by",
    width: "minmax(8em, 1.2fr)",
    by: ({ bgp, l2 }) => bgp.count + (l2 ? 1 : 0),
    cell: ({ bgp, l2 }) => <span class="cut">{announcers(bgp, l2) || <span class="soft">none</span>}</span>,
  },
  {
    id: "reason",
    title: "What is wrong",
    width: "minmax(8em, 1.8fr)",
    cell: ({ health, reason, message }) =>
      health !== "Healthy" && (
        <span class="cut" title={message}>
          {message ?? reason ?? healthText(health)}
        </span>
      ),
  },
  unhealthySinceColumn(),
];

function announcers(bgp: ServiceRow["bgp"], l2: ServiceRow["l2"]): string {
  const names = bgp.nodes.join(", ");
  const byBgp = bgp.count === 0 ? "" : bgp.count > bgp.nodes.length ? `BGP ${bgp.count} nodes: ${names}, …` : `BGP ${names}`;
  return [byBgp, l2 ? `L2 ${l2.node}` : ""].filter(Boolean).join(" · ");
}

function Services({ services }: { services: readonly ServiceRow[] }) {
  const visible = services.filter(
    ({ namespace, name, addresses, pool, message, reason, bgp, l2, health }) =>
      matches(searchText(), `${namespace}/${name}`, ...addresses, pool, message, reason, ...bgp.nodes, l2?.node) &&
      (!onlyUnhealthy() || health !== "Healthy"),
  );
  return (
    <Pane
      title="Services"
      class="services"
      count={count(visible.length, services.length)}
      tools={<Search placeholder="Search services and addresses" />}
    >
      <Table
        label="Services"
        rows={visible}
        columns={COLUMNS}
        keyOf={({ key }) => key}
        componentOf={({ id }) => id}
        empty={
          services.length === 0 ? (
            <Empty title="No Service of type LoadBalancer">
              One with an address from a pool is announced to the network. Try: <code>plumbline apply -f examples/shop</code>
            </Empty>
          ) : (
            <Empty title="No matching Services">Clear the search or the filter.</Empty>
          )
        }
      />
    </Pane>
  );
}

function Sessions({ sessions }: { sessions: readonly SessionsRow[] }) {
  const visible = sessions.filter(
    ({ node, peers, health }) =>
      matches(searchText() && inSessions(sessions), node, ...Object.keys(peers)) && (!onlyUnhealthy() || health !== "Healthy"),
  );
  const { nodes, peers, cell } = useMemo(() => grid(visible), [liveRows.loadbalancer.value, searchText(), onlyUnhealthy()]);
  const all = sessions.reduce((sum, row) => sum + Object.keys(row.peers).length, 0);
  const up = sessions.reduce((sum, row) => sum + Object.values(row.peers).filter(({ health }) => health === "Healthy").length, 0);
  return (
    <Pane title="Sessions" class="sessions" count={all === 0 ? "" : `${up} of ${all} well, node × peer`}>
      {all === 0 ? (
        <Empty title="No BGP session">
          A BGPPeer gives each node that it selects a session. See <code>plumbline apply -f examples/pools</code>
        </Empty>
      ) : (
        <Matrix
          label="Sessions, node by peer"
          corner="node ╲ peer"
          rows={nodes}
          columns={peers}
          cell={cell}
          open={(component) => go({ view: "why", component })}
        />
      )}
    </Pane>
  );
}

/** The search filters sessions only if it matches one; a search for a Service keeps them all. */
function inSessions(sessions: readonly SessionsRow[]): string {
  return sessions.some(({ node, peers }) => matches(searchText(), node, ...Object.keys(peers))) ? searchText() : "";
}

function grid(rows: readonly SessionsRow[]) {
  const byNode = new Map(rows.map((row) => [row.node, row]));
  const cell = (node: string, peer: string): MatrixCell | undefined => {
    const found = byNode.get(node)?.peers[peer];
    if (!found) return undefined;
    const { id, bgp, bfd, health, since } = found;
    const text = () =>
      [`${node} → ${peer}: ${bgp}`, bfd && `BFD ${bfd}`, since && `for ${durationSince(Date.now() - Date.parse(since))}`]
        .filter(Boolean)
        .join(", ");
    return { health, text, component: id };
  };
  const peers = [...new Set(rows.flatMap((row) => Object.keys(row.peers)))].sort(compareNames);
  return { nodes: rows.map(({ node }) => node), peers, cell };
}
