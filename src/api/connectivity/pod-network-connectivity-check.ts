import { defineKind, type Stored } from "../define-kind.ts";
import { exactlyOneOf } from "../rule.ts";
import { s } from "../schema.ts";

const podName = (doc: string) =>
  s.string({ doc, maxLength: 253, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" });

// Every time and latency here is a result, so a change of it alone is written.
const moment = (doc: string) => s.nullable(s.time({ doc, significant: true }));

const logEntry = () =>
  s.object(
    {
      time: moment("When the action started."),
      success: s.bool({ doc: "Whether the action succeeded." }),
      reason: s.optional(
        s.string({
          doc: "DNSDone, DNSError, ConnectDone or ConnectError; for HTTP also HTTPDone, HTTPError, TLSError, UnexpectedStatus or BodyMismatch.",
          maxLength: 64,
        }),
      ),
      message: s.optional(s.string({ doc: "A human-readable message.", maxLength: 512 })),
      latency: s.optional(s.nullable(s.string({ doc: "How long the action took, such as 2.845865ms.", maxLength: 64 }))),
    },
    { doc: "One action of one attempt: a lookup of the name, or a connection to one of its addresses." },
  );

const log = (doc: string, maxItems: number) => s.optional(s.list(logEntry(), { doc, maxItems }));

export const PodNetworkConnectivityCheck = defineKind({
  group: "controlplane.operator.openshift.io",
  version: "v1alpha1",
  kind: "PodNetworkConnectivityCheck",
  plural: "podnetworkconnectivitychecks",
  scope: "Namespaced",
  shortNames: ["pncc"],
  categories: ["plumbline"],
  doc: "Checks every minute whether a pod or node reaches a TCP endpoint, and records the latest results and outages. Annotation plumbline.dev/probe requests HTTP or HTTPS.",
  columns: [
    { name: "Source", path: ".spec.sourcePod", type: "string", doc: "The pod or node that runs the check.", wide: true },
    { name: "Target Endpoint", path: ".spec.targetEndpoint", type: "string", doc: "The endpoint to reach." },
    {
      name: "Reachable",
      path: '.status.conditions[?(@.type=="Reachable")].status',
      type: "string",
      doc: "Whether the endpoint is reachable.",
    },
    {
      name: "Since",
      path: '.status.conditions[?(@.type=="Reachable")].lastTransitionTime',
      type: "date",
      doc: "When Reachable last changed.",
    },
    {
      name: "Reason",
      path: '.status.conditions[?(@.type=="Reachable")].reason',
      type: "string",
      doc: "The reason of condition Reachable.",
      wide: true,
    },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  spec: s.object(
    {
      sourcePod: s.optional(podName("The pod in this namespace that runs the check; in Plumbline's own namespace it may be a node.")),
      sourcePodName: s.optional(podName("Alias of sourcePod.")),
      targetEndpoint: s.string({
        doc: "The endpoint to reach, host:port. A host name is resolved first, and a failed lookup fails the check. IPv6 addresses need brackets.",
        minLength: 1,
        maxLength: 320,
        pattern: "^\\S+:\\d*$",
      }),
      tlsClientCert: s.optional(
        s.object(
          { name: s.optional(s.string({ doc: "The name of the Secret.", maxLength: 253 })) },
          { doc: "Accepted and ignored: a check ends with the TCP connection." },
        ),
      ),
    },
    {
      doc: "The source and the target of the check.",
      rules: [exactlyOneOf("sourcePod", "sourcePodName")],
    },
  ),
  status: s.object(
    {
      successes: log("The latest actions that succeeded, newest first.", 20),
      failures: log("The latest actions that failed, newest first.", 20),
      outages: s.optional(
        s.list(
          s.object(
            {
              start: moment("The first failure."),
              end: s.optional(moment("The first success after it; not set while the outage lasts.")),
              startedAfter: s.optional(
                moment("The last success before it: the path broke after this. Not set when there was no earlier result."),
              ),
              endedAfter: s.optional(moment("The last failure: the path was restored after this.")),
              startLogs: log("The first failure, and each new kind of failure, newest first.", 5),
              endLogs: log("The end of the outage, or its latest results, newest first.", 5),
              message: s.optional(s.string({ doc: "A human-readable message.", maxLength: 512 })),
            },
            { doc: "A time during which the target was unreachable." },
          ),
          { doc: "The latest outages, newest first.", maxItems: 20 },
        ),
      ),
      writer: s.optional(
        s.object(
          {
            name: s.string({ doc: "The pod or node, and an identifier of the process.", maxLength: 320 }),
            started: s.time({ doc: "When the process started." }),
            term: s.int({
              doc: "Counts the writers of this check: only the latest one writes.",
              minimum: 1,
              maximum: Number.MAX_SAFE_INTEGER,
            }),
          },
          { doc: "The process that writes this status." },
        ),
      ),
      conditions: s.optional(
        s.conditions({ doc: "Reachable: whether the endpoint is reachable; Unknown while no source runs the check." }),
      ),
    },
    { doc: "The results of the check." },
  ),
});
export type PodNetworkConnectivityCheck = Stored<typeof PodNetworkConnectivityCheck>;

type Status = NonNullable<PodNetworkConnectivityCheck["status"]>;
export type LogEntry = NonNullable<Status["successes"]>[number];
export type OutageEntry = NonNullable<Status["outages"]>[number];

/** By whichever name the field was given. */
export function sourceOf({ spec }: PodNetworkConnectivityCheck): string {
  return spec.sourcePod ?? spec.sourcePodName ?? "";
}
