import { builtinKind, type KubeObject } from "../kind.ts";

export interface ObjectReference {
  apiVersion?: string;
  kind?: string;
  name?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

export interface Event extends KubeObject {
  involvedObject: ObjectReference;
  type?: "Normal" | "Warning";
  reason?: string;
  message?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  source?: { component?: string; host?: string };
  reportingComponent?: string;
  reportingInstance?: string;
  action?: string;
  related?: ObjectReference;
}

export const Event = builtinKind<Event>({
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  scope: "Namespaced",
  shortNames: ["ev"],
});
