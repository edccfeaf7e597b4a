import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { Standing, Thing } from "../../api/health.ts";
import type { Trouble } from "../explaining/trouble.ts";

/** The other site: it cannot be asked, has no such policy, or does not let go. */
export function peerTrouble({ metadata, spec, status = {} }: FailoverPolicy): Trouble[] {
  const { peer, transition } = status;
  if (!spec.peer || !peer) return [];
  const { namespace = "", name } = metadata;
  const own: Thing = { kind: "FailoverPolicy", namespace, name };
  const thing: Thing = { kind: "Site", namespace, name: spec.peer.kubeconfigSecret.name };
  const waits = transition?.steps.find(({ name: step, state }) => step === "TakeToken" && state !== "Done")?.waitingFor;
  const since = waits?.since;
  const about = (reason: string, message: string, text: string): Standing => ({
    thing,
    domain: "failover",
    // As long as nothing is to be taken over, it is only not known what the other site does.
    health: waits ? "Down" : "Unknown",
    reason,
    message,
    ...(since !== undefined && { since }),
    remedy: { text, change: { thing: own, field: "spec.peer" }, command: `plumbline failover plan ${name} -n ${namespace}` },
  });
  const trouble = (standing: Standing): Trouble[] => [
    { word: { reason: standing.reason ?? "", message: waits?.message ?? standing.message ?? "" }, about: [standing] },
  ];
  if (!peer.reachable) {
    const text = `see whether the other site runs and Secret ${spec.peer.kubeconfigSecret.name} leads to it; if it is known not to write any more, set spec.force`;
    return trouble(about("PeerUnreachable", `The other site cannot be asked: ${peer.message ?? ""}`, text));
  }
  if (peer.desiredState === undefined) return trouble(about("PeerMissing", peer.message ?? "", "create the policy at the other site"));
  if (!waits || peer.desiredState !== "primary") return [];
  return trouble(about("PeerWantsPrimary", waits.message, "set desiredState secondary in the policy at the other site"));
}
