import { withoutEndMark } from "../../util/text.ts";
import { createInterface } from "node:readline/promises";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { humanDuration } from "../../util/age.ts";
import type { Peers } from "../../failover/token/peers.ts";
import { expectedLoss } from "../../failover/loss.ts";
import { isRestored, type PeerView } from "../../failover/token/token.ts";
import { printError } from "../../kube/printable.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import type { Force } from "./live-plan.ts";
import { type PolicyFailure, policyFailure } from "../../failover/policy/failure.ts";

export interface ForceDecision {
  /** Unset if the site already holds the token: the force would apply to the next takeover. */
  readonly force?: Force;
  readonly notes: readonly string[];
  readonly rejections: readonly PolicyFailure[];
}

const NO_PEER: PeerView = { reachable: false, message: "the policy has no spec.peer" };

interface ForceOptions {
  readonly reason: string;
  readonly evenThoughItAnswers?: boolean | undefined;
  readonly peers: Pick<Peers, "ask">;
  readonly now: Date;
  readonly signal: AbortSignal;
}

/** Whether the policy can be forced now. Asks the other site, with the user's right to read the Secret; else the controller's last answer counts. */
export async function decideForce(policy: FailoverPolicy, options: ForceOptions): Promise<ForceDecision> {
  const { reason, now, signal } = options;
  const { uid } = policy.metadata;
  const view = policy.spec.peer ? await options.peers.ask(policy, signal) : NO_PEER;
  const answer = lastAnswer(policy, view, now);
  const own = policy.status?.token;
  const theirs = answer.token?.state === "Held" ? answer.token : undefined;
  if (own?.state === "Held" && (theirs?.epoch ?? 0) < own.epoch && !isRestored(policy, view)) {
    return { notes: [`This site already holds epoch ${own.epoch}: --force has no effect`], rejections: [] };
  }
  return {
    force: { reason, epoch: own?.epoch ?? 0, ...(uid !== undefined && { uid }) },
    notes: [answer.text, lossText(policy, view, now)],
    rejections: theirs && !options.evenThoughItAnswers ? [stillHolds(policy, answer)] : [],
  };
}

export async function reasonFor({ reason }: { reason?: string | undefined }): Promise<string> {
  const text = (reason ?? (await askReason())).trim();
  if (text === "") throw new CliError("--force requires --reason: how do you know the other site has stopped?", EXIT.misuse);
  return text;
}

async function askReason(): Promise<string> {
  if (!process.stdin.isTTY) return "";
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    printError("If the other site still writes, the data of one site will be lost.\n");
    return await terminal.question("Reason (how do you know the other site has stopped?): ");
  } finally {
    terminal.close();
  }
}

interface PeerAnswer {
  readonly text: string;
  readonly token?: { readonly epoch: number; readonly state: string } | undefined;
  readonly desiredState?: string | undefined;
  /** From the controller's last read, because the peer did not answer this command. */
  readonly secondHand?: true;
}

function lastAnswer(policy: FailoverPolicy, view: PeerView, now: Date): PeerAnswer {
  if (view.reachable && !view.exists) return { text: "The other site answers and has no such policy" };
  if (view.reachable) {
    const { token, desiredState } = view;
    return { text: `The other site answers: ${tokenText(token)}, desiredState ${desiredState}`, token, desiredState };
  }
  const { peer } = policy.status ?? {};
  const unreadable = `Cannot read the other site from here: ${withoutEndMark(view.message)}`;
  if (!peer?.reachable) return { text: unreadable };
  const { token, desiredState, lastAnswerTime } = peer;
  const age = lastAnswerTime === undefined ? "" : `, ${ageText(lastAnswerTime, now)}`;
  return { text: `${unreadable}. The controller read it${age}: ${tokenText(token)}`, token, desiredState, secondHand: true };
}

function tokenText(token: PeerAnswer["token"]): string {
  return token ? `token ${token.state}, epoch ${token.epoch}` : "no token";
}

function stillHolds(policy: FailoverPolicy, { desiredState, text, secondHand }: PeerAnswer): PolicyFailure {
  const { name, namespace } = policy.metadata;
  const { name: named = name, namespace: peerNamespace = namespace } = policy.spec.peer ?? {};
  const command = `plumbline failover switch ${named} -n ${peerNamespace} --to secondary --context OTHER`;
  const fix = secondHand
    ? "If it is gone, the controller notices within 20s: retry then"
    : desiredState === "secondary"
      ? "It is on its way to secondary: leave out --force and wait for its release"
      : `Stop it there first: ${command}; then repeat this without --force`;
  const message = `${text}. It may still write. ${fix}. To force anyway: --even-though-it-answers`;
  return policyFailure(policy, "Refused", message, { field: "spec.force" });
}

/** A takeover loses what was written at the other site after its last copy. */
function lossText(policy: FailoverPolicy, view: PeerView, now: Date): string {
  const { lastSyncTime = policy.status?.peer?.lastSyncTime } = (view.reachable && view.exists && view.copy) || {};
  const peer = { ...policy.status?.peer, reachable: view.reachable, ...(lastSyncTime !== undefined && { lastSyncTime }) };
  return `Lost by force: ${expectedLoss({ ...policy, status: { ...policy.status, peer } }, now).text}`;
}

function ageText(time: string, now: Date): string {
  return `${humanDuration(Math.max(0, now.getTime() - Date.parse(time)))} ago`;
}
