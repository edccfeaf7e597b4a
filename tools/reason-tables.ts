import * as connectivity from "../src/connectivity/history/reasons.ts";
import * as failover from "../src/failover/policy/reasons.ts";
import * as loadbalancer from "../src/loadbalancer/reasons.ts";
import * as router from "../src/router/reasons.ts";
import { padded } from "./metrics-table.ts";

interface Table {
  readonly page: string;
  /** As in the marker on the page. */
  readonly name: string;
  readonly head: readonly string[];
  readonly rows: Readonly<Record<string, string | readonly string[]>>;
}

const TABLES: readonly Table[] = [
  { page: "router", name: "conditionReasons", head: ["meaning"], rows: router.conditionReasons },
  { page: "router", name: "failedReasons", head: ["meaning"], rows: router.failedReasons },
  {
    page: "loadbalancer",
    name: "announcedReasons",
    head: ["the node does not announce because"],
    rows: loadbalancer.announcedReasons,
  },
  {
    page: "configuration-errors",
    name: "configurationReasons",
    head: ["meaning", "what stays in effect"],
    rows: loadbalancer.configurationReasons,
  },
  { page: "failover", name: "readyReasons", head: ["means", "do"], rows: { ...failover.readyReasons, ...failover.failureReasons } },
  { page: "connectivity", name: "probeFailures", head: ["meaning"], rows: connectivity.probeFailures },
  { page: "connectivity", name: "meshReasons", head: ["meaning"], rows: connectivity.meshReasons },
  { page: "connectivity", name: "unknownReasons", head: ["set by", "meaning"], rows: connectivity.unknownReasons },
];

export const REASON_PAGES: ReadonlySet<string> = new Set(TABLES.map(({ page }) => `docs/${page}.md`));

/** The page with its tables of reasons, which stand between `<!-- reasons: name -->` and `<!-- end -->`. */
export function withReasonTables(path: string, text: string): string {
  return TABLES.filter(({ page }) => path === `docs/${page}.md`).reduce((page, { name, head, rows }) => {
    const [start, end] = [`<!-- reasons: ${name} -->`, "<!-- end -->"];
    const from = page.indexOf(start);
    const to = page.indexOf(end, from);
    if (from < 0 || to < 0) throw new Error(`${path} has no table between ${start} and ${end}`);
    const table = padded(
      ["reason", ...head],
      Object.entries(rows).map(([reason, cells]) => [`\`${reason}\``].concat(cells)),
    );
    return `${page.slice(0, from)}${start}\n\n${table}\n\n${page.slice(to)}`;
  }, text);
}
