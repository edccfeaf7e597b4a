import { defineKind, type Stored } from "../define-kind.ts";
import { exactlyOneOf } from "../rule.ts";
import { s } from "../schema.ts";

const podName = (doc: string) =>
  s.string({ doc, maxLength: 253, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" });

// Every time and latency here is a result of its own, so none of them only rides along.
const moment = (doc: string) => s.nullable(s.time({ doc, significant: true }));

const logEntry = () =>
  s.object(
    {
      time: moment("When the action began."),
      success: s.bool({ doc: "Whether the action succeeded." }),
      reason: s.optional(s.string({ doc: "DNSDone, DNSError, ConnectDone or ConnectError.", maxLength: 64 })),
      message: s.optional(s.string({ doc: "The same for people.", maxLength: 512 })),
      latency: s.optional(s.nullable(s.string({ doc: "How long the action took: 2.845865ms.", maxLength: 64 }))),
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
  doc: "Whether one pod, or one node, reaches one TCP endpoint: tried every minute, with the latest results and every outage.",
  columns: [
    { name: "Source", path: ".spec.sourcePod", type: "string", doc: "The pod or node that tries.", wide: true },
    { name: "Target Endpoint", path: ".spec.targetEndpoint", type: "string", doc: "What is to be reached." },
    { name: "Reachable", path: '.status.conditions[?(@.type=="Reachable")].status', type: "string", doc: "Whether it is." },
    { name: "Since", path: '.status.conditions[?(@.type=="Reachable")].lastTransitionTime', type: "date", doc: "Since when." },
    { name: "Reason", path: '.status.conditions[?(@.type=="Reachable")].reason', type: "string", doc: "Why.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  spec: s.object(
    {
      sourcePod: s.optional(podName("The pod of this namespace that tries; in the namespace of Plumbline itself it may be a node.")),
      sourcePodName: s.optional(podName("Another name for sourcePod.")),
      targetEndpoint: s.string({
        doc: "What is to be reached, host:port. A host that is a name is looked up first, and a failed lookup is a failed check; an IPv6 address stands in brackets.",
        minLength: 1,
        maxLength: 320,
        pattern: "^\\S+:\\d*$",
      }),
      tlsClientCert: s.optional(
        s.object(
          { name: s.optional(s.string({ doc: "The name of the Secret.", maxLength: 253 })) },
          { doc: "Taken and not used: a check ends with the TCP connection." },
        ),
      ),
    },
    {
      doc: "Who tries to reach what.",
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
              end: s.optional(moment("The first success after it; none while the outage lasts.")),
              startedAfter: s.optional(
                moment("The last success before it: the path broke after this. None when there was no result before."),
              ),
              endedAfter: s.optional(moment("The last failure seen: the path was mended after this.")),
              startLogs: log("How it began: the first failure, and each further way to fail, newest first.", 5),
              endLogs: log("How it ended, or what was seen last, newest first.", 5),
              message: s.optional(s.string({ doc: "The same for people.", maxLength: 512 })),
            },
            { doc: "A time in which the target was not reached." },
          ),
          { doc: "The latest outages, newest first.", maxItems: 20 },
        ),
      ),
      writer: s.optional(
        s.object(
          {
            name: s.string({ doc: "The pod or node, and what tells this process from others there.", maxLength: 320 }),
            started: s.time({ doc: "When the process began." }),
            term: s.int({
              doc: "Counts those who began with this check: the latest has it, and the others stand down.",
              minimum: 1,
              maximum: Number.MAX_SAFE_INTEGER,
            }),
          },
          { doc: "Which process writes this status." },
        ),
      ),
      conditions: s.optional(s.conditions({ doc: "Reachable: Unknown when nobody is trying." })),
    },
    { doc: "What was seen." },
  ),
});
export type PodNetworkConnectivityCheck = Stored<typeof PodNetworkConnectivityCheck>;

type Status = NonNullable<PodNetworkConnectivityCheck["status"]>;
export type LogEntry = NonNullable<Status["successes"]>[number];
export type OutageEntry = NonNullable<Status["outages"]>[number];

/** The pod or node that a check is for, by whichever name the field was given. */
export function sourceOf({ spec }: PodNetworkConnectivityCheck): string {
  return spec.sourcePod ?? spec.sourcePodName ?? "";
}
