import type { FuzzOutcome } from "./runner.ts";
import type { FuzzFinding, FuzzResult } from "./run.ts";
import { KNOWN_LIMITS } from "./known-limits.ts";

const HEADING = "## Random changes";

/** `named     8.2 s  node2 router: ip link set vni110 down` */
export function outcomeText({ verdict, text, left, limit }: FuzzOutcome): string {
  const time = "afterMs" in verdict ? seconds(verdict.afterMs) : "-";
  const more = [
    ...("cause" in verdict ? [`  ${verdict.cause}`] : []),
    ...(verdict.is === "silent" ? [`  harmed: ${verdict.harmed.join(", ")}`, ...namedText(verdict.causes)] : []),
    ...(verdict.is === "silent" && limit !== undefined ? [`  known limit: ${limit}`] : []),
    ...left.slice(0, 5).map((one) => `  left: ${one}`),
  ];
  return [`${verdict.is.padEnd(10)}${time.padEnd(9)}${text}`, ...more].join("\n");
}

function namedText(causes: readonly string[]): string[] {
  return causes.length === 0 ? ["  why names nothing"] : causes.slice(0, 3).map((cause) => `  why names: ${cause}`);
}

export function findingText({ outcome, history }: FuzzFinding): string {
  return [`The shortest history found: ${history.join("; ")}`, outcomeText(outcome)].join("\n");
}

export function summaryText({ outcomes, findings }: FuzzResult): string {
  const count = (is: string) => outcomes.filter(({ verdict }) => verdict.is === is).length;
  const limits = outcomes.filter(({ verdict, limit }) => verdict.is === "silent" && limit !== undefined).length;
  return [
    `${outcomes.length} changes: ${count("harmless")} did no harm, ${count("repaired")} repaired, ${count("named")} named`,
    `${limits} known limits, ${findings.length} failures`,
  ].join(", ");
}

/** The section of the drill's page that says what random changes found. */
export function fuzzSection(result: FuzzResult, { minutes, seed }: { minutes: number; seed: number }): string {
  const kinds = [...Map.groupBy(result.outcomes, ({ change }) => change.kind)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const rows = kinds.map(([kind, outcomes]) => {
    const count = (is: string) => String(outcomes.filter(({ verdict }) => verdict.is === is).length);
    return [kind, String(outcomes.length), count("harmless"), count("repaired"), count("named"), median(outcomes), count("silent")];
  });
  const table = [
    ["object", "changes", "no harm", "repaired", "named", "named after (median)", "neither"],
    rows[0]?.map(() => "---") ?? [],
    ...rows,
  ];
  return [
    HEADING,
    "",
    `\`plumbline lab fuzz --minutes ${minutes} --seed ${seed} --write docs/drill.md\` changed one random object of a node at a time, with traffic on every overlay, Service and host session. Each change must do no harm, or be repaired within a minute, or be named by \`why\` with the right node and layer.`,
    "",
    `${summaryText(result)}.`,
    "",
    ...table.map((cells) => `| ${cells.join(" | ")} |`),
    "",
    "### Limits",
    "",
    ...KNOWN_LIMITS.map(({ matches, reason }) => `- \`${matches.source.replaceAll("|", "\\|")}\`: ${reason}`),
    "",
  ].join("\n");
}

/** A page with this section instead of the one it had. */
export function withSection(page: string, section: string): string {
  const rest = page.slice(0, sectionStart(page)).trimEnd();
  return section === "" ? `${rest}\n` : `${rest}\n\n${section}`;
}

/** The section that a page has; empty without. */
export function sectionOf(page: string): string {
  return page.slice(sectionStart(page));
}

function sectionStart(page: string): number {
  const at = page.indexOf(`${HEADING}\n`);
  return at < 0 ? page.length : at;
}

function median(outcomes: readonly FuzzOutcome[]): string {
  const times = outcomes.flatMap(({ verdict }) => (verdict.is === "named" ? [verdict.afterMs] : [])).toSorted((a, b) => a - b);
  const middle = times[Math.floor(times.length / 2)];
  return middle === undefined ? "" : seconds(middle);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
