import { expect, test } from "vitest";
import type { FailoverToken } from "../../api/failover/failover-policy.ts";
import type { PeerView } from "../../failover/token/token.ts";
import { whyNot } from "./forget-peer.ts";
import { policy } from "../testing/failover-fixtures.ts";

const there = (token?: FailoverToken, desiredState: "primary" | "secondary" = "secondary"): PeerView => ({
  reachable: true,
  exists: true,
  desiredState,
  ...(token && { token }),
});
const silent: PeerView = { reachable: false, message: "connection refused" };
const none: PeerView = { reachable: true, exists: false };
const owned = (epoch: number): FailoverToken => ({ epoch, state: "Held" });
const released = (epoch: number): FailoverToken => ({ epoch, state: "Released" });

const blocker = (own: FailoverToken | undefined, view: PeerView | undefined, otherSiteIsGone = false) =>
  whyNot(policy({ desiredState: own?.state === "Held" ? "primary" : "secondary" }, own ? { token: own } : {}), view, { otherSiteIsGone });

test.for<[string, FailoverToken, PeerView | undefined]>([
  ["the other has released", owned(3), there(released(2))],
  ["the other does not answer", owned(3), silent],
  ["the other has no policy", owned(3), none],
  ["spec.peer is gone", owned(3), undefined],
  ["the other holds an older epoch", owned(5), there(owned(3))],
])("a site that holds the token may forget its peer: %s", ([, own, view]) => {
  expect(blocker(own, view)).toBeUndefined();
});

test.for([false, true])(
  "a site must not forget its peer while that holds the same or a higher epoch (--other-site-is-gone: %s)",
  (gone) => {
    expect(blocker(owned(3), there(owned(5), "primary"), gone)).toContain("the other site holds epoch 5 and may write");
    expect(blocker(released(3), there(owned(4), "primary"), gone)).toContain("the other site holds epoch 4 and may write");
    expect(blocker(undefined, there(owned(1), "primary"), gone)).toContain("the other site holds epoch 1 and may write");
  },
);

test("a site that has released needs an answer of the other one, or --other-site-is-gone", () => {
  expect(blocker(released(3), there(released(2)))).toBeUndefined();
  expect(blocker(released(3), none)).toBeUndefined();
  expect(blocker(released(3), silent)).toBe(
    "its token is Released, and the other site does not answer: connection refused. If the other site will never write again, add --other-site-is-gone",
  );
  expect(blocker(released(3), undefined)).toContain("spec.peer is gone, so the other site cannot be read");
  expect(blocker(undefined, silent)).toContain("its token is not there yet");
  for (const view of [silent, undefined]) expect(blocker(released(3), view, true)).toBeUndefined();
});

test("a site that has released and wants to be primary is rejected, since it would start at once", () => {
  const wanting = policy({ desiredState: "primary" }, { token: released(3) });
  expect(whyNot(wanting, none, { otherSiteIsGone: true })).toContain(
    "Switch it to secondary first: plumbline failover switch web -n shop --to secondary",
  );
});

test("is rejected while the other site may take the released token", () => {
  expect(blocker(released(3), there(released(2), "primary"))).toContain("may take the token at any time");
});
