import { forgetPeerAnnotation } from "../../api/annotations.ts";
import { expect, test } from "vitest";
import type { FailoverPolicy, FailoverToken, Role } from "../../api/failover/failover-policy.ts";
import { decideToken, fenceAnnotationOf, isRestored, type PeerView, type TokenInput } from "./token.ts";
import { earlierRule } from "../testing/earlier-rule.ts";
import { type Exploration, ExplorationOptions, type FaultModel } from "../testing/token-model/exploration.ts";
import { PROTOCOL, type Protocol, type ModelSite, siteAtRest } from "../testing/token-model/site.ts";

const owned = (epoch: number): FailoverToken => ({ epoch, state: "Held" });
const released = (epoch: number): FailoverToken => ({ epoch, state: "Released", copied: true });
const unproven = (epoch: number): FailoverToken => ({ epoch, state: "Released" });

function policy(desiredState: Role, token?: FailoverToken, force?: number): FailoverPolicy {
  return {
    apiVersion: "crd.hahomelabs.com/v1alpha1",
    kind: "FailoverPolicy",
    metadata: { name: "shop", namespace: "web", uid: "here" },
    spec: {
      desiredState,
      peer: { kubeconfigSecret: { name: "other-site", key: "kubeconfig" }, name: "shop-east" },
      ...(force === undefined ? {} : { force: { reason: "the site burns", epoch: force, uid: "here" } }),
    },
    ...(token ? { status: { token } } : {}),
  };
}

function peer(desiredState: Role, token?: FailoverToken): PeerView {
  return { reachable: true, exists: true, desiredState, ...(token ? { token } : {}) };
}

const away: PeerView = { reachable: false, message: "connection refused" };
const secondaryAtRest = { mode: "safe", demoted: true, writesStopped: true, copied: true, promoted: false, blockers: [] } as const;
const primaryAtRest = { ...secondaryAtRest, demoted: false, writesStopped: false, copied: false, promoted: true } as const;

function decide(own: FailoverPolicy, other: PeerView, input: Omit<TokenInput, "policy" | "peer"> = secondaryAtRest) {
  return decideToken({ ...input, policy: own, peer: other });
}

const nothing = { mayWrite: false, mustDemote: false, waits: [] };
const owes = (message: unknown) => [{ kind: "FailoverPolicy", namespace: "web", name: "shop-east", message }];

test("a site takes the next epoch after the other's release, and writes nothing before", () => {
  expect(decide(policy("primary", released(1)), peer("secondary", released(2)))).toEqual({ ...nothing, take: owned(3) });
});

test("a site that holds the token may write, also while the other is unreachable", () => {
  expect(decide(policy("primary", owned(3)), peer("secondary", released(2)))).toEqual({ ...nothing, mayWrite: true });
  expect(decide(policy("primary", owned(3)), away, primaryAtRest)).toEqual({ ...nothing, mayWrite: true });
});

test.for<[what: string, own: FailoverToken | undefined, other: PeerView, message: string]>([
  [
    "cannot be reached",
    released(1),
    away,
    "Cannot read the other site's token: connection refused. If the other site has stopped writing, set spec.force with epoch 1 and the uid of this policy",
  ],
  [
    "has no such policy",
    undefined,
    { reachable: true, exists: false },
    "The other site has no such policy; create it there with desiredState secondary",
  ],
  [
    "holds the token and wants to keep it",
    released(1),
    peer("primary", owned(2)),
    "The other site holds epoch 2; set desiredState secondary there",
  ],
  ["still holds", released(1), peer("secondary", owned(2)), "The other site holds epoch 2, and is on its way to secondary"],
  ["wants to be primary too", undefined, peer("primary"), "Both sites want to be primary; set desiredState secondary at the other one"],
  ["has released only an older epoch", released(2), peer("secondary", released(1)), "Waiting for the other site to release its token"],
  ["has never released", undefined, peer("secondary"), "Waiting for the other site to release its token"],
])("while the other site %s, neither mode promotes", ([, own, other, message]) => {
  for (const mode of ["safe", "unsafe"] as const) {
    expect(decide(policy("primary", own), other, { ...secondaryAtRest, mode })).toEqual({ ...nothing, waits: owes(message) });
  }
});

