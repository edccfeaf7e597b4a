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
const namespace = () => s.optional(s.string({ doc: "Its namespace; without it, that of the policy.", minLength: 1, maxLength: 63 }));
const kind = () => s.enum(MANAGED_KINDS, { doc: "What it is." });
const count = (doc: string) => s.int({ doc, minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const text = (doc: string) => s.string({ doc, maxLength: 4096 });
// Each of these times is a finding of its own, so none of them only rides along.
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
      epoch: s.int({ doc: "Counts the changes of side; it only grows.", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
      state: s.enum(["Held", "Released"], {
        doc: "Held: writers may run here. Released: they may not, until a higher epoch is taken; a release is never taken back.",
      }),
      copied: s.optional(
        s.bool({ doc: "Released: every volume of this site was seen to be copied to the other site, and was not promoted here since." }),
      ),
      forced: s.optional(text("The reason that was given for taking it without the other site's release.")),
    },
    { doc },
  );

const step = () =>
  s.object(
    {
      name: s.string({ doc: "What the step does.", minLength: 1, maxLength: 63 }),
      state: s.enum(["Pending", "Running", "Waiting", "Done"], {
        doc: "Pending: earlier steps come first. Running: it is writing. Waiting: it has written and waits. Done: what it is for has been seen.",
      }),
      startTime: s.optional(moment("When it began.")),
      completionTime: s.optional(moment("When what it is for was seen.")),
      waitingFor: s.optional(
        s.object(
          {
            kind: s.string({ doc: "The kind of the object that is waited for.", maxLength: 63 }),
            name: s.string({ doc: "The name of the object.", maxLength: 253 }),
            namespace: s.optional(s.string({ doc: "The namespace of the object.", maxLength: 63 })),
            message: text("What it has to be or do."),
            others: s.optional(count("How many further objects are waited for.")),
            since: s.optional(moment("Since when.")),
          },
          { doc: "What holds the step up." },
        ),
      ),
    },
    { doc: "One step of the way." },
  );

const transition = {
  to: role("Where it leads."),
  mode: s.enum(["safe", "unsafe"], { doc: "Whether each step waited for what it depends on." }),
  generation: count("The metadata.generation of the policy that asked for it."),
  startTime: moment("When it began."),
  completionTime: s.optional(moment("When everything was seen to be as it should.")),
  lastSyncTime: s.optional(
    moment("When the volume that was furthest behind was last copied to the other site, as known before the volumes were demoted."),
  ),
  writesStoppedTime: s.optional(moment("When the last writer was seen to be gone.")),
  volumesWritableTime: s.optional(
    moment("When every volume was seen to be primary here; completionTime is when the application was available."),
  ),
  forced: s.optional(text("The reason that was given for taking over without the other site's release.")),
};

const resource = {
  name: name("The name of the resource."),
  namespace: s.optional(s.string({ doc: "The namespace of the resource.", maxLength: 63 })),
  state: s.optional(s.string({ doc: "What it was last seen to be.", maxLength: 63 })),
  error: s.optional(text("What is wrong with it, or what is not finished yet.")),
  message: s.optional(text("The same at more length: which pods, which objects.")),
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
  doc: "Makes this cluster the primary or the secondary site of an application: its volumes, workloads, Flux objects and DNS, in an order that keeps the data.",
  columns: [
    { name: "Desired", path: ".spec.desiredState", type: "string", doc: "What this site should be." },
    { name: "Current", path: ".status.currentState", type: "string", doc: "What it was seen to be." },
    { name: "Complete", path: '.status.conditions[?(@.type=="Complete")].status', type: "string", doc: "Whether it is there." },
    { name: "Error", path: '.status.conditions[?(@.type=="Error")].status', type: "string", doc: "Whether something is wrong." },
    {
      name: "Ready",
      path: '.status.conditions[?(@.type=="Ready")].status',
      type: "string",
      doc: "Whether the site could be switched now.",
    },
    { name: "Where", path: ".status.summary", type: "string", doc: "What is going on, and what is waited for." },
    { name: "Mode", path: ".status.mode", type: "string", doc: "safe or unsafe.", wide: true },
    { name: "Token", path: ".status.token.state", type: "string", doc: "Whether writers may run here.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  spec: s.object(
    {
      desiredState: role("What this site should be."),
      mode: s.optional(
        s.string({
          doc: "Whether every step waits for what it depends on: on or safe, the default; off or unsafe does everything at once, at the risk of the data. In any case.",
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
              apiGroup: s.optional(s.string({ doc: "Taken and not used: the kind says which group it is.", maxLength: 253 })),
            },
            { doc: "One resource that belongs to the site." },
          ),
          { doc: "What belongs to the site and is switched with it.", maxItems: 1024 },
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
                key: s.default(s.string({ doc: "The key of the kubeconfig in it.", minLength: 1, maxLength: 253 }), "kubeconfig"),
              },
              { doc: "How the other cluster is reached, to read its policy and nothing else." },
            ),
            name: s.optional(name("The policy there; without it, the same name.")),
            namespace: s.optional(s.string({ doc: "Its namespace; without it, the same one.", minLength: 1, maxLength: 63 })),
          },
          { doc: "The policy of the other site. With it, this site becomes primary only when the other one has released it." },
        ),
      ),
      force: s.optional(
        s.object(
          {
            reason: s.string({ doc: "Why; it is recorded.", minLength: 1, maxLength: 1024 }),
            epoch: s.int({
              doc: "The epoch in status.token that this is about; it has no effect once that has moved on.",
              minimum: 0,
              maximum: Number.MAX_SAFE_INTEGER,
            }),
            uid: s.optional(
              s.string({
                doc: "The metadata.uid of this policy. Without it, or with another, force has no effect: a policy that is created again from Git does not force again.",
                maxLength: 128,
              }),
            ),
          },
          { doc: "Become primary without the other site's release, because it is known not to write any more." },
        ),
      ),
      wave: s.optional(
        s.int({
          doc: "The wave in which `failover switch --all` starts this policy: 0 first, and stopped last.",
          minimum: 0,
          maximum: 1000,
        }),
      ),
      maxCopyAge: s.optional(
        s.duration({ doc: "How old the last copy at the other site may be before condition Ready is False: 15m, 1h30m." }),
      ),
      availableWithin: s.optional(
        s.duration({
          doc: "How long workloads and GitOps objects may take to become available on the way to primary before that is an error; 10m unless set.",
        }),
      ),
      settleTime: s.optional(
        s.duration({
          doc: "How long to wait after the last pod is gone before a volume is demoted whose CSI driver has no VolumeAttachments; 30s unless set.",
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
    { doc: "What is wanted." },
  ),
  status: s.object(
    {
      observedGeneration: s.optional(count("The metadata.generation that this status is about.")),
      currentState: s.optional(
        s.enum(["primary", "secondary", "mixed", "unknown"], {
          doc: "What the site was seen to be, by its volumes and workloads, whatever is wanted. mixed: some of each. unknown: not all could be looked at.",
        }),
      ),
      mode: s.optional(s.enum(["safe", "unsafe"], { doc: "The mode in effect." })),
      summary: s.optional(text("What is going on, in one sentence.")),
      workloadStatus: s.optional(text("How many of the workloads and Flux objects are where they should be.")),
      conditions: s.optional(
        s.conditions({ doc: "Complete, InProgress, Error and Ready, all of them at any time. Ready: the site can be switched." }),
      ),
      volumeReplicationStatuses: s.optional(
        s.list(
          // On a primary it moves with every copy: no reason of its own to write.
          s.object(
            {
              kind: s.optional(
                s.enum(["VolumeReplication", "VolumeGroupReplication"], { doc: "What it is; VolumeReplication where it is not said." }),
              ),
              ...resource,
              lastSyncTime: s.optional(s.time({ doc: "When it was last copied to the other site." })),
              replicating: s.optional(
                s.enum(["True", "False", "Unknown"], {
                  doc: "Condition Replicating of csi-addons, on a primary. Absent where csi-addons does not report it.",
                }),
              ),
            },
            { doc: "One volume." },
          ),
          { doc: "The volumes as they were seen.", maxItems: 1024 },
        ),
      ),
      workloadStatuses: s.optional(
        s.list(s.object({ kind: kind(), ...resource }, { doc: "One workload, Flux object or VirtualService." }), {
          doc: "Everything else that belongs to the site, as it was seen.",
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
              outcome: s.enum(["Completed", "Superseded"], { doc: "Superseded: something else was wanted before it was done." }),
              seconds: s.optional(
                count("How long it took until everything was as it should: on the way to primary, until the application was available."),
              ),
              volumesSeconds: s.optional(count("How long it took until every volume was writable.")),
              steps: s.optional(
                s.list(
                  s.object(
                    {
                      name: s.string({ doc: "What the step did.", minLength: 1, maxLength: 63 }),
                      seconds: s.optional(count("How long it took; nothing where it was not done.")),
                    },
                    { doc: "One step." },
                  ),
                  { doc: "How long each step took that had begun.", maxItems: 32 },
                ),
              ),
              lossSeconds: s.optional(count("How much of what was written last had not been copied when the writers were gone, at most.")),
            },
            { doc: "A switch that is over." },
          ),
          { doc: "The latest switches, newest first.", maxItems: 10 },
        ),
      ),
      token: s.optional(token("Whether writers may run at this site; only with spec.peer.")),
      peer: s.optional(
        s.object(
          {
            reachable: s.bool({ doc: "Whether the other site's policy could be read." }),
            message: s.optional(text("Why not, or what it says.")),
            desiredState: s.optional(s.string({ doc: "What the other site should be.", maxLength: 63 })),
            token: s.optional(token("The other site's token.")),
            lastSyncTime: s.optional(
              moment(
                "How old the copy at this site is: the oldest lastSyncTime that the other site reported. Kept while it does not answer.",
              ),
            ),
            lastAnswerTime: s.optional(s.time({ doc: "When the other site last answered." })),
          },
          { doc: "What was last seen of the other site." },
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
              field: s.string({ doc: "What of it was changed.", maxLength: 63 }),
              value: s.string({ doc: "What it was before, as JSON.", maxLength: 1024 }),
            },
            { doc: "What one object was before this policy changed it." },
          ),
          { doc: "The second record of what annotation plumbline.dev/failover-prior says on each object.", maxItems: 2048 },
        ),
      ),
      fence: s.optional(
        s.object(
          {
            name: name("The NetworkFence object of this takeover."),
            result: s.optional(s.string({ doc: "Succeeded or Failed, as csi-addons reports it.", maxLength: 63 })),
            message: s.optional(text("The driver's own words.")),
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
          { doc: "The namespaces beside its own in which the policy names resources. Each has to consent.", maxItems: 1024 },
        ),
      ),
      claims: s.optional(claims()),
    },
    { doc: "What became of it." },
  ),
});
export type FailoverPolicy = Stored<typeof FailoverPolicy>;
export type FailoverStatus = NonNullable<FailoverPolicy["status"]>;
export type FailoverToken = NonNullable<FailoverStatus["token"]>;
export type Role = FailoverPolicy["spec"]["desiredState"];
