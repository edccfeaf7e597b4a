import { type Command, Option } from "commander";
import { print, printError } from "../../kube/printable.ts";
import { seconds } from "../../util/duration.ts";
import { commonCauses } from "../../connectivity/analysis/common-cause.ts";
import { CAPS } from "../../connectivity/history/history.ts";
import { type Incident, incidentsOf } from "../../connectivity/analysis/incidents.ts";
import { resultsDuring, type CheckWithOutages } from "../../connectivity/analysis/outage-window.ts";
import { connect, snapshotTime } from "../shared/connection.ts";
import { drawIncidents, overlaps } from "../checks/draw-incidents.ts";
import { incidentItem } from "../checks/plain-items.ts";
import { type CheckSelection, noChecks, readChecks, withCheckSelection } from "../checks/read-checks.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { stripControlCharacters } from "../print/columns.ts";
import { printItems } from "../print/items.ts";
import { colorizeFor } from "../print/color.ts";
import { plural } from "../../util/text.ts";

interface OutagesOptions extends CheckSelection {
  since: string;
  output: "text" | "json";
}

/** Each is compared with every check; older incidents can be read one by one. */
const EXPLAINED = 20;

export function configure(command: Command): void {
  withCheckSelection(command)
    .option("--since <duration>", "how far back, such as 90m, 24h or 7d", "24h")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Outages that may have started and ended together share a line. Each check keeps its latest ${CAPS.outages} outages.

Examples:
  plumbline outages
  plumbline outages --since 7d -n shop
  plumbline outages --mesh nodes -o json
`,
    )
    .action(run);
}

async function run(options: OutagesOptions): Promise<void> {
  const lengthMs = lengthOf(options.since);
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    const now = snapshotTime(client);
    const { all } = await readChecks(client, options, now, signal);
    if (all.length === 0) throw noChecks(options);
    const from = now - lengthMs;
    const incidents = incidentsOf(
      all.flatMap(({ outages }) =>
        outages.filter(({ state, restoredBy = 0, restoredAfter }) => state === "open" || Math.max(restoredBy, restoredAfter) >= from),
      ),
    );
    const explained = incidents.map((incident, at) => ({ incident, sentences: at < EXPLAINED ? explanation(all, incident) : [] }));
    if (options.output === "json") {
      const items = explained.map(({ incident, sentences }) =>
        incidentItem(incident, { overlaps: overlaps(incident, incidents), sentences }),
      );
      printItems("Outage", items);
      return;
    }
    const lines =
      incidents.length === 0
        ? [`No outage in the last ${options.since}, by ${plural(all.length, "check")}`]
        : drawIncidents(incidents, now, colorizeFor(process.stdout));
    const causeLines = explained.flatMap(({ sentences }, at) =>
      sentences.map((sentence) => `${at + 1}: ${stripControlCharacters(sentence)}`),
    );
    print([...lines, ...(causeLines.length > 0 ? ["", "Likely causes:", ...causeLines.map((line) => `  ${line}`)] : []), ""].join("\n"));
    warn(all, from);
  } finally {
    client.close();
  }
}

/** What the failed checks of an incident have in common, in contrast to the checks that worked at the time. */
function explanation(all: readonly CheckWithOutages[], incident: Incident): string[] {
  const own = new Set(incident.outages.map(({ result }) => result.check));
  return commonCauses(resultsDuring(all, incident))
    .filter(({ failing }) => failing.some(({ check }) => own.has(check)))
    .map(({ sentence }) => sentence)
    .slice(0, 3);
}

function warn(all: readonly CheckWithOutages[], from: number): void {
  const full = all.filter(({ outages }) => outages.length >= CAPS.outages && (outages.at(-1)?.brokenBy ?? 0) > from).length;
  const silent = all.filter(({ result }) => result.verdict === "unknown").length;
  if (full > 0)
    printError(`Warning: ${plural(full, "check")} had more outages than are kept; the oldest are missing
`);
  if (silent > 0)
    printError(`Warning: ${plural(silent, "check")} without a current result: plumbline connectivity says why
`);
}

function lengthOf(text: string): number {
  const days = /^(\d+)d$/.exec(text)?.[1];
  const length = days === undefined ? seconds(text) : Number(days) * 86_400;
  if (length === undefined || length <= 0) throw new CliError(`--since ${text} is not a duration: use 90m, 24h or 7d`, EXIT.misuse);
  return length * 1000;
}
