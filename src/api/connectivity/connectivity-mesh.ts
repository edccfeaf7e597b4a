import { defineKind, type Stored } from "../define-kind.ts";
import { exactlyOneOf } from "../rule.ts";
import { s } from "../schema.ts";

const name = (doc: string) => s.string({ doc, minLength: 1, maxLength: 253 });
const namespace = () =>
  s.optional(
    s.string({
      doc: "The namespace of the Service; without it, that of the mesh. A Service of another namespace must allow it by annotation plumbline.dev/allow-mesh-from, unless the mesh is in the namespace of Plumbline itself.",
      minLength: 1,
      maxLength: 63,
    }),
  );
const port = () =>
  s.optional(
    s.intOrString({
      doc: "The port of the Service by number or name; without it, every TCP port.",
      maxLength: 63,
      pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    }),
  );

const target = () =>
  s.object(
    {
      service: s.optional(
        s.object(
          { name: name("The name of the Service."), namespace: namespace(), port: port() },
          { doc: "The addresses of a Service itself: each of its cluster IPs." },
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
            selector: s.optional(s.labelSelector({ doc: "The nodes, by their labels. Without it, every node." })),
            port: s.int({ doc: "The port to reach on each of them.", minimum: 1, maximum: 65_535 }),
          },
          { doc: "Each node, at its internal addresses." },
        ),
      ),
      host: s.optional(s.string({ doc: "One host:port, by name or address.", minLength: 1, maxLength: 320, pattern: "^\\S+:\\d+$" })),
    },
    { doc: "What is to be reached.", rules: [exactlyOneOf("service", "endpoints", "nodes", "host")] },
  );

export const ConnectivityMesh = defineKind({
  group: "plumbline.dev",
  version: "v1alpha1",
  kind: "ConnectivityMesh",
  plural: "connectivitymeshes",
  scope: "Namespaced",
  shortNames: ["mesh"],
  categories: ["plumbline"],
  doc: "Makes one PodNetworkConnectivityCheck for each pair of a source and a target, and keeps them in step with pods, nodes, Services and endpoints.",
  columns: [
    { name: "Sources", path: ".status.sources", type: "integer", doc: "How many pods or nodes try." },
    { name: "Targets", path: ".status.targets", type: "integer", doc: "How many endpoints they try." },
    { name: "Checks", path: ".status.checks", type: "integer", doc: "How many checks there are." },
    {
      name: "Ready",
      path: '.status.conditions[?(@.type=="Ready")].status',
      type: "string",
      doc: "Whether every check that is wanted exists.",
    },
    { name: "Reason", path: '.status.conditions[?(@.type=="Ready")].reason', type: "string", doc: "Why not.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  spec: s.object(
    {
      sources: s.object(
        {
          pods: s.optional(
            s.object(
              { selector: s.labelSelector({ doc: "The pods, by their labels. An empty one is every pod of the namespace." }) },
              { doc: "Pods of this namespace in which p2pnc runs." },
            ),
          ),
          nodes: s.optional(
            s.object(
              { selector: s.optional(s.labelSelector({ doc: "The nodes, by their labels. Without it, every node." })) },
              { doc: "Nodes, whose agents try. Only in the namespace of Plumbline itself." },
            ),
          ),
        },
        { doc: "Who tries.", rules: [exactlyOneOf("pods", "nodes")] },
      ),
      targets: s.list(target(), { doc: "What they try to reach.", minItems: 1, maxItems: 64 }),
      sourcesPerTarget: s.default(
        s.intOrString({
          doc: "How many of the sources try each target, chosen evenly and for as long as possible the same: a number, or all.",
          maxLength: 6,
          pattern: "^all$",
        }),
        3,
      ),
    },
    { doc: "What is wanted." },
  ),
  status: s.object(
    {
      sources: s.optional(s.int({ doc: "How many pods or nodes try.", minimum: 0, maximum: 2 ** 31 - 1 })),
      targets: s.optional(s.int({ doc: "How many endpoints there are to reach.", minimum: 0, maximum: 2 ** 31 - 1 })),
      checks: s.optional(s.int({ doc: "How many checks there are.", minimum: 0, maximum: 2 ** 31 - 1 })),
      conditions: s.optional(s.conditions({ doc: "Ready: every check that is wanted exists." })),
    },
    { doc: "What became of it." },
  ),
});
export type ConnectivityMesh = Stored<typeof ConnectivityMesh>;