test("safe mode accepts no release without proof of the copy; unsafe mode does", () => {
  const [own, other] = [policy("primary", released(1)), peer("secondary", unproven(2))];
  const message =
    "The other site released epoch 2 and has not confirmed that its volumes are copied; wait for the storage, or set spec.force";
  expect(decide(own, other)).toEqual({ ...nothing, waits: owes(message) });
  expect(decide(own, other, { ...secondaryAtRest, mode: "unsafe" })).toEqual({ ...nothing, take: owned(3) });
});

test("force accepts a release without proof, and records the reason", () => {
  const [own, other] = [policy("primary", released(1), 1), peer("secondary", unproven(2))];
  expect(decide(own, other)).toEqual({ ...nothing, take: owned(3), forced: "the site burns" });
});

test("volumes that are already primary need no proof", () => {
  expect(decide(policy("primary"), peer("secondary", unproven(1)), primaryAtRest)).toEqual({ ...nothing, take: owned(2) });
});

test("a volume that cannot be promoted prevents safe mode from taking the token; unsafe mode takes it", () => {
  const blockers = [{ kind: "VolumeReplication", namespace: "web", name: "data", message: "does not exist" }];
  const [own, other] = [policy("primary", released(1)), peer("secondary", released(2))];
  expect(decide(own, other, { ...secondaryAtRest, blockers })).toEqual({ ...nothing, waits: blockers });
  expect(decide(own, other, { ...secondaryAtRest, blockers, mode: "unsafe" })).toEqual({ ...nothing, take: owned(3) });
});

test("a release gets its proof as soon as the copy is complete", () => {
  const other = peer("primary", released(2));
  expect(decide(policy("secondary", unproven(3)), other, { ...secondaryAtRest, copied: false })).toEqual(nothing);
  expect(decide(policy("secondary", unproven(3)), other)).toEqual({ ...nothing, release: released(3) });
  expect(decide(policy("secondary", released(3)), other)).toEqual(nothing);
  expect(decide(policy("secondary", unproven(3)), peer("primary", owned(4)))).toEqual(nothing);
});

test("safe mode releases when the volumes are demoted and copied, unsafe mode already when nothing writes", () => {
  const [own, other] = [policy("secondary", owned(3)), peer("primary", released(2))];
  const stopped = { ...primaryAtRest, writesStopped: true };
  expect(decide(own, other, primaryAtRest)).toEqual(nothing);
  expect(decide(own, other, stopped)).toEqual(nothing);
  expect(decide(own, other, { ...stopped, demoted: true })).toEqual(nothing);
  expect(decide(own, other, { ...stopped, demoted: true, copied: true })).toEqual({ ...nothing, release: released(3) });
  expect(decide(own, other, { ...primaryAtRest, mode: "unsafe" })).toEqual(nothing);
  expect(decide(own, other, { ...stopped, mode: "unsafe" })).toEqual({ ...nothing, release: unproven(3) });
});

test("a site releases also if the other is unreachable", () => {
  expect(decide(policy("secondary", owned(3)), away)).toEqual({ ...nothing, release: released(3) });
});

test("a release is never revoked: the other site must take a higher epoch", () => {
  expect(decide(policy("primary", released(3)), peer("secondary", released(2)))).toMatchObject({ mayWrite: false, waits: [{}] });
  expect(decide(policy("secondary", released(2)), peer("primary", released(3)))).toEqual({ ...nothing, release: released(4) });
  expect(decide(policy("primary", released(3)), peer("secondary", released(4)))).toEqual({ ...nothing, take: owned(5) });
});

test("a site with running writers does not change its token", () => {
  expect(decide(policy("secondary", released(2)), peer("primary", released(3)), primaryAtRest)).toEqual(nothing);
  expect(decide(policy("secondary"), peer("primary"), primaryAtRest)).toEqual(nothing);
});

