import { type Command, Option } from "commander";
import { print } from "../../kube/printable.ts";
import { type CommonCause, commonCauses } from "../../connectivity/analysis/common-cause.ts";
import { partiallyReachable, type NoResultGroup, noResultGroups } from "../../connectivity/analysis/no-result.ts";
import { targetLabel } from "../../connectivity/analysis/labels.ts";
import { type Incident, incidentsOf } from "../../connectivity/analysis/incidents.ts";
import { matrixOf } from "../../connectivity/analysis/matrix.ts";
import type { CheckResult } from "../../connectivity/analysis/check-result.ts";
import { connect, snapshotTime } from "../shared/connection.ts";
import { drawIncidents } from "../checks/draw-incidents.ts";
import { drawMatrix } from "../checks/draw-matrix.ts";
import { commonCauseItem, checkItem, incidentItem } from "../checks/plain-items.ts";
import { type CheckSelection, noChecks, readChecks, withCheckSelection } from "../checks/read-checks.ts";
import { EXIT } from "../shared/exit.ts";
import { stripControlCharacters, titled } from "../print/columns.ts";
import { printItems } from "../print/items.ts";
import { type Colorize, colorizeFor } from "../print/color.ts";
import { firstLines, plural } from "../../util/text.ts";

interface ConnectivityOptions extends CheckSelection {
  output: "text" | "json";
}

const MAX_SENTENCES = 10;
const MAX_OUTAGES = 20;

export function configure(command: Command): void {
  withCheckSelection(command)
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Exit code 1 when a check fails, 3 when some checks have no result.

Examples:
  plumbline connectivity
  plumbline connectivity -n openshift-apiserver
  plumbline connectivity --mesh nodes -o json
  plumbline connectivity --mesh announced-services   # Services from outside, see docs/connectivity.md
`,
    )
    .action(run);
}

interface Snapshot {
  readonly results: readonly CheckResult[];
  readonly causes: readonly CommonCause[];
  readonly silent: readonly NoResultGroup[];
  readonly open: readonly Incident[];
  readonly now: number;
}

async function run(options: ConnectivityOptions): Promise<void> {
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    const now = snapshotTime(client);
    const { current } = await readChecks(client, options, now, signal);
    if (current.length === 0) throw noChecks(options);
    const results = current.map((check) => check.result);
    const open = incidentsOf(current.flatMap(({ outages }) => outages.filter(({ state }) => state === "open")));
    const snapshot: Snapshot = { results, causes: commonCauses(results), silent: noResultGroups(results), open, now };
    if (options.output === "json") printItems("Connectivity", [itemOf(snapshot)]);
    else print(textOf(snapshot, colorizeFor(process.stdout)));
    if (snapshot.causes.length > 0) process.exitCode = EXIT.no;
    else if (snapshot.silent.length > 0) process.exitCode = EXIT.unknown;
  } finally {
    client.close();
  }
}

function itemOf({ results, causes, silent, open }: Snapshot): object {
  return {
    checks: results.map(checkItem),
    blame: causes.map(commonCauseItem),
    silent: silent.map(({ reason, checks, sentence }) => ({ reason, checks: checks.map(({ check }) => check), sentence })),
    partly: partiallyReachable(results),
    outages: open.map((incident) => incidentItem(incident, {})),
  };
}

function textOf({ results, causes, silent, open, now }: Snapshot, colorize: Colorize): string {
  const labels = new Map(results.map(({ target }) => [target.endpoint, targetLabel(target)]));
  const sections = [
    [colorize("bold", summary(results))],
    drawMatrix(matrixOf(results), (target) => labels.get(target) ?? target, colorize),
    ...titled("Why:", sentences(causes.map(({ sentence }) => sentence))),
    ...titled("Not known:", sentences(silent.map(({ sentence }) => sentence))),
    ...titled("Partly:", sentences(partiallyReachable(results))),
    ...titled("Outages now:", open.length > 0 ? outagesNow(open, now, colorize) : []),
  ];
  return sections.map((lines) => lines.map((line) => `${line}\n`).join("")).join("\n");
}

function outagesNow(open: readonly Incident[], now: number, colorize: Colorize): string[] {
  const more = open.length - MAX_OUTAGES;
  return [...drawIncidents(open.slice(0, MAX_OUTAGES), now, colorize), ...(more > 0 ? [`and ${more} more: see plumbline outages`] : [])];
}

function sentences(all: readonly string[]): string[] {
  return firstLines(all.map(stripControlCharacters), MAX_SENTENCES, ": see -o json");
}

/** `4 sources, 13 targets, 48 checks: 44 reached, 4 not reached` */
function summary(results: readonly CheckResult[]): string {
  const count = (verdict: CheckResult["verdict"]) => results.filter((one) => one.verdict === verdict).length;
  const sources = new Set(results.map(({ source }) => `${source.kind} ${source.name}`)).size;
  const targets = new Set(results.map(({ target }) => target.endpoint)).size;
  const [reached, failed, unknown] = [count("reached"), count("failed"), count("unknown")];
  const verdicts = [
    `${reached} reached`,
    ...(failed > 0 ? [`${failed} not reached`] : []),
    ...(unknown > 0 ? [`${unknown} without result`] : []),
  ];
  return `${plural(sources, "source")}, ${plural(targets, "target")}, ${plural(results.length, "check")}: ${verdicts.join(", ")}`;
}
