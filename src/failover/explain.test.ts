import { expect, test } from "vitest";
import { FailoverPolicy, type FailoverStatus } from "../api/failover/failover-policy.ts";
import type { Condition } from "../api/kind.ts";
import { dependenciesOf, statementsFrom, unhealthyIn } from "../api/testing/fake-reader.ts";
import { edges } from "./explain.ts";

const T = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T00:01:00Z";

const condition = (type: string, isSo: boolean, reason: string, message = ""): Condition => ({
  type,
  status: isSo ? "True" : "False",
  reason,
  message,
  lastTransitionTime: T,
});

function policy(status?: FailoverStatus, spec: Partial<FailoverPolicy["spec"]> = {}): FailoverPolicy {
  return { metadata: { name: "shop", namespace: "shop" }, spec: { desiredState: "secondary", ...spec }, ...(status && { status }) };
}

const explain = (one: FailoverPolicy) => statementsFrom(edges(), [FailoverPolicy, one]);

function conditions({ complete = false, inProgress = false, error = "" }, reason = "AwaitTermination"): Condition[] {
  return [
    condition("Complete", complete, reason),
    condition("InProgress", inProgress, reason),
    condition("Error", error !== "", reason, error),
  ];
}

function waitingFor(
  step: string,
  wait: { kind: string; name: string; namespace?: string; message: string; onTime?: boolean },
): FailoverStatus {
  return {
    summary: `Switching to secondary: ${step}, waiting for ${wait.kind} ${wait.name}`,
    conditions: conditions({ inProgress: true }, step),
    transition: {
      to: "secondary",
      mode: "safe",
      generation: 2,
      startTime: T,
      steps: [
        { name: "ScaleDown", state: "Done" },
        { name: step, state: "Waiting", waitingFor: { ...wait, since: LATER } },
      ],
    },
  };
}

test("nothing is wrong with a policy that is new, complete, or on its way", () => {
  const pod = {
    kind: "Pod",
    namespace: "shop",
    name: "db-0",
    message: "Pod shop/db-0 belongs to StatefulSet db and is terminating on node n1, by 2026-01-01T00:00:30Z at the latest",
  };
  expect(unhealthyIn(explain(policy()))).toEqual([]);
  expect(unhealthyIn(explain(policy({ summary: "This site is secondary", conditions: conditions({ complete: true }) })))).toEqual([]);
  expect(unhealthyIn(explain(policy(waitingFor("AwaitTermination", pod))))).toEqual([]);
});

test("a policy that is refused is to blame itself, with the field to change", () => {
  const said = explain(
    policy({ conditions: conditions({ error: "spec.managedResources[1]: Deployment web is listed twice" }, "Invalid") }),
  );
  expect(said).toMatchObject([
    { health: "Down", reason: "Invalid", since: T, ownFault: true, fix: { change: { field: "spec.managedResources[1]" } } },
  ]);
});

test("a resource that is in the way is the cause, each of several", () => {
  const error =
    "VolumeReplication shop/data: VolumeReplication data not in desired state: Completed is False (FailedToDemote): busy; try later; Deployment shop/web: Deployment does not exist";
  const said = explain(policy({ conditions: conditions({ error }, "VolumeError") }));
  expect(unhealthyIn(said)).toEqual([
    "!Down VolumeReplication/shop/data VolumeError",
    "!Down Deployment/shop/web VolumeError",
    "Down FailoverPolicy/shop/shop VolumeError",
  ]);
  expect(dependenciesOf(said, "FailoverPolicy/shop/shop")).toEqual([
    "Controller/plumbline",
    "VolumeReplication/shop/data",
    "Deployment/shop/web",
  ]);
});

