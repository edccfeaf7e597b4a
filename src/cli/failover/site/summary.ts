import type { Role } from "../../../api/failover/failover-policy.ts";
import { humanDuration } from "../../../util/age.ts";
import { titleOf } from "../read-policy.ts";
import { type SiteMember, blockerOf, stateOf, switchOf } from "./member.ts";
import { waveOf } from "../waves.ts";
import type { PolicyFailure } from "../../../failover/policy/failure.ts";

/** Members that were complete before the command count only in their number. */
export interface SiteFigures {
  readonly complete: number;
  readonly total: number;
  /** From the start of the first switch to the end of the last. */
  readonly seconds?: number;
  readonly slowest?: { readonly policy: string; readonly seconds: number };
  /** The policy with the oldest copy at the time its writers stopped. */
  readonly worst?: { readonly policy: string; readonly lossSeconds: number };
}

export function figuresOf(members: readonly SiteMember[]): SiteFigures {
  const complete = members.filter((member) => stateOf(member) === "complete");
  const made = complete.flatMap((member) => {
    const one = switchOf(member);
    return one && !member.wasComplete ? [{ policy: titleOf(member.policy), ...one }] : [];
  });
  const starts = made.map(({ startTime }) => Date.parse(startTime));
  const ends = made.flatMap(({ completionTime }) => (completionTime === undefined ? [] : Date.parse(completionTime)));
  const slowest = most(
    made.flatMap(({ policy, seconds }) => (seconds === undefined ? [] : [{ policy, seconds }])),
    (one) => one.seconds,
  );
  const worst = most(
    made.flatMap(({ policy, lossSeconds }) => (lossSeconds === undefined ? [] : [{ policy, lossSeconds }])),
    (one) => one.lossSeconds,
  );
  return {
    complete: complete.length,
    total: members.length,
    ...(ends.length > 0 && { seconds: Math.round((Math.max(...ends) - Math.min(...starts)) / 1000) }),
    ...(slowest && { slowest }),
    ...(worst && { worst }),
  };
}

function most<T>(items: readonly T[], size: (item: T) => number): T | undefined {
  return items.reduce<T | undefined>((best, item) => (best === undefined || size(item) > size(best) ? item : best), undefined);
}

/** `3 of 3 policies are secondary. RTO of the site: 42s; the slowest was shop/db with 40s. RPO: 12s (shop/db)` */
export function summaryLines(members: readonly SiteMember[], to: Role, now: number): string[] {
  const { complete, total, seconds, slowest, worst } = figuresOf(members);
  const before = members.filter(({ wasComplete }) => wasComplete).length;
  const already = before > 0 ? `, ${before} of them before` : "";
  const rto = seconds === undefined ? "" : `. RTO of the site: ${length(seconds)}`;
  const chain = slowest === undefined ? "" : `; the slowest was ${slowest.policy} with ${length(slowest.seconds)}`;
  const rpo = worst === undefined ? "" : `. RPO: ${length(worst.lossSeconds)} (${worst.policy})`;
  const open = members.filter((member) => stateOf(member) !== "complete");
  return [
    `${complete} of ${total} policies are ${to}${already}${rto}${chain}${rpo}`,
    ...open.map((member) => `${titleOf(member.policy)} is not: ${blockerOf(member, now)}`),
  ];
}

function length(seconds: number): string {
  return humanDuration(seconds * 1000);
}

/** The item of `-o json`. */
export function memberItem(member: SiteMember, to: Role, now: number): object {
  const { name, namespace = "" } = member.policy.metadata;
  const state = stateOf(member);
  const made = switchOf(member);
  return {
    namespace,
    name,
    wave: waveOf(member.policy),
    to,
    state,
    ...(state !== "complete" && { message: blockerOf(member, now) }),
    ...(made?.seconds !== undefined && !member.wasComplete && { seconds: made.seconds }),
    ...(made?.lossSeconds !== undefined && !member.wasComplete && { lossSeconds: made.lossSeconds }),
    failures: [],
  };
}

/** The item of a policy that is blocked before anything is changed. */
export function blockedItem(member: Pick<SiteMember, "policy">, to: Role, blockers: readonly PolicyFailure[]): object {
  const { name, namespace = "" } = member.policy.metadata;
  const failures = blockers.map(({ kind, name: of, namespace: where = "", reason, field = "", message, class: how }) => {
    return { kind, name: of, namespace: where, reason, field, message, class: how };
  });
  return { namespace, name, wave: waveOf(member.policy), to, state: "refused", message: blockers[0]?.message ?? "", failures };
}
