import { type Command, Option } from "commander";
import { print } from "../../kube/printable.ts";
import { type CommonCause, commonCauses } from "../../connectivity/analysis/common-cause.ts";
import { partiallyReachable } from "../../connectivity/analysis/partly.ts";
import { type NoResultGroup, noResultGroups } from "../../connectivity/analysis/no-result.ts";
import { plural, targetLabel } from "../../connectivity/analysis/labels.ts";
import { type Incident, incidentsOf } from "../../connectivity/analysis/incidents.ts";
import { matrixOf } from "../../connectivity/analysis/matrix.ts";
import type { CheckResult } from "../../connectivity/analysis/check-result.ts";
import { connect, snapshotTime } from "../shared/connection.ts";
import { drawIncidents } from "../checks/draw-incidents.ts";
import { drawMatrix } from "../checks/draw-matrix.ts";
import { commonCauseItem, checkItem, incidentItem } from "../checks/plain-items.ts";
import { type CheckSelection, noChecks, readChecks, withCheckSelection } from "../checks/read-checks.ts";
import { EXIT } from "../shared/exit.ts";
import { stripControlCharacters } from "../print/columns.ts";
import { printItems } from "../print/items.ts";
import { type Colorize, colorizeFor } from "../print/color.ts";

interface ConnectivityOptions extends CheckSelection {
  output: "text" | "json";
}

/** Of many causes people read the first few. */
const SENTENCES_SHOWN = 10;
const OUTAGES_SHOWN = 20;

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
`,
    )
    .action(run);
}

interface Picture {
  readonly said: readonly CheckResult[];
  readonly blames: readonly CommonCause[];
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
    const said = current.map((told) => told.said);
    const open = incidentsOf(current.flatMap(({ outages }) => outages.filter(({ state }) => state === "open")));
    const picture: Picture = { said, blames: commonCauses(said), silent: noResultGroups(said), open, now };
    if (options.output === "json") printItems("Connectivity", [itemOf(picture)]);
    else print(textOf(picture, colorizeFor(process.stdout)));
    if (picture.blames.length > 0) process.exitCode = EXIT.no;
    else if (picture.silent.length > 0) process.exitCode = EXIT.unknown;
  } finally {
    client.close();
  }
}

function itemOf({ said, blames, silent, open }: Picture): object {
  return {
    checks: said.map(checkItem),
    blame: blames.map(commonCauseItem),
    silent: silent.map(({ reason, checks, sentence }) => ({ reason, checks: checks.map(({ check }) => check), sentence })),
    partly: partiallyReachable(said),
    outages: open.map((incident) => incidentItem(incident, {})),
  };
}

function textOf({ said, blames, silent, open, now }: Picture, colorize: Colorize): string {
  const labels = new Map(said.map(({ target }) => [target.endpoint, targetLabel(target)]));
  const sections = [
    [colorize("bold", summary(said))],
    drawMatrix(matrixOf(said), (target) => labels.get(target) ?? target, colorize),
    ...titled("Why:", sentences(blames.map(({ sentence }) => sentence))),
    ...titled("Not known:", sentences(silent.map(({ sentence }) => sentence))),
    ...titled("Partly:", sentences(partiallyReachable(said))),
    ...titled("Outages now:", open.length > 0 ? outagesNow(open, now, colorize) : []),
  ];
  return sections.map((lines) => lines.map((line) => `${line}\n`).join("")).join("\n");
}

function titled(title: string, lines: readonly string[]): string[][] {
  return lines.length > 0 ? [[title, ...lines.map((line) => `  ${line}`)]] : [];
}

function outagesNow(open: readonly Incident[], now: number, colorize: Colorize): string[] {
  const more = open.length - OUTAGES_SHOWN;
  return [...drawIncidents(open.slice(0, OUTAGES_SHOWN), now, colorize), ...(more > 0 ? [`and ${more} more: see plumbline outages`] : [])];
}

function sentences(all: readonly string[]): string[] {
  const more = all.length - SENTENCES_SHOWN;
  return [...all.slice(0, SENTENCES_SHOWN).map(stripControlCharacters), ...(more > 0 ? [`and ${more} more: see -o json`] : [])];
}

/** `4 sources, 13 targets, 48 checks: 44 reached, 4 not reached` */
function summary(said: readonly CheckResult[]): string {
  const count = (verdict: CheckResult["verdict"]) => said.filter((one) => one.verdict === verdict).length;
  const sources = new Set(said.map(({ source }) => `${source.kind} ${source.name}`)).size;
  const targets = new Set(said.map(({ target }) => target.endpoint)).size;
  const [reached, failed, unknown] = [count("reached"), count("failed"), count("unknown")];
  const verdicts = [
    `${reached} reached`,
    ...(failed > 0 ? [`${failed} not reached`] : []),
    ...(unknown > 0 ? [`${unknown} without result`] : []),
  ];
  return `${plural(sources, "source")}, ${plural(targets, "target")}, ${plural(said.length, "check")}: ${verdicts.join(", ")}`;
}