test("a pod that should have ended is what a switch waits for, and needs its node", () => {
  const message =
    "Pod shop/db-0 belongs to StatefulSet db and should have ended by 2026-01-01T00:00:00Z on node n1; if that node is off, taint it";
  const said = explain(policy(waitingFor("AwaitTermination", { kind: "Pod", namespace: "shop", name: "db-0", message })));
  expect(unhealthyIn(said)).toEqual(["Degraded Pod/shop/db-0 Waiting", "Degraded FailoverPolicy/shop/shop AwaitTermination"]);
  expect(dependenciesOf(said, "Pod/shop/db-0")).toEqual(["Agent/n1", "Node/n1"]);
  expect(said[0]?.since).toBe(LATER);
});

test("a pod that is not being deleted is what a switch waits for", () => {
  const message = "Pod shop/db-0 belongs to StatefulSet db and runs on node n1";
  const said = explain(policy(waitingFor("AwaitTermination", { kind: "Pod", namespace: "shop", name: "db-0", message })));
  expect(unhealthyIn(said)).toEqual(["Degraded Pod/shop/db-0 Waiting", "Degraded FailoverPolicy/shop/shop AwaitTermination"]);
});

test("a volume that does not arrive is what a switch waits for", () => {
  const message = "VolumeReplication data not in desired state: it is Primary";
  const said = explain(policy(waitingFor("AwaitVolumes", { kind: "VolumeReplication", namespace: "shop", name: "data", message })));
  expect(unhealthyIn(said)).toEqual(["Degraded VolumeReplication/shop/data Waiting", "Degraded FailoverPolicy/shop/shop AwaitVolumes"]);
});

const peer = { kubeconfigSecret: { name: "other", key: "kubeconfig" } };

test("another site that cannot be asked is the cause, worse while this one waits for it", () => {
  const unreachable = { reachable: false, message: "connect ECONNREFUSED" };
  const resting = explain(policy({ conditions: conditions({ complete: true }), peer: unreachable }, { peer }));
  expect(unhealthyIn(resting)).toEqual(["Unknown Site/shop/other PeerUnreachable", "Degraded FailoverPolicy/shop/shop PeerUnreachable"]);
  const wait = {
    kind: "FailoverPolicy",
    namespace: "shop",
    name: "shop",
    message: "Cannot read the other site's token: connection refused",
  };
  const waiting = explain(policy({ ...waitingFor("TakeToken", wait), peer: unreachable }, { peer, desiredState: "primary" }));
  expect(unhealthyIn(waiting)).toEqual(["Down Site/shop/other PeerUnreachable", "Degraded FailoverPolicy/shop/shop PeerUnreachable"]);
});

test("another site that wants to be primary too is told to change", () => {
  const wait = {
    kind: "FailoverPolicy",
    namespace: "shop",
    name: "shop",
    message: "Both sites want to be primary; set desiredState secondary at the other one",
  };
  const status = { ...waitingFor("TakeToken", wait), peer: { reachable: true, desiredState: "primary" } };
  expect(unhealthyIn(explain(policy(status, { peer, desiredState: "primary" })))[0]).toBe("Down Site/shop/other PeerWantsPrimary");
});

const notReady = (reason: string, message: string): FailoverStatus => ({
  currentState: "secondary",
  conditions: [...conditions({ complete: true }, "Complete"), { ...condition("Ready", false, reason, message), lastTransitionTime: LATER }],
});

test("a site that works but could not be switched is Degraded, with each reason and its fix", () => {
  const copy = "VolumeReplication shop/data: It was last copied more than 15m ago (spec.maxCopyAge); check the storage's replication";
  const fence = "spec.fence: This cluster does not serve kind NetworkFence; install csi-addons, or remove spec.fence";
  const said = explain(policy(notReady("CopyTooOld", `${copy}; ${fence}`)));
  expect(unhealthyIn(said)).toEqual(["!Degraded VolumeReplication/shop/data CopyTooOld", "!Degraded FailoverPolicy/shop/shop CopyTooOld"]);
  expect(said[0]).toMatchObject({ since: LATER, fix: { text: "check the storage's replication to the other site" } });
  expect(said.at(-1)).toMatchObject({ message: fence, fix: { text: "change spec.fence" }, since: LATER });
});

