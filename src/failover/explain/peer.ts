import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { HealthStatement, Component } from "../../api/health.ts";
import type { PolicyProblem } from "./trouble.ts";

/** Problems of the other site: it cannot be read, has no such policy, or does not release. */
export function peerProblem({ metadata, spec, status = {} }: FailoverPolicy): PolicyProblem[] {
  const { peer, transition } = status;
  // What is wrong with this policy itself is its Error.
  if (!spec.peer || !peer || peer.field !== undefined) return [];
  const { namespace = "", name } = metadata;
  const own: Component = { kind: "FailoverPolicy", namespace, name };
  const component: Component = { kind: "Site", namespace, name: spec.peer.kubeconfigSecret.name };
  const waits = transition?.steps.find(({ name: step, state }) => step === "TakeToken" && state !== "Done")?.waitingFor;
  const since = waits?.since;
  const about = (reason: string, message: string, text: string): HealthStatement => ({
    component,
    domain: "failover",
    // As long as nothing is to be taken over, it is only not known what the other site does.
    health: waits ? "Down" : "Unknown",
    reason,
    message,
    ...(since !== undefined && { since }),
    fix: { text, change: { component: own, field: "spec.peer" }, command: `plumbline failover plan ${name} -n ${namespace}` },
  });
  const problem = (statement: HealthStatement): PolicyProblem[] => [
    { word: { reason: statement.reason ?? "", message: waits?.message ?? statement.message ?? "" }, about: [statement] },
  ];
  if (!peer.reachable) {
    const text = `check that the other site runs and that Secret ${spec.peer.kubeconfigSecret.name} points to it; if the other site has stopped writing, set spec.force`;
    return problem(about("PeerUnreachable", `Cannot read the other site: ${peer.message ?? ""}`, text));
  }
  if (peer.desiredState === undefined) return problem(about("PeerMissing", peer.message ?? "", "create the policy at the other site"));
  if (!waits || peer.desiredState !== "primary") return [];
  return problem(about("PeerWantsPrimary", waits.message, "set desiredState secondary in the policy at the other site"));
}
