import type { DrillResult } from "./runner.ts";
import { deadPathMedian, type FaultScore, type FaultResult, scoreOf } from "./result.ts";

const COLUMNS = ["FAULT", "DOMAIN", "TOLD", "CAUSE", "HEALTH", "CLEARED", "TRAFFIC"];
const WIDTHS = [26, 14, 9, 9, 9, 9, 0];

/** Says which API the drill runs on. */
export function apiLine(kube: boolean): string {
  return `On ${apiText(kube)}.`;
}

function apiText(kube: boolean): string {
  return kube
    ? "a real API server, with kube-proxy, pods and the identities of the chart"
    : "the embedded API, where a stand-in on each node answers for the pods and for kube-proxy";
}

export function headLine(): string {
  return line(COLUMNS);
}

/** `link-down  router  0.4 s  0.6 s  honest  2.1 s  flowed` */
export function outcomeLine({ outcome, judgment }: DrillResult): string {
  return line(cells(outcome, judgment));
}

/** What a person wants to know of a fault that did not go well. */
export function problemsOf({ outcome, judgment }: DrillResult): string[] {
  const { silent, right = true, claimsHealth, cleared, flowed } = judgment;
  return [
    ...(silent ? ["no status reports it"] : []),
    ...(right ? [] : [outcome.named.length > 0 ? `why names first: ${outcome.named[0]}` : "why names nothing"]),
    ...(claimsHealth ? outcome.untrue.slice(0, 3).map((text) => `still says: ${text}`) : []),
    ...(cleared ? [] : outcome.left.slice(0, 3).map((text) => `left: ${text}`)),
    ...(flowed ? [] : [`interrupted: ${outcome.interrupted.join(", ")}`]),
  ];
}

export function scoreLine(exercised: readonly DrillResult[]): string {
  const { faults, silent, expected, right, claimedHealth, notCleared, interrupted } = scoreOf(exercised.map(({ judgment }) => judgment));
  const share = expected === 0 ? 100 : Math.floor((100 * right) / expected);
  return [
    `${faults} faults: ${right} of ${expected} causes named first (${share} %)`,
    `${silent} not reported`,
    `${claimedHealth} reported as healthy to the end`,
    `${notCleared} not cleared`,
    `${interrupted} with other traffic interrupted`,
    ...deadPathText(exercised),
  ].join(", ");
}

function deadPathText(exercised: readonly DrillResult[]): string[] {
  const median = deadPathMedian(exercised.map(({ outcome }) => outcome));
  return median ? [`${median.count} dead paths named in ${seconds(median.ms)} (median)`] : [];
}

interface DocumentOptions {
  readonly kube: boolean;
  readonly about: (fault: string) => string;
  /** The faults that were left out. */
  readonly others: readonly string[];
}

export function drillDocument(exercised: readonly DrillResult[], { kube, about, others }: DocumentOptions): string {
  const command = `\`plumbline lab drill${kube ? " --kube" : ""} --write docs/drill.md\``;
  return [
    "# Read the results of the fault drill",
    "",
    `What Plumbline reports when things break: every fault of the [lab](lab.md), one after the other, as ${command} found it on ${apiText(kube)}.`,
    "",
    scoreLine(exercised),
    "",
    "- **reported**: time until a status reports it. Where Plumbline fixes it by itself, that may be an Event.",
    "- **cause**: time until `plumbline why` names the right cause first, and keeps doing so. Empty where the fault is over before anyone could ask.",
    "- **health**: honest when in the end no status reports the broken part as healthy. Until the fault is reported, a status has the last known state.",
    "- **cleared**: time from the fix until no status mentions the fault and all traffic passes.",
    "- **traffic**: whether all unrelated traffic passed without loss.",
    "",
    "Times are those of the machine it ran on; a busy one is slower. Where its kernel has no VRF, router and node faults run in User-Mode Linux, and all others in a lab without routers.",
    "",
    row(["fault", "what happens", "reported", "cause", "health", "cleared", "traffic", "first report"]),
    row(["---", "---", "---", "---", "---", "---", "---", "---"]),
    ...exercised.map(({ outcome, judgment }) => {
      const [, , ...measured] = cells(outcome, judgment);
      return row([`\`${outcome.fault}\``, about(outcome.fault), ...measured, outcome.firstReport ?? ""]);
    }),
    "",
    `Left out, because they show no effect or only much later: ${others.map((fault) => `\`${fault}\` (${about(fault)})`).join(", ")}.`,
    "",
  ].join("\n");
}

function cells({ fault, domain, reportedMs, causeMs, clearedMs, with: other }: FaultResult, score: FaultScore): string[] {
  return [
    other === undefined ? fault : `${fault} + ${other}`,
    domain,
    score.silent ? "silent" : seconds(reportedMs),
    score.right === undefined ? "-" : score.right ? seconds(causeMs) : "wrong",
    score.claimsHealth ? "claimed" : "honest",
    score.cleared ? seconds(clearedMs) : "left",
    score.flowed ? "flowed" : "cut",
  ];
}

function seconds(ms = 0): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function line(texts: readonly string[]): string {
  return texts
    .map((text, index) => text.padEnd(WIDTHS[index] ?? 0))
    .join("")
    .trimEnd();
}

function row(texts: readonly string[]): string {
  return `| ${texts.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
}