test("two secondaries at rest do not change their tokens", () => {
  expect(decide(policy("secondary", released(2)), peer("secondary", released(3)))).toEqual(nothing);
  expect(decide(policy("secondary"), peer("secondary"))).toEqual(nothing);
});

test("at the first start the secondary releases and the primary takes the token", () => {
  expect(decide(policy("secondary"), peer("primary"))).toEqual({ ...nothing, release: released(1) });
  expect(decide(policy("primary"), peer("secondary", released(1)), primaryAtRest)).toEqual({ ...nothing, take: owned(2) });
});

test("a site that has released demotes before it takes the token again, in either mode", () => {
  const halfDown = { ...secondaryAtRest, mode: "unsafe", demoted: false } as const;
  expect(decide(policy("primary", released(1)), peer("secondary", released(2)), halfDown)).toEqual({ ...nothing, mustDemote: true });
});

test("a site that reads a higher epoch from the other releases and must demote first", () => {
  const [own, other] = [policy("primary", owned(1)), peer("primary", owned(3))];
  const message = "The other site holds epoch 3; set desiredState secondary there";
  expect(decide(own, other, primaryAtRest)).toEqual({ ...nothing, release: unproven(1), mustDemote: true, waits: owes(message) });
  expect(decide(policy("primary", released(1)), away, primaryAtRest)).toMatchObject({ mayWrite: false, mustDemote: true });
  expect(decide(policy("primary"), other, primaryAtRest)).toMatchObject({ mayWrite: false, mustDemote: true });
});

test("two sites that were forced to the same epoch both release", () => {
  expect(decide(policy("primary", owned(2)), peer("primary", owned(2)), primaryAtRest)).toMatchObject({
    release: unproven(2),
    mustDemote: true,
  });
});

test("force takes an epoch above any that the other site may hold, with its reason", () => {
  const forced = { ...nothing, forced: "the site burns" };
  expect(decide(policy("primary", released(1), 1), away)).toEqual({ ...forced, take: owned(3) });
  expect(decide(policy("primary", undefined, 0), away)).toEqual({ ...forced, take: owned(2) });
  expect(decide(policy("primary", released(1), 1), peer("primary", owned(6)))).toEqual({ ...forced, take: owned(7) });
  expect(decide(policy("primary", owned(1), 1), peer("primary", owned(3)))).toEqual({ ...forced, take: owned(4) });
});

test("force counts once, for the epoch that it names", () => {
  expect(decide(policy("primary", released(3), 1), away)).toMatchObject({ mayWrite: false, waits: [{}] });
  expect(decide(policy("primary", owned(3), 3), away)).toEqual({ ...nothing, mayWrite: true });
  expect(decide(policy("secondary", released(1), 1), away)).toEqual(nothing);
});

test("force counts only for the uid that it names: a policy that is recreated from Git does not force again", () => {
  const forced = policy("primary", undefined, 0);
  for (const uid of ["of an earlier object", undefined]) {
    const force = { reason: "first start", epoch: 0, ...(uid !== undefined && { uid }) };
    const again = { ...forced, spec: { ...forced.spec, force } };
    expect(decide(again, peer("primary", owned(7)), primaryAtRest)).toMatchObject({ mayWrite: false, mustDemote: true });
    expect(decide(again, away)).toMatchObject({ mayWrite: false, waits: [{}] });
  }
});

test("an unneeded force is not used", () => {
  expect(decide(policy("primary", released(1), 1), peer("secondary", released(2)))).toEqual({ ...nothing, take: owned(3) });
});

const observedBy = (observedToken: FailoverToken): PeerView => ({
  reachable: true,
  exists: true,
  desiredState: "secondary",
  token: released(3),
  observedToken,
});

