import { claims } from "../claims.ts";
import { s } from "../schema.ts";
import { kind, name, role } from "./policy-fields.ts";

const count = (doc: string) => s.int({ doc, minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const text = (doc: string) => s.string({ doc, maxLength: 4096 });
// Each of these times is a result, so a change of it alone is written.
const moment = (doc: string) => s.time({ doc, significant: true });

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

export const policyStatus = s.object(
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
            lastSyncTime: s.optional(s.time({ doc: "When it was last copied to the other site. On a primary only with spec.maxCopyAge." })),
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
);
