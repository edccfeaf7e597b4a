import { createHash } from "node:crypto";
import { keyOf, type KubeObject } from "../api/kind.ts";
import { metaTime } from "../api/time.ts";
import type { Log } from "../kube/log.ts";
import { problemText, type Problem, type ProblemList } from "./directory/problems.ts";
import type { Store } from "./store/store.ts";

/** Reports every problem of the files as an Event. Returns a function that stops it. */
export function reportProblems(problems: ProblemList, store: Store, log: Log): () => void {
  const events = store.kindOf("v1", "Event");
  if (!events) return () => undefined;
  const report = (problem: Problem): void => {
    const about = involved(store, problem.object);
    const message = problemText(problem);
    const name = `manifest.${createHash("sha256").update(message).digest("hex").slice(0, 16)}`;
    const ref = { name, namespace: about.namespace };
    try {
      const existing = store.find(events, ref)?.object;
      if (existing) {
        const count = Number(existing["count"] ?? 1) + 1;
        store.update(events, ref, (stored) => ({ ...stored, count, lastTimestamp: metaTime(new Date()) }));
        return;
      }
      store.create(events, about.namespace, {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name },
        involvedObject: about.reference,
        type: "Warning",
        reason: problem.level === "error" ? "ManifestRefused" : "ManifestDoubtful",
        message,
        source: { component: "plumbline" },
        firstTimestamp: metaTime(new Date()),
        lastTimestamp: metaTime(new Date()),
        count: 1,
      });
    } catch (error) {
      log.warn({ problem: message, error }, "cannot write an Event for a manifest problem");
    }
  };
  return problems.subscribe(({ appeared }) => {
    for (const problem of appeared) report(problem);
  });
}

/** The object, if known, else the namespace default. */
function involved(store: Store, object: KubeObject | undefined): { namespace: string; reference: object } {
  const kind = object && store.kindOf(object.apiVersion ?? "", object.kind ?? "");
  if (!object || !kind)
    return { namespace: "default", reference: { apiVersion: "v1", kind: "Namespace", name: "default", namespace: "default" } };
  const own = kind.scope === "Namespaced" ? object.metadata.namespace || "default" : undefined;
  const ref = { name: object.metadata.name, ...(own !== undefined && { namespace: own }) };
  const stored = store.collection(kind).get(keyOf({ metadata: ref }))?.object.metadata;
  const namespaces = store.kindOf("v1", "Namespace");
  const namespace = own !== undefined && namespaces && store.find(namespaces, { name: own }) ? own : "default";
  return {
    namespace,
    reference: { apiVersion: object.apiVersion, kind: object.kind, ...ref, namespace, ...(stored?.uid && { uid: stored.uid }) },
  };
}
