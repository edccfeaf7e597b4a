import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { splitMessage, policyProblems } from "./troubles.ts";
import type { PolicyProblem } from "./trouble.ts";

/** Reasons of Ready that the other site's own trouble already explains. */
const ABOUT_PEER = new Set(["PeerUnreachable", "PeerMissing"]);

/** A site that works, but could not be switched: each reason with what to do. What was not observed is no trouble. */
export function readinessProblems(policy: FailoverPolicy): PolicyProblem[] {
  const ready = policy.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "False") return [];
  const told = ABOUT_PEER.has(ready.reason) ? splitMessage(ready.message).slice(1).join("; ") : ready.message;
  return policyProblems(policy, { ...ready, message: told }).map(({ word, about }) => ({
    word,
    about: about.map((one) => ({ ...one, health: "Degraded" })),
  }));
}
