import type { Domain } from "../../../src/api/health.ts";
import type { Rows, SnapshotEvent, DetailAnswer, ViewName, WhyAnswer } from "../../../src/web/api.ts";
import { policyRow, completedPolicy } from "./policies.ts";
import { causeRow, checkRow, nodeRow, pools, routerRow, serviceRow, sessionsRow, healthCount } from "./rows.ts";
import { detailAnswer, whyAnswer } from "./components.ts";
import { ago } from "./health.ts";
import { timelineRows, topologyRows } from "./topology.ts";

export interface PageFixtureSize {
  readonly nodes: number;
  readonly services: number;
  /** Every so-manyth node has its link down. None: all is well. */
  readonly every?: number;
}

export interface PageFixture {
  readonly rows: { readonly [V in ViewName]: readonly Rows[V][] };
  detail(id: string): DetailAnswer;
  why(id: string): WhyAnswer;
}

const DOMAINS: readonly Domain[] = ["router", "loadbalancer", "failover", "connectivity", "cluster"];

/** A cluster of any size as the server would tell of it: on some nodes a link is down, with everything that follows from it. */
export function pageFixture({ nodes: count, services: serviceCount, every }: PageFixtureSize): PageFixture {
  const nodes = Array.from({ length: count }, (_, at) => ({ name: `node${at + 1}`, bad: every !== undefined && at % every === 1 }));
  const bad = nodes.filter((node) => node.bad);
  const rows: PageFixture["rows"] = {
    overview: [
      ...nodes.map(({ name, bad }) => nodeRow(name, bad)),
      ...bad.map(({ name }) => causeRow(name, serviceCount)),
      ...DOMAINS.map((domain) => ({
        type: "domain" as const,
        key: `domain/${domain}`,
        domain,
        health: bad.length > 0 && domain !== "failover" ? ("Degraded" as const) : ("Healthy" as const),
        since: ago(4),
        tally: healthCount(count * 5, bad.length),
      })),
    ],
    topology: topologyRows(nodes),
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
    failover: [policyRow(), completedPolicy()],
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
    timeline: timelineRows(
      bad.map(({ name }) => name),
      count > 100 ? 990 : 0,
    ),
    sync: [{ type: "sync", key: "sync", complete: true, lost: [], hidden: [] }],
  };
  return {
    rows,
    detail: (id) => detailAnswer(id, rows),
    why: (id) =>
      whyAnswer(
        id,
        bad.map(({ name }) => name),
        serviceCount,
      ),
  };
}

export function snapshotOf(fixture: PageFixture, views: readonly ViewName[], component?: string, why?: string): SnapshotEvent {
  return {
    views: Object.fromEntries(views.map((view) => [view, fixture.rows[view]])),
    ...(component !== undefined && { components: { [component]: fixture.detail(component) } }),
    ...(why !== undefined && { whys: { [why]: fixture.why(why) } }),
  };
}
