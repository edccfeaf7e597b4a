import { claims } from "../claims.ts";
import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

/** The kinds that a policy can switch. */
export const MANAGED_KINDS = [
  "VolumeReplication",
  "Deployment",
  "StatefulSet",
  "CronJob",
  "VirtualService",
  "HelmRelease",
  "Kustomization",
  "Application",
  "VolumeGroupReplication",
] as const;
export type ManagedKind = (typeof MANAGED_KINDS)[number];

const name = (doc: string) => s.string({ doc, minLength: 1, maxLength: 253 });
const namespace = () => s.optional(s.string({ doc: "Its namespace. Default: the namespace of the policy.", minLength: 1, maxLength: 63 }));
const kind = () => s.enum(MANAGED_KINDS, { doc: "Its kind." });
const count = (doc: string) => s.int({ doc, minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const text = (doc: string) => s.string({ doc, maxLength: 4096 });
// Each of these times is a result, so a change of it alone is written.
const moment = (doc: string) => s.time({ doc, significant: true });
const role = (doc: string) => s.enum(["primary", "secondary"], { doc });

const legacy = (what: string) =>
  s.optional(
    s.list(s.object({ name: name("Its name."), namespace: namespace() }, { doc: `One ${what}.` }), {
      doc: `Deprecated, use managedResources: each ${what} that belongs to the site.`,
      maxItems: 1024,
    }),
  );

const token = (doc: string) =>
  s.object(
    {
      epoch: s.int({ doc: "The number of the takeover; it only grows.", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
      state: s.enum(["Held", "Released"], {
        doc: "Held: writers may run here. Released: they may not, until a higher epoch is taken; a release is never taken back.",
      }),
      copied: s.optional(
        s.bool({
          doc: "With Released: every volume of this site was fully copied to the other site and has not been promoted here since.",
        }),
      ),
      forced: s.optional(text("The reason for taking it without the other site's release.")),
    },
    { doc },
  );

const step = () =>
  s.object(
    {
      name: s.string({ doc: "The name of the step.", minLength: 1, maxLength: 63 }),
      state: s.enum(["Pending", "Running", "Waiting", "Done"], {
        doc: "Pending: earlier steps come first. Running: it writes. Waiting: it has written and waits for the result. Done: the result was observed.",
      }),
      startTime: s.optional(moment("When it began.")),
      completionTime: s.optional(moment("When its result was observed.")),
      waitingFor: s.optional(
        s.object(
          {
            kind: s.string({ doc: "The kind of the object that the step waits for.", maxLength: 63 }),
            name: s.string({ doc: "The name of the object.", maxLength: 253 }),
            namespace: s.optional(s.string({ doc: "The namespace of the object.", maxLength: 63 })),
            message: text("What the step waits for."),
            others: s.optional(count("How many more objects the step waits for.")),
            since: s.optional(moment("When the wait began.")),
            onTime: s.optional(
              s.bool({
                doc: "True while the step is within its usual time, or the pod within its grace period. Absent afterwards, and for steps without a usual time.",
              }),
            ),
            node: s.optional(s.string({ doc: "The node of the object.", maxLength: 253 })),
            unread: s.optional(s.bool({ doc: "True if the object cannot be read." })),
          },
          { doc: "What the step waits for." },
        ),
      ),
    },
    { doc: "One step of the switch." },
  );

const transition = {
  to: role("The role that the switch leads to."),
  mode: s.enum(["safe", "unsafe"], { doc: "With safe each step waits for the steps that it depends on; with unsafe it does not." }),
  generation: count("The metadata.generation of the policy that requested it."),
  startTime: moment("When it began."),
  completionTime: s.optional(moment("When the switch was complete.")),
  lastSyncTime: s.optional(moment("The oldest lastSyncTime of the volumes before they were demoted.")),
  writesStoppedTime: s.optional(moment("When the last writer was gone.")),
  volumesWritableTime: s.optional(moment("When every volume was primary here. completionTime is when the application was available.")),
  forced: s.optional(text("The reason for taking over without the other site's release.")),
};

const resource = {
  name: name("The name of the resource."),
  namespace: s.optional(s.string({ doc: "The namespace of the resource.", maxLength: 63 })),
  state: s.optional(s.string({ doc: "Its last observed state.", maxLength: 63 })),
  error: s.optional(text("What is wrong, or not finished yet.")),
  message: s.optional(text("Details: which pods, which objects.")),
  lastUpdateTime: s.optional(moment("When the state last changed.")),
};

export const FailoverPolicy = defineKind({
  group: "crd.hahomelabs.com",
  version: "v1alpha1",
  kind: "FailoverPolicy",
  plural: "failoverpolicies",
  scope: "Namespaced",
  shortNames: ["fop"],
  categories: ["plumbline"],
  doc: "Makes this cluster the primary or the secondary site of an application. Switches its volumes, workloads, Flux objects and DNS in an order that keeps the data.",
  columns: [
    { name: "Desired", path: ".spec.desiredState", type: "string", doc: "The role that this site should have." },
    { name: "Current", path: ".status.currentState", type: "string", doc: "The observed role of this site." },
    { name: "Complete", path: '.status.conditions[?(@.type=="Complete")].status', type: "string", doc: "Whether the switch is complete." },
    { name: "Error", path: '.status.conditions[?(@.type=="Error")].status', type: "string", doc: "Whether there is an error." },
    {
      name: "Ready",
      path: '.status.conditions[?(@.type=="Ready")].status',
      type: "string",
      doc: "Whether the site can be switched.",
    },
    { name: "Where", path: ".status.summary", type: "string", doc: "The current step, and what it waits for." },
    { name: "Mode", path: ".status.mode", type: "string", doc: "safe or unsafe.", wide: true },
    { name: "Token", path: ".status.token.state", type: "string", doc: "Whether writers may run here.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  spec: s.object(
    {
      desiredState: role("The role that this site should have."),
      mode: s.optional(
        s.string({
          doc: "With on or safe (default), every step waits for the steps that it depends on. With off or unsafe, all steps run at once, and data can be lost. Case does not matter.",
          maxLength: 6,
          pattern: "^([oO][nN]|[oO][fF][fF]|[sS][aA][fF][eE]|[uU][nN][sS][aA][fF][eE])$",
        }),
      ),
      managedResources: s.optional(
        s.list(
          s.object(
            {
              kind: kind(),
              name: name("Its name."),
              namespace: namespace(),
              apiGroup: s.optional(s.string({ doc: "Accepted and ignored: the kind determines the group.", maxLength: 253 })),
            },
            { doc: "One resource that belongs to the site." },
          ),
          { doc: "The resources that are switched with the site.", maxItems: 1024 },
        ),
      ),
      volumeReplications: legacy("VolumeReplication"),
      virtualServices: legacy("VirtualService"),
      deployments: legacy("Deployment"),
      statefulSets: legacy("StatefulSet"),
      cronJobs: legacy("CronJob"),
      helmReleases: legacy("HelmRelease"),
      kustomizations: legacy("Kustomization"),
      peer: s.optional(
        s.object(
          {
            kubeconfigSecret: s.object(
              {
                name: name("The Secret, in the namespace of the policy."),
                key: s.default(s.string({ doc: "The key of the kubeconfig in the Secret.", minLength: 1, maxLength: 253 }), "kubeconfig"),
              },
              { doc: "The kubeconfig for the other cluster. It is used only to read the policy there." },
            ),
            name: s.optional(name("The name of the policy there. Default: the name of this policy.")),
            namespace: s.optional(
              s.string({ doc: "The namespace of the policy there. Default: the namespace of this policy.", minLength: 1, maxLength: 63 }),
            ),
          },
          { doc: "The policy of the other site. With it, this site becomes primary only after the other site has released its token." },
        ),
      ),
      force: s.optional(
        s.object(
          {
            reason: s.string({ doc: "The reason. It is recorded in the status.", minLength: 1, maxLength: 1024 }),
            epoch: s.int({
              doc: "The epoch in status.token that the force applies to. It has no effect on a later epoch.",
              minimum: 0,
              maximum: Number.MAX_SAFE_INTEGER,
            }),
            uid: s.optional(
              s.string({
                doc: "The metadata.uid of this policy. Without it, or with another uid, force has no effect, so a policy that is recreated from Git does not force again.",
                maxLength: 128,
              }),
            ),
          },
          { doc: "Become primary without the other site's release, because it has stopped writing." },
        ),
      ),
      wave: s.optional(
        s.int({
          doc: "The wave in which `failover switch --all` switches this policy: on the way to primary 0 is first, on the way to secondary 0 is last.",
          minimum: 0,
          maximum: 1000,
        }),
      ),
      maxCopyAge: s.optional(
        s.duration({
          doc: "The maximum age of the copy at the other site, such as 15m or 1h30m. Condition Ready is False when the copy is older.",
        }),
      ),
      availableWithin: s.optional(
        s.duration({
          doc: "How long workloads and GitOps objects may take to become available on the way to primary. Longer is an error. Default: 10m.",
        }),
      ),
      settleTime: s.optional(
        s.duration({
          doc: "How long to wait after the last pod is gone before a volume is demoted, if its CSI driver has no VolumeAttachments. Default: 30s.",
        }),
      ),
      fence: s.optional(
        s.object(
          {
            networkFenceClassName: name("The NetworkFenceClass of csi-addons."),
            cidrs: s.list(s.string({ doc: "One address range.", minLength: 1, maxLength: 64 }), {
              doc: "The addresses of the other site's nodes, as the storage sees them.",
              minItems: 1,
              maxItems: 256,
            }),
          },
          { doc: "Fence the other site's nodes at the storage before a forced promotion. For storage that both sites share." },
        ),
      ),
    },
    { doc: "The desired state." },
  ),
  status: s.object(
    {
      observedGeneration: s.optional(count("The metadata.generation that this status describes.")),
      currentState: s.optional(
        s.enum(["primary", "secondary", "mixed", "unknown"], {
          doc: "The observed role of the site, from its volumes and workloads. mixed: some of each. unknown: not everything could be read.",
        }),
      ),
      mode: s.optional(s.enum(["safe", "unsafe"], { doc: "The mode in effect." })),
      summary: s.optional(text("The current state in one sentence.")),
      workloadStatus: s.optional(text("How many workloads and Flux objects have reached the desired state.")),
      conditions: s.optional(
        s.conditions({ doc: "Complete, InProgress, Error and Ready; all four are always present. Ready: the site can be switched." }),
      ),
      failures: s.optional(
        s.list(
          s.object(
            {
              kind: s.string({ doc: "The kind of the object that is wrong.", maxLength: 63 }),
              namespace: s.optional(s.string({ doc: "Its namespace.", maxLength: 63 })),
              name: s.string({ doc: "Its name.", maxLength: 253 }),
              field: s.optional(s.string({ doc: "The field of the policy to change.", maxLength: 253 })),
              reason: s.string({ doc: "The reason, as in the condition.", maxLength: 63 }),
              message: text("What is wrong."),
            },
            { doc: "One failure." },
          ),
          { doc: "The failures of condition Error; without any, what makes condition Ready False. The first 32.", maxItems: 32 },
        ),
      ),
      volumeReplicationStatuses: s.optional(
        s.list(
          // On a primary it changes with every copy: no reason to write.
          s.object(
            {
              kind: s.optional(s.enum(["VolumeReplication", "VolumeGroupReplication"], { doc: "Its kind. Default: VolumeReplication." })),
              ...resource,
              lastSyncTime: s.optional(s.time({ doc: "When it was last copied to the other site." })),
              replicating: s.optional(
                s.enum(["True", "False", "Unknown"], {
                  doc: "The status of condition Replicating of csi-addons, on a primary. Absent if csi-addons does not report it.",
                }),
              ),
            },
            { doc: "One volume." },
          ),
          { doc: "The observed state of the volumes.", maxItems: 1024 },
        ),
      ),
      workloadStatuses: s.optional(
        s.list(s.object({ kind: kind(), ...resource }, { doc: "One workload, Flux object or VirtualService." }), {
          doc: "The observed state of all other resources.",
          maxItems: 1024,
        }),
      ),
      transition: s.optional(
        s.object(
          { ...transition, steps: s.list(step(), { doc: "The steps in their order.", maxItems: 32 }) },
          { doc: "The switch that is running, or the last one." },
        ),
      ),
      history: s.optional(
        s.list(
          s.object(
            {
              ...transition,
              outcome: s.enum(["Completed", "Superseded"], { doc: "Superseded: the policy changed before the switch was complete." }),
              seconds: s.optional(count("How long the switch took: on the way to primary, until the application was available.")),
              volumesSeconds: s.optional(count("How long it took until every volume was writable.")),
              steps: s.optional(
                s.list(
                  s.object(
                    {
                      name: s.string({ doc: "The name of the step.", minLength: 1, maxLength: 63 }),
                      seconds: s.optional(count("How long it took. Absent if the step did not finish.")),
                    },
                    { doc: "One step." },
                  ),
                  { doc: "The steps that began, and how long each took.", maxItems: 32 },
                ),
              ),
              lossSeconds: s.optional(count("The age of the last copy when the last writer was gone: the upper bound of the loss.")),
            },
            { doc: "A finished switch." },
          ),
          { doc: "The latest switches, newest first.", maxItems: 10 },
        ),
      ),
      token: s.optional(token("Whether writers may run at this site; only with spec.peer.")),
      peer: s.optional(
        s.object(
          {
            reachable: s.bool({ doc: "Whether the other site's policy could be read." }),
            message: s.optional(text("Why it could not be read, or what it reports.")),
            field: s.optional(s.string({ doc: "The field of this policy that is wrong, if that is the cause.", maxLength: 253 })),
            desiredState: s.optional(s.string({ doc: "The desiredState of the other site.", maxLength: 63 })),
            token: s.optional(token("The other site's token.")),
            seen: s.optional(
              s.object(
                {
                  uid: s.string({ doc: "The metadata.uid of the policy there.", maxLength: 128 }),
                  epoch: s.int({ doc: "Its epoch.", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
                  state: s.enum(["Held", "Released"], { doc: "The state of that epoch." }),
                },
                {
                  doc: "The highest token ever read from the policy there. It shows the other site that its cluster was restored from a backup.",
                },
              ),
            ),
            lastSyncTime: s.optional(
              moment(
                "The age of the copy at this site: the oldest lastSyncTime that the other site reported. Kept while the other site does not answer.",
              ),
            ),
            lastAnswerTime: s.optional(s.time({ doc: "When the other site last answered." })),
          },
          { doc: "The last observed state of the other site." },
        ),
      ),
      lastSyncTime: s.optional(
        moment(
          "On a primary with spec.maxCopyAge: the oldest lastSyncTime of its volumes, for the other site to read. It moves in steps of a quarter of maxCopyAge.",
        ),
      ),
      priorStates: s.optional(
        s.list(
          s.object(
            {
              kind: s.string({ doc: "The kind of the object.", maxLength: 63 }),
              namespace: s.optional(s.string({ doc: "Its namespace.", maxLength: 63 })),
              name: name("Its name."),
              uid: s.optional(s.string({ doc: "Its metadata.uid.", maxLength: 128 })),
              field: s.string({ doc: "The field that was changed.", maxLength: 63 }),
              value: s.string({ doc: "The value before the change, as JSON.", maxLength: 1024 }),
            },
            { doc: "The value of one field before this policy changed it." },
          ),
          { doc: "A second copy of the values in annotation plumbline.dev/failover-prior of each object.", maxItems: 2048 },
        ),
      ),
      fence: s.optional(
        s.object(
          {
            name: name("The NetworkFence object of this takeover."),
            result: s.optional(s.string({ doc: "Succeeded or Failed, as csi-addons reports it.", maxLength: 63 })),
            message: s.optional(text("The message of the driver.")),
          },
          { doc: "The fence of the last forced takeover, with spec.fence." },
        ),
      ),
      foreignNamespaces: s.optional(
        s.list(
          s.object(
            {
              name: s.string({ doc: "The namespace.", minLength: 1, maxLength: 63 }),
              permitted: s.bool({ doc: "Whether the policy may switch what it names there." }),
            },
            { doc: "One other namespace." },
          ),
          { doc: "The other namespaces in which the policy names resources. Each must consent.", maxItems: 1024 },
        ),
      ),
      claims: s.optional(claims()),
    },
    { doc: "The observed state." },
  ),
});
export type FailoverPolicy = Stored<typeof FailoverPolicy>;
export type FailoverStatus = NonNullable<FailoverPolicy["status"]>;
export type FailoverToken = NonNullable<FailoverStatus["token"]>;
export type Role = FailoverPolicy["spec"]["desiredState"];
