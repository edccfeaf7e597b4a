import { decideToken, type PeerView, type TokenDecision, type TokenInput } from "../token/token.ts";

/** For tests: as before ADR 17, the source releases when it is demoted, and the target takes when its own volumes say that they are in sync. */
export function earlierRule(input: TokenInput, decide: (input: TokenInput) => TokenDecision = decideToken): TokenDecision {
  const other: PeerView =
    input.peer.reachable && input.peer.exists && input.peer.token
      ? { ...input.peer, token: { ...input.peer.token, copied: true } }
      : input.peer;
  const behind = input.copied || input.promoted ? [] : [{ kind: "VolumeReplication", name: "data", message: "not in sync" }];
  const isSource = input.policy.spec.desiredState === "secondary";
  return decide({ ...input, peer: other, copied: isSource || input.copied, blockers: behind });
}
