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

type StatusFailure = NonNullable<FailoverStatus["failures"]>[number];

/** A status with the Error of these failures. */
function failing(...failures: StatusFailure[]): FailoverStatus {
  return { failures, conditions: conditions({ error: "see status.failures" }, failures[0]?.reason) };
}

const ofPolicy = (reason: string, message: string, field?: string): StatusFailure => ({
  kind: "FailoverPolicy",
  namespace: "shop",
  name: "shop",
  reason,
  message,
  ...(field !== undefined && { field }),
});

type Waiting = NonNullable<NonNullable<FailoverStatus["transition"]>["steps"][number]["waitingFor"]>;

function waitingFor(step: string, wait: Waiting): FailoverStatus {
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

test("a policy that is new, complete or switching has no problem", () => {
  const pod = {
    kind: "Pod",
    namespace: "shop",
    name: "db-0",
    message: "Pod shop/db-0 belongs to StatefulSet db and is terminating on node n1, by 2026-01-01T00:00:30Z at the latest",
    onTime: true,
    node: "n1",
  };
  expect(unhealthyIn(explain(policy()))).toEqual([]);
  expect(unhealthyIn(explain(policy({ summary: "This site is secondary", conditions: conditions({ complete: true }) })))).toEqual([]);
  expect(unhealthyIn(explain(policy(waitingFor("AwaitTermination", pod))))).toEqual([]);
});

test("a rejected policy is its own cause, with the field to change", () => {
  const statements = explain(policy(failing(ofPolicy("Invalid", "Deployment web is listed twice", "spec.managedResources[1]"))));
  expect(statements).toMatchObject([
    {
      health: "Down",
      reason: "Invalid",
      message: "spec.managedResources[1]: Deployment web is listed twice",
      since: T,
      ownFault: true,
      fix: { change: { field: "spec.managedResources[1]" } },
    },
  ]);
});

test("a status of an earlier version without failures makes the policy its own cause", () => {
  const error = "Deployment shop/web: Deployment does not exist; Deployment shop/api: Deployment does not exist";
  const statements = explain(policy({ conditions: conditions({ error }, "NotFound") }));
  expect(unhealthyIn(statements)).toEqual(["!Down FailoverPolicy/shop/shop NotFound"]);
  expect(statements[0]?.message).toBe(error);
});

test("each blocking resource is a cause", () => {
  const statements = explain(
    policy(
      failing(
        {
          kind: "VolumeReplication",
          namespace: "shop",
          name: "data",
          field: "spec.managedResources[0]",
          reason: "VolumeError",
          message: "VolumeReplication data not in desired state: Completed is False (FailedToDemote): busy; try later",
        },
        { kind: "Deployment", namespace: "shop", name: "web", reason: "NotFound", message: "Deployment does not exist" },
      ),
    ),
  );
  expect(unhealthyIn(statements)).toEqual([
    "!Down VolumeReplication/shop/data VolumeError",
    "!Down Deployment/shop/web NotFound",
    "Down FailoverPolicy/shop/shop VolumeError",
  ]);
  expect(statements[0]?.message).toMatch(/^spec\.managedResources\[0\]: VolumeReplication data not in desired state: /);
  expect(statements.at(-1)?.message).toMatch(/^VolumeReplication shop\/data: spec\.managedResources\[0\]: /);
  expect(dependenciesOf(statements, "FailoverPolicy/shop/shop")).toEqual([
    "Controller/plumbline",
    "VolumeReplication/shop/data",
    "Deployment/shop/web",
  ]);
});

test("a switch that waits for a terminating pod depends on the pod, and the pod on its node", () => {
  const message =
    "Pod shop/db-0 belongs to StatefulSet db and should have ended by 2026-01-01T00:00:00Z on node n1; if that node is off, taint it";
  const wait = { kind: "Pod", namespace: "shop", name: "db-0", node: "n1", message };
  const statements = explain(policy(waitingFor("AwaitTermination", wait)));
  expect(unhealthyIn(statements)).toEqual(["Degraded Pod/shop/db-0 Waiting", "Degraded FailoverPolicy/shop/shop AwaitTermination"]);
  expect(dependenciesOf(statements, "Pod/shop/db-0")).toEqual(["Agent/n1", "Node/n1"]);
  expect(statements[0]?.since).toBe(LATER);
});

test("a switch that waits for a running pod depends on the pod", () => {
  const message = "Pod shop/db-0 belongs to StatefulSet db and runs on node n1";
  const statements = explain(policy(waitingFor("AwaitTermination", { kind: "Pod", namespace: "shop", name: "db-0", message })));
  expect(unhealthyIn(statements)).toEqual(["Degraded Pod/shop/db-0 Waiting", "Degraded FailoverPolicy/shop/shop AwaitTermination"]);
});

test("a switch that waits for a volume depends on the volume", () => {
  const message = "VolumeReplication data not in desired state: it is Primary";
  const statements = explain(policy(waitingFor("AwaitVolumes", { kind: "VolumeReplication", namespace: "shop", name: "data", message })));
  expect(unhealthyIn(statements)).toEqual([
    "Degraded VolumeReplication/shop/data Waiting",
    "Degraded FailoverPolicy/shop/shop AwaitVolumes",
  ]);
});

test("a switch depends on an object that cannot be read, and not on one that is within its usual time", () => {
  const wait = {
    kind: "HorizontalPodAutoscaler",
    namespace: "shop",
    name: "*",
    message: "HorizontalPodAutoscaler objects cannot be listed",
  };
  expect(unhealthyIn(explain(policy(waitingFor("ScaleDown", { ...wait, unread: true }))))).toEqual([
    "Degraded HorizontalPodAutoscaler/shop/* Waiting",
    "Degraded FailoverPolicy/shop/shop ScaleDown",
  ]);
  expect(unhealthyIn(explain(policy(waitingFor("ScaleDown", wait))))).toEqual([]);
});

const peer = { kubeconfigSecret: { name: "other", key: "kubeconfig" } };

test("an unreachable other site is the cause, with a worse health while this site waits for it", () => {
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

test("the fix for two desired primaries is to change the other site", () => {
  const wait = {
    kind: "FailoverPolicy",
    namespace: "shop",
    name: "shop",
    message: "Both sites want to be primary; set desiredState secondary at the other one",
  };
  const status = { ...waitingFor("TakeToken", wait), peer: { reachable: true, desiredState: "primary" } };
  expect(unhealthyIn(explain(policy(status, { peer, desiredState: "primary" })))[0]).toBe("Down Site/shop/other PeerWantsPrimary");
});

const notReady = (...failures: StatusFailure[]): FailoverStatus => ({
  currentState: "secondary",
  failures,
  conditions: [
    ...conditions({ complete: true }, "Complete"),
    { ...condition("Ready", false, failures[0]?.reason ?? "", "see status.failures"), lastTransitionTime: LATER },
  ],
});

test("a site that works but could not be switched is Degraded, with each reason and its fix", () => {
  const copy = "It was last copied more than 15m ago (spec.maxCopyAge); check the storage's replication";
  const fence = "This cluster does not serve kind NetworkFence; install csi-addons, or remove spec.fence";
  const statements = explain(
    policy(
      notReady(
        { kind: "VolumeReplication", namespace: "shop", name: "data", reason: "CopyTooOld", message: copy },
        ofPolicy("KindNotInstalled", fence, "spec.fence"),
      ),
    ),
  );
  expect(unhealthyIn(statements)).toEqual([
    "!Degraded VolumeReplication/shop/data CopyTooOld",
    "!Degraded FailoverPolicy/shop/shop KindNotInstalled",
  ]);
  expect(statements[0]).toMatchObject({ since: LATER, fix: { text: "check the storage's replication to the other site" } });
  expect(statements.at(-1)).toMatchObject({ message: `spec.fence: ${fence}`, fix: { text: "change spec.fence" }, since: LATER });
});

test("an unreachable other site is reported once, and unobserved state is no problem", () => {
  const unreachable = { reachable: false, message: "connect ECONNREFUSED" };
  const message = "The other site's policy cannot be used: connect ECONNREFUSED; check the site, the network and Secret other";
  const failure = ofPolicy("PeerUnreachable", message, "spec.peer");
  const statements = explain(policy({ ...notReady(failure), peer: unreachable }, { peer }));
  expect(unhealthyIn(statements)).toEqual(["Unknown Site/shop/other PeerUnreachable", "Degraded FailoverPolicy/shop/shop PeerUnreachable"]);
  const status = notReady(ofPolicy("NotObserved", "csi-addons does not report condition Replicating"));
  const unknown = status.conditions?.map((one) => (one.type === "Ready" ? { ...one, status: "Unknown" as const } : one));
  expect(unhealthyIn(explain(policy({ ...status, ...(unknown && { conditions: unknown }) })))).toEqual([]);
});

test("an application that does not become available is the cause, with what to check", () => {
  const message = "1 of 3 replicas are available, 10m after the volumes were writable; check its pods and their Events";
  const failure = { kind: "Deployment", namespace: "shop", name: "web", reason: "NotAvailable", message };
  const statements = explain(policy(failing(failure), { desiredState: "primary" }));
  expect(unhealthyIn(statements)).toEqual(["!Down Deployment/shop/web NotAvailable", "Down FailoverPolicy/shop/shop NotAvailable"]);
  expect(statements[0]?.fix?.text).toContain("check its pods, Events and conditions");
});

test.each([
  ["PeerRemoved", "spec.peer", "This site released epoch 6 to another site, and spec.peer is gone", "failover forget-peer"],
  ["RevertedByOwner", "spec.desiredState", "kustomize-controller set it to primary", "set the role in Git"],
  ["VolumeMismatch", "spec.managedResources", "The policy at the other site names VolumeReplication logs", "the same volumes"],
  ["SplitBrain", undefined, "The other site holds epoch 5", "set desiredState secondary"],
  ["Invalid", "spec.maxCopyAge", 'maxCopyAge is "soon"', "change spec.maxCopyAge"],
])("a policy with Error %s has a fix", (reason, field, message, fix) => {
  const statements = explain(policy(failing(ofPolicy(reason, message, field))));
  expect(unhealthyIn(statements)).toEqual([`!Down FailoverPolicy/shop/shop ${reason}`]);
  expect(statements[0]?.fix?.text).toContain(fix);
});

test("a wrong spec.peer makes the policy the cause, not the other site", () => {
  const message = "Secret shop/west of spec.peer has no key kubeconfig";
  const field = "spec.peer.kubeconfigSecret.key";
  const status: FailoverStatus = { ...failing(ofPolicy("PeerInvalid", message, field)), peer: { reachable: false, message, field } };
  const statements = unhealthyIn(explain(policy(status, { peer: { kubeconfigSecret: { name: "west", key: "kubeconfig" } } })));
  expect(statements).toEqual(["!Down FailoverPolicy/shop/shop PeerInvalid"]);
});

test("a volume that is being copied is a problem only after its usual time", () => {
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