test("another site that does not answer is told once, and what was not observed is no trouble", () => {
  const unreachable = { reachable: false, message: "connect ECONNREFUSED" };
  const message = "spec.peer: The other site's policy cannot be used: connect ECONNREFUSED; check the site, the network and Secret other";
  const said = explain(policy({ ...notReady("PeerUnreachable", message), peer: unreachable }, { peer }));
  expect(unhealthyIn(said)).toEqual(["Unknown Site/shop/other PeerUnreachable", "Degraded FailoverPolicy/shop/shop PeerUnreachable"]);
  const status = notReady("NotObserved", "VolumeReplication shop/data: csi-addons does not report condition Replicating");
  const unknown = status.conditions?.map((one) => (one.type === "Ready" ? { ...one, status: "Unknown" as const } : one));
  expect(unhealthyIn(explain(policy({ ...status, ...(unknown && { conditions: unknown }) })))).toEqual([]);
});

test("an application that does not become available is the cause, with what to check", () => {
  const error = "Deployment shop/web: 1 of 3 replicas are available, 10m after the volumes were writable; check its pods and their Events";
  const said = explain(policy({ conditions: conditions({ error, inProgress: true }, "NotAvailable") }, { desiredState: "primary" }));
  expect(unhealthyIn(said)).toEqual(["!Down Deployment/shop/web NotAvailable", "Down FailoverPolicy/shop/shop NotAvailable"]);
  expect(said[0]?.fix?.text).toContain("check its pods, Events and conditions");
});

test.each([
  ["PeerRemoved", "spec.peer: This site released epoch 6 to another site, and spec.peer is gone", "failover forget-peer"],
  ["RevertedByOwner", "spec.desiredState: kustomize-controller set it to primary", "set the role in Git"],
  ["VolumeMismatch", "spec.managedResources: The policy at the other site names VolumeReplication logs", "the same volumes"],
  ["SplitBrain", "The other site holds epoch 5", "set desiredState secondary"],
  ["Invalid", 'spec.maxCopyAge: maxCopyAge is "soon"', "change spec.maxCopyAge"],
])("a policy with the Error %s says what to do", (reason, error, words) => {
  const said = explain(policy({ conditions: conditions({ error }, reason) }));
  expect(unhealthyIn(said)).toEqual([`!Down FailoverPolicy/shop/shop ${reason}`]);
  expect(said[0]?.fix?.text).toContain(words);
});

test("a wrong spec.peer is the policy's own fault, and the other site is not blamed", () => {
  const message = "spec.peer.kubeconfigSecret.key: Secret shop/west of spec.peer has no key kubeconfig; its keys: config";
  const status: FailoverStatus = {
    conditions: [...conditions({ error: message }, "PeerInvalid"), condition("Ready", false, "PeerInvalid", message)],
    peer: { reachable: false, message: "Secret shop/west of spec.peer has no key kubeconfig", field: "spec.peer.kubeconfigSecret.key" },
  };
  const said = unhealthyIn(explain(policy(status, { peer: { kubeconfigSecret: { name: "west", key: "kubeconfig" } } })));
  expect(said).toEqual(["!Down FailoverPolicy/shop/shop PeerInvalid"]);
});

test("a volume that is being copied is no fault while the controller says that it is on time, and one afterwards", () => {
  const volume = {
    kind: "VolumeReplication",
    namespace: "shop",
    name: "data",
    message: "VolumeReplication data is not copied yet: Degraded is True",
  };
  expect(unhealthyIn(explain(policy(waitingFor("AwaitCopy", { ...volume, onTime: true }))))).toEqual([]);
  const late = explain(policy(waitingFor("AwaitCopy", volume)));
  expect(unhealthyIn(late)).toEqual(["Degraded VolumeReplication/shop/data Waiting", "Degraded FailoverPolicy/shop/shop AwaitCopy"]);
  const fix = late.find(({ component }) => component.kind === "VolumeReplication")?.fix;
  expect(fix?.text).toContain("check the replication link between the storages");
});
