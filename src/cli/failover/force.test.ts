import { expect, test } from "vitest";
import type { FailoverStatus } from "../../api/failover/failover-policy.ts";
import type { PeerView } from "../../failover/token/token.ts";
import { decideForce } from "./force.ts";
import { ago, NOW, policy } from "../testing/failover-fixtures.ts";

const peer = { kubeconfigSecret: { name: "other", key: "kubeconfig" } };
const { signal } = new AbortController();

function decided(view: PeerView, status: FailoverStatus = {}, evenThoughItAnswers = false) {
  const { metadata, ...rest } = policy({ desiredState: "secondary", peer }, { token: { epoch: 4, state: "Released" }, ...status });
  const peers = { ask: () => Promise.resolve(view) };
  const asking = { ...rest, metadata: { ...metadata, uid: "u-1" } };
  return decideForce(asking, { reason: "it burnt down", evenThoughItAnswers, peers, now: new Date(NOW), signal });
}

const holding: PeerView = { reachable: true, exists: true, desiredState: "primary", token: { epoch: 5, state: "Held" } };
const silent: PeerView = { reachable: false, message: "connection refused" };

test("force names the reason, the epoch and the policy that it is for", async () => {
  const { force, rejections } = await decided(silent);
  expect(force).toEqual({ reason: "it burnt down", epoch: 4, uid: "u-1" });
  expect(rejections).toEqual([]);
});

test("force is rejected while the other site answers and holds the token", async () => {
  const { rejections } = await decided(holding);
  expect(rejections).toMatchObject([{ kind: "FailoverPolicy", reason: "Refused", field: "spec.force", class: "Permanent" }]);
  expect(rejections[0]?.message).toBe(
    "The other site answers: token Held, epoch 5, desiredState primary. It may still write. Stop it there first: plumbline failover switch web -n shop --to secondary --context OTHER; then repeat this without --force. To force anyway: --even-though-it-answers",
  );
  expect((await decided(holding, {}, true)).rejections).toEqual([]);
});

test("force has no effect for a site that holds the token, unless the other holds a higher epoch", async () => {
  const token = { epoch: 6, state: "Held" as const };
  expect(await decided(silent, { token })).toEqual({ notes: ["This site already holds epoch 6: --force has no effect"], rejections: [] });
  expect((await decided({ ...holding, token: { epoch: 5, state: "Held" } }, { token })).force).toBeUndefined();
  expect((await decided({ ...holding, token: { epoch: 7, state: "Held" } }, { token }, true)).force).toMatchObject({ epoch: 6 });
});

test("a site restored from a backup can be forced although it holds the token: the token may be outdated", async () => {
  const token = { epoch: 2, state: "Held" as const };
  const view: PeerView = {
    ...holding,
    desiredState: "secondary",
    token: { epoch: 5, state: "Released" },
    observedToken: { epoch: 6, state: "Released" },
  };
  expect(await decided(view, { token })).toMatchObject({ force: { epoch: 2, uid: "u-1" }, rejections: [] });
});

test("force is rejected while the other site switches to secondary", async () => {
  const { rejections } = await decided({ ...holding, desiredState: "secondary" });
  expect(rejections[0]?.message).toContain("It is on its way to secondary: leave out --force and wait for its release");
});

test("without permission to read the Secret, uses the controller's last read and prints its age", async () => {
  const read = { reachable: true, desiredState: "primary", token: { epoch: 5, state: "Held" as const }, lastAnswerTime: ago(12) };
  const { rejections } = await decided(silent, { peer: read });
  expect(rejections[0]?.message).toContain(
    "Cannot read the other site from here: connection refused. The controller read it, 12s ago: token Held, epoch 5. It may still write. If it is gone, the controller notices within 20s: retry then.",
  );
  expect((await decided(silent, { peer: { ...read, reachable: false } })).rejections).toEqual([]);
});

test.for<[string, PeerView]>([
  ["has released", { reachable: true, exists: true, desiredState: "secondary", token: { epoch: 5, state: "Released" } }],
  ["has no such policy", { reachable: true, exists: false }],
])("force is allowed if the other site %s", async ([, view]) => {
  expect((await decided(view)).rejections).toEqual([]);
});

test("prints the expected loss before a force, also when it is unknown", async () => {
  const { notes } = await decided(silent, { peer: { reachable: false, lastSyncTime: ago(300) } });
  expect(notes.join("\n")).toContain("Lost by force: The copy here was made at 2026-11-16T11:55:00Z, 300 s ago. ");
  expect((await decided(silent)).notes.join("\n")).toContain(
    "Lost by force: Unknown: the other site has never reported when its volumes were last copied",
  );
});
