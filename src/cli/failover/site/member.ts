import type { FailoverPolicy } from "../../../api/failover/failover-policy.ts";
import type { Force } from "../live-plan.ts";
import { type Asked, heldUpBy, standingOf } from "../progress.ts";
import { type Switch, switchesOf } from "../transitions.ts";

/** One policy of a site that is switched. */
export interface Member {
  /** As it was last seen. */
  policy: FailoverPolicy;
  readonly force?: Force | undefined;
  /** To be written with the switch. */
  readonly annotations: Record<string, string | null>;
  /** Set once its wave has begun. */
  asked?: Asked;
  /** It was where it should be before the command began. */
  readonly wasComplete: boolean;
  /** It could not be asked, or is gone: it will not come to anything. */
  lost?: { readonly is: "failed" | "deleted"; readonly message: string };
}

export type MemberState = "later" | "unseen" | "running" | "error" | "complete" | "refused" | "superseded" | "failed" | "deleted";

/** Those in which nothing happens any more. */
const OVER: ReadonlySet<MemberState> = new Set(["complete", "refused", "superseded", "failed", "deleted"]);

export function stateOf({ policy, asked, lost }: Member): MemberState {
  if (lost) return lost.is;
  if (!asked) return "later";
  const { is } = standingOf(policy, asked);
  const hasError = policy.status?.conditions?.some(({ type, status }) => type === "Error" && status === "True") === true;
  return is === "running" && hasError ? "error" : is;
}

export function isOver(member: Member): boolean {
  return OVER.has(stateOf(member));
}

/** What is in the way of a member that is not complete. */
export function obstacleOf(member: Member, now: number): string {
  const { policy, asked, lost } = member;
  if (lost) return lost.message;
  if (!asked) return "its wave has not begun";
  const standing = standingOf(policy, asked);
  if (standing.is === "refused") return standing.message;
  if (standing.is === "superseded") return `it is asked to be ${policy.spec.desiredState} by now`;
  return heldUpBy(policy, asked, now);
}

/** The switch of this command, once a controller has begun it. */
export function switchOf({ policy, asked }: Member): Switch | undefined {
  if (!asked || (policy.status?.observedGeneration ?? 0) < asked.generation) return undefined;
  const [latest] = switchesOf(policy);
  return latest?.to === asked.to ? latest : undefined;
}