test.for<[what: string, own: FailoverToken | undefined, token: FailoverToken, is: boolean]>([
  ["its own token", owned(4), owned(4), false],
  ["an earlier one", owned(4), released(2), false],
  ["a token that it has released since", released(4), owned(4), false],
  ["a higher epoch", owned(2), released(4), true],
  ["a release that it does not have", owned(4), released(4), true],
  ["a token, and it has none", undefined, owned(1), true],
])("a site whose peer has seen %s", ([, own, token, is]) => {
  expect(isRestored(policy("primary", own), observedBy(token))).toBe(is);
});

test("a site does not count as restored if its peer has seen no token, or a dropped one", () => {
  for (const view of [away, peer("secondary", released(3)), { reachable: true, exists: false } as const, undefined])
    expect(isRestored(policy("primary", owned(2)), view)).toBe(false);
  const { metadata, ...rest } = policy("primary");
  const forgot = (epoch: number) => ({
    ...rest,
    metadata: { ...metadata, annotations: { [forgetPeerAnnotation]: JSON.stringify({ uid: "here", epoch }) } },
  });
  expect([isRestored(forgot(4), observedBy(owned(4))), isRestored(forgot(3), observedBy(owned(4)))]).toEqual([false, true]);
});

test("a restored site is neither stopped nor outranked by the seen token, and force takes a higher epoch", () => {
  expect(decide(policy("primary", owned(2)), observedBy(released(6)), primaryAtRest)).toEqual({ ...nothing, mayWrite: true });
  expect(decide(policy("primary", owned(2), 2), observedBy(released(6)), primaryAtRest)).toMatchObject({
    take: owned(7),
    forced: "the site burns",
  });
});

