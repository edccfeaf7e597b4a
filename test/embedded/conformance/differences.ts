import type { Conforming } from "./servers.ts";

/**
 * Where the embedded API is not what a cluster is, and is not meant to be. docs/embedded.md has the same list; every test that meets
 * one of them names it.
 */
export const DIFFERENCES = {
  managedFields: "`metadata.managedFields` is not kept, and server-side apply is answered with 415.",
  coreFields:
    "Fields of Kubernetes' own kinds are not validated and get no defaults, except names, metadata, immutable data and the defaults of a Service; unknown fields are kept without a warning.",
  addresses: "A Service gets no cluster IP and no node ports.",
  nodeTaint: "A new Node has no taint.",
  listItems: "Every item of a list has its kind; a cluster omits it for its own kinds.",
  history:
    "Old states are kept for the pages of a list in progress (five minutes) and for watches (4096 changes or 16 MiB per kind); anything older is 410.",
  protobuf:
    "Responses are JSON or YAML; protobuf is accepted where kubectl requires it (Namespace, ConfigMap, Secret, Service, Event, Lease), CBOR never.",
  pods: "A Pod that is deleted is gone at once: there is no kubelet that stops it first.",
  jsonErrors: "Bodies that are not JSON are rejected with the same status and reason, and with the message of another parser.",
  accounts: "A namespace has no service account and no root certificate in it.",
  notPages: "An unknown path of a served group is answered with a Status, never with a plain text page.",
} as const;

/** The value that is expected of this server where the two differ on purpose. */
export function differs<T>(server: Conforming, _why: keyof typeof DIFFERENCES, expected: { embedded: T; cluster: T }): T {
  return server.name === "embedded" ? expected.embedded : expected.cluster;
}
