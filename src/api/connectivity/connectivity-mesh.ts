import { defineKind, type Stored } from "../define-kind.ts";
import { exactlyOneOf } from "../rule.ts";
import { s } from "../schema.ts";
import { probe } from "./probe.ts";

const name = (doc: string) => s.string({ doc, minLength: 1, maxLength: 253 });
const namespace = () =>
  s.optional(
    s.string({
      doc: "The namespace of the Service. Default: the namespace of the mesh. A Service in another namespace must allow it with annotation plumbline.dev/allow-mesh-from, unless the mesh is in Plumbline's own namespace.",
      minLength: 1,
      maxLength: 63,
    }),
  );
const port = () =>
  s.optional(
    s.intOrString({
      doc: "The port of the Service, by number or name. Default: every TCP port.",
      maxLength: 63,
      pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    }),
  );

const target = () =>
  s.object(
    {
      service: s.optional(
        s.object(
          {
            name: name("The name of the Service."),
            namespace: namespace(),
            port: port(),
            external: s.optional(
              s.bool({
                doc: "Check the addresses that nodes announce over BGP instead of the cluster IPs, from the routers of other nodes.",
              }),
            ),
          },
          { doc: "The cluster IPs of a Service." },
        ),
      ),
      announced: s.optional(
        s.object(
          { selector: s.optional(s.labelSelector({ doc: "Selects Services by label. Default: every Service." })) },
          {
            doc: "Every Service that nodes announce over BGP, as with service.external. Services of other namespaces as for service.",
          },
        ),
      ),
      endpoints: s.optional(
        s.object(
          { service: name("The name of the Service."), namespace: namespace(), port: port() },
          { doc: "Each ready endpoint of a Service." },
        ),
      ),
      nodes: s.optional(
        s.object(
          {
            selector: s.optional(s.labelSelector({ doc: "Selects nodes by label. Default: every node." })),
            port: s.int({ doc: "The port on each node.", minimum: 1, maximum: 65_535 }),
          },
          { doc: "Each node, at its internal addresses." },
        ),
      ),
      host: s.optional(s.string({ doc: "One host:port, by name or address.", minLength: 1, maxLength: 320, pattern: "^\\S+:\\d+$" })),
      probe: s.optional(probe()),
    },
    { doc: "One target.", rules: [exactlyOneOf("service", "announced", "endpoints", "nodes", "host")] },
  );

export const ConnectivityMesh = defineKind({
  group: "plumbline.dev",
  version: "v1alpha1",
  kind: "ConnectivityMesh",
  plural: "connectivitymeshes",
  scope: "Namespaced",
  shortNames: ["mesh"],
  categories: ["plumbline"],
  doc: "Creates one PodNetworkConnectivityCheck for each pair of source and target, and keeps them up to date with pods, nodes, Services and endpoints.",
  columns: [
    { name: "Sources", path: ".status.sources", type: "integer", doc: "Number of source pods or nodes." },
    { name: "Targets", path: ".status.targets", type: "integer", doc: "Number of target endpoints." },
    { name: "Checks", path: ".status.checks", type: "integer", doc: "Number of checks." },
    {
      name: "Ready",
      path: '.status.conditions[?(@.type=="Ready")].status',
      type: "string",
      doc: "Whether all checks exist.",
    },
    {
      name: "Reason",
      path: '.status.conditions[?(@.type=="Ready")].reason',
      type: "string",
      doc: "The reason of condition Ready.",
      wide: true,
    },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  spec: s.object(
    {
      sources: s.object(
        {
          pods: s.optional(
            s.object(
              { selector: s.labelSelector({ doc: "Selects pods by label. Empty: every pod of the namespace." }) },
              { doc: "Pods of this namespace in which p2pnc runs." },
            ),
          ),
          nodes: s.optional(
            s.object(
              { selector: s.optional(s.labelSelector({ doc: "Selects nodes by label. Default: every node." })) },
              { doc: "Nodes; their agents run the checks. Only in Plumbline's own namespace." },
            ),
          ),
        },
        { doc: "The pods or nodes that run the checks.", rules: [exactlyOneOf("pods", "nodes")] },
      ),
      targets: s.list(target(), { doc: "The targets of the checks.", minItems: 1, maxItems: 64 }),
      sourcesPerTarget: s.default(
        s.intOrString({
          doc: "How many sources check each target: a number, or all. Sources are chosen evenly and stay the same where possible.",
          maxLength: 6,
          pattern: "^all$",
        }),
        3,
      ),
    },
    { doc: "The sources and targets of the mesh." },
  ),
  status: s.object(
    {
      sources: s.optional(s.int({ doc: "Number of source pods or nodes.", minimum: 0, maximum: 2 ** 31 - 1 })),
      targets: s.optional(s.int({ doc: "Number of target endpoints.", minimum: 0, maximum: 2 ** 31 - 1 })),
      checks: s.optional(s.int({ doc: "Number of checks.", minimum: 0, maximum: 2 ** 31 - 1 })),
      notObserved: s.optional(
        s.list(
          s.object(
            {
              service: s.string({ doc: "The Service, as namespace/name.", maxLength: 317 }),
              reason: s.enum(["NoTCPPort", "SourceRanges"], {
                doc: "NoTCPPort: it has no port that a connection could test. SourceRanges: its spec.loadBalancerSourceRanges do not allow every address.",
              }),
            },
            { doc: "One Service." },
          ),
          { doc: "Announced Services that are not checked, by name, at most 100.", maxItems: 100 },
        ),
      ),
      notObservedServices: s.optional(
        s.int({ doc: "Number of announced Services that are not checked.", minimum: 0, maximum: 2 ** 31 - 1 }),
      ),
      conditions: s.optional(s.conditions({ doc: "Ready: all checks exist." })),
    },
    { doc: "The observed state of the mesh." },
  ),
});
export type ConnectivityMesh = Stored<typeof ConnectivityMesh>;
