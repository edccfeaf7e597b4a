import type { FailoverPolicy } from "../../../api/failover/failover-policy.ts";
import type { Force } from "../live-plan.ts";
import { type RequestedTransition, blockedBy, transitionState } from "../progress.ts";
import { type TransitionRecord, switchesOf } from "../transitions.ts";

export interface SiteMember {
  policy: FailoverPolicy;
  readonly force?: Force | undefined;
  /** Written together with the switch. */
  readonly annotations: Record<string, string | null>;
  /** Set when its wave has begun. */
  requested?: RequestedTransition;
  /** Whether it was in the requested state before the command began. */
  readonly wasComplete: boolean;
  /** Not readable, or deleted: it cannot complete. */
  lost?: { readonly is: "failed" | "deleted"; readonly message: string };
}

export type MemberState = "later" | "unseen" | "running" | "error" | "complete" | "refused" | "superseded" | "failed" | "deleted";

const OVER: ReadonlySet<MemberState> = new Set(["complete", "refused", "superseded", "failed", "deleted"]);

export function stateOf({ policy, requested, lost }: SiteMember): MemberState {
  if (lost) return lost.is;
  if (!requested) return "later";
  const { is } = transitionState(policy, requested);
  const hasError = policy.status?.conditions?.some(({ type, status }) => type === "Error" && status === "True") === true;
  return is === "running" && hasError ? "error" : is;
}

export function isOver(member: SiteMember): boolean {
  return OVER.has(stateOf(member));
}

/** What a member that is not complete waits for. */
export function blockerOf(member: SiteMember, now: number): string {
  const { policy, requested, lost } = member;
  if (lost) return lost.message;
  if (!requested) return "its wave has not started";
  const state = transitionState(policy, requested);
  if (state.is === "refused") return state.message;
  if (state.is === "superseded") return `desiredState is now ${policy.spec.desiredState}`;
  return blockedBy(policy, requested, now);
}

export function switchOf({ policy, requested }: SiteMember): TransitionRecord | undefined {
  if (!requested || (policy.status?.observedGeneration ?? 0) < requested.generation) return undefined;
  const [latest] = switchesOf(policy);
  return latest?.to === requested.to ? latest : undefined;
}