test("writes are fenced with the held epoch on the way to secondary, and only then", () => {
  const { metadata, ...rest } = policy("secondary", owned(4));
  expect(fenceAnnotationOf({ ...rest, metadata: { ...metadata, generation: 7 } })).toBe("4/7");
  expect([policy("secondary"), policy("secondary", released(4)), policy("primary", owned(4))].map(fenceAnnotationOf)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

type Modes = readonly [ModelSite["mode"], ModelSite["mode"]];
const SAFE: Modes = ["safe", "safe"];
/** A few seconds of work each, which a busy machine takes its time for. */
const PATIENCE_MS = 300_000;
const ALL: FaultModel = { flips: 3, crashes: 2, partitions: 1, forces: 0, cut: false };

function explore(modes: Modes, perils: FaultModel = ALL, protocol: Partial<Protocol> = {}): Exploration {
  const [one, other] = modes;
  const beginnings = [true, false].flatMap((running) => [
    [siteAtRest(one, "primary", running), siteAtRest(other, "secondary", false)] as const,
    [siteAtRest(one, "secondary", false), siteAtRest(other, "primary", running)] as const,
  ]);
  return new ExplorationOptions({ ...PROTOCOL, ...protocol }).explore(beginnings, perils, {
    always: perils.forces > 0 ? () => undefined : (left, right) => twoWriters(left, right) ?? tailLost(left, right),
    atLast: (left, right) =>
      twoWriters(left, right) ?? notAsWanted(left, right) ?? (perils.flips > 0 ? undefined : notAsForced(left, right)),
  });
}

function twoWriters(left: ModelSite, right: ModelSite): string | undefined {
  if (left.workloads.on && right.workloads.on) return "Two sites write";
  return left.mode === "safe" && right.mode === "safe" && left.volumes.on && right.volumes.on
    ? "The volumes of two sites are primary"
    : undefined;
}

function tailLost(left: ModelSite, right: ModelSite): string | undefined {
  const lost = [
    [left, right],
    [right, left],
  ].some(([site, other]) => site?.mode === "safe" && site.volumes.on && other?.ahead === true);
  return lost ? "The last writes are lost" : undefined;
}

function notAsWanted(left: ModelSite, right: ModelSite): string | undefined {
  if (left.policy.wants === "primary" && right.policy.wants === "primary") return undefined;
  const wrong = [left, right].find(({ policy: { wants, token }, volumes, workloads }) => {
    const primary = wants === "primary";
    return volumes.on !== primary || workloads.on !== primary || (token?.state === "Held") !== primary;
  });
  return wrong && "It came to rest, and not as it was wanted";
}

function notAsForced(left: ModelSite, right: ModelSite): string | undefined {
  const forced = [left, right].find(({ policy: { force } }) => force !== undefined);
  return forced && !forced.workloads.on ? "The site that was forced does not write" : undefined;
}

test.for<Modes>([SAFE, ["unsafe", "unsafe"], ["safe", "unsafe"]])(
  "for any crash, partition and role change two sites never write, and the desired roles are reached (%s and %s)",
  { timeout: PATIENCE_MS },
  (modes) => {
    const { states, violation } = explore(modes);
    console.log(`${modes.join(" and ")}: ${states} states explored`);
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(100_000);
  },
);

test("a site that reverses its switch twice leaves no late promotion", { timeout: PATIENCE_MS }, () => {
  for (const modes of [SAFE, ["unsafe", "unsafe"]] as const) {
    const { violation } = explore(modes, { flips: 4, crashes: 1, partitions: 0, forces: 0, cut: false });
    expect(violation).toBeUndefined();
  }
});

const took = (token: FailoverToken) => ({ ...nothing, take: token });
const FORCED: FaultModel = { flips: 0, crashes: 1, partitions: 1, forces: 1, cut: false };

test("after a force the forced site writes, and no other", { timeout: PATIENCE_MS }, () => {
  expect(explore(SAFE, FORCED).violation).toBeUndefined();
  const { states, violation } = explore(SAFE, { ...FORCED, flips: 1 });
  console.log(`with force: ${states} states explored`);
  expect(violation).toBeUndefined();
});

test("a protocol in which force takes only the next epoch is detected as wrong", { timeout: PATIENCE_MS }, () => {
  const { violation } = explore(SAFE, FORCED, {
    decide: (input) => {
      const decision = decideToken(input);
      return decision.forced === undefined ? decision : took(owned((input.policy.status?.token?.epoch ?? 0) + 1));
    },
  });
  expect(violation).toMatch(/^The site that was forced does not write:\n/);
});

const wantsMore = ({ policy: { spec, status } }: TokenInput): boolean => spec.desiredState === "primary" && status?.token?.state !== "Held";

test.for<[what: string, protocol: Partial<Protocol>]>([
  [
    "a release can be revoked",
    {
      decide: (input) => {
        const own = input.policy.status?.token;
        return wantsMore(input) && own ? took(owned(own.epoch)) : decideToken(input);
      },
    },
  ],
  ["tokens are written without a resourceVersion", { preconditions: false }],
  [
    "the token is taken before the other site is read",
    { decide: (input) => (wantsMore(input) ? took(owned((input.policy.status?.token?.epoch ?? 0) + 1)) : decideToken(input)) },
  ],
  [
    "a site starts because the other has no token and wants to be secondary",
    {
      decide: (input) => {
        const { peer: other } = input;
        const free = other.reachable && other.exists && !other.token && other.desiredState === "secondary";
        return wantsMore(input) && free && !input.policy.status?.token ? took(owned(1)) : decideToken(input);
      },
    },
  ],
  ["late writes of a dead controller are not fenced", { fences: false }],
])("a protocol in which %s is detected as wrong", { timeout: PATIENCE_MS }, ([, protocol]) => {
  const { violation } = explore(SAFE, { ...ALL, crashes: 1, partitions: 0 }, protocol);
  expect(violation).toMatch(/^(Two sites write|The volumes of two sites are primary):\n/);
});

test("a protocol that trusts the in-sync condition of the target loses the last writes of a switch back", { timeout: PATIENCE_MS }, () => {
  const { violation } = explore(
    SAFE,
    { flips: 4, crashes: 0, partitions: 0, forces: 0, cut: false },
    { decide: (input) => earlierRule(input) },
  );
  expect(violation).toMatch(/^The last writes are lost:\n/);
});
