import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";
import { kind, name, role } from "./policy-fields.ts";
import { policyStatus } from "./policy-status.ts";

const namespace = () => s.optional(s.string({ doc: "Its namespace. Default: the namespace of the policy.", minLength: 1, maxLength: 63 }));

const legacy = (what: string) =>
  s.optional(
    s.list(s.object({ name: name("Its name."), namespace: namespace() }, { doc: `One ${what}.` }), {
      doc: `Deprecated, use managedResources: each ${what} that belongs to the site.`,
      maxItems: 1024,
    }),
  );

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
  status: policyStatus,
});
export type FailoverPolicy = Stored<typeof FailoverPolicy>;
export type FailoverStatus = NonNullable<FailoverPolicy["status"]>;
export type FailoverToken = NonNullable<FailoverStatus["token"]>;
export type Role = FailoverPolicy["spec"]["desiredState"];
