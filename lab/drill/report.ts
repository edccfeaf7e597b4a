import type { Exercised } from "./runner.ts";
import { type Judgement, type Outcome, scoreOf } from "./result.ts";

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
export function outcomeLine({ outcome, judgement }: Exercised): string {
  return line(cells(outcome, judgement));
}

/** What a person wants to know of a fault that did not go well. */
export function complaintsOf({ outcome, judgement }: Exercised): string[] {
  const { silent, right = true, claimsHealth, cleared, flowed } = judgement;
  return [
    ...(silent ? ["no status says it"] : []),
    ...(right ? [] : [outcome.named.length > 0 ? `why names first: ${outcome.named[0]}` : "why names nothing"]),
    ...(claimsHealth ? outcome.untrue.slice(0, 3).map((text) => `still says: ${text}`) : []),
    ...(cleared ? [] : outcome.left.slice(0, 3).map((text) => `left: ${text}`)),
    ...(flowed ? [] : [`interrupted: ${outcome.interrupted.join(", ")}`]),
  ];
}

export function scoreLine(exercised: readonly Exercised[]): string {
  const { faults, silent, asked, right, claimedHealth, notCleared, interrupted } = scoreOf(exercised.map(({ judgement }) => judgement));
  const share = asked === 0 ? 100 : Math.floor((100 * right) / asked);
  return [
    `${faults} faults: ${right} of ${asked} causes named first (${share} %)`,
    `${silent} silent`,
    `${claimedHealth} with health claimed to the end`,
    `${notCleared} not cleared`,
    `${interrupted} with other traffic interrupted`,
  ].join(", ");
}

interface DocumentOptions {
  readonly kube: boolean;
  readonly about: (fault: string) => string;
  /** The faults that were left out. */
  readonly others: readonly string[];
}

export function drillDocument(exercised: readonly Exercised[], { kube, about, others }: DocumentOptions): string {
  const command = `\`plumbline lab drill${kube ? " --kube" : ""} --write docs/drill.md\``;
  return [
    "# The drill",
    "",
    `What Plumbline says when things break: every fault that the [lab](lab.md) knows, one after the other, as ${command} found it on ${apiText(kube)}.`,
    "",
    scoreLine(exercised),
    "",
    "- **told**: until a status said it. Where Plumbline mends it by itself, that may be an Event.",
    "- **cause**: until `plumbline why` named the right cause first, and kept to it. None where it is over before anyone could ask.",
    "- **health**: honest when in the end nothing that was said of it claimed health any more. Until it is told, a status says what was last known.",
    "- **cleared**: until nothing of it was left in any status and all traffic passed, after it was mended.",
    "- **traffic**: whether everything that has nothing to do with it went on without a loss.",
    "",
    "All times are of the machine that it ran on; a busy one is slower. Where its kernel has no VRF, what is about routers and silent nodes is broken in User-Mode Linux, and all else beside it in a lab without routers.",
    "",
    row(["fault", "what happens", "told", "cause", "health", "cleared", "traffic", "what told it first"]),
    row(["---", "---", "---", "---", "---", "---", "---", "---"]),
    ...exercised.map(({ outcome, judgement }) => {
      const [, , ...measured] = cells(outcome, judgement);
      return row([`\`${outcome.fault}\``, about(outcome.fault), ...measured, outcome.told ?? ""]);
    }),
    "",
    `Left out, because nothing is to be seen of them or only much later: ${others.map((fault) => `\`${fault}\` (${about(fault)})`).join(", ")}.`,
    "",
  ].join("\n");
}

function cells({ fault, domain, toldMs, causeMs, clearedMs, with: other }: Outcome, judgement: Judgement): string[] {
  return [
    other === undefined ? fault : `${fault} + ${other}`,
    domain,
    judgement.silent ? "silent" : seconds(toldMs),
    judgement.right === undefined ? "-" : judgement.right ? seconds(causeMs) : "wrong",
    judgement.claimsHealth ? "claimed" : "honest",
    judgement.cleared ? seconds(clearedMs) : "left",
    judgement.flowed ? "flowed" : "cut",
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
