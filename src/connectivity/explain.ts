import { ConnectivityMesh } from "../api/connectivity/connectivity-mesh.ts";
import { PodNetworkConnectivityCheck, sourceOf } from "../api/connectivity/pod-network-connectivity-check.ts";
import { type Condition, keyOf } from "../api/kind.ts";
import { explainer, type Explainer, type Need, type Remedy, type Sight, type Standing, type Thing } from "../api/health.ts";
import { nodeAnnotation } from "../kube/members/agent-lease.ts";
import { agentOn, silentAgent } from "../kube/members/agent-health.ts";
import { reachableOf } from "./activity.ts";
import { blamesIn } from "./common-causes.ts";
import { whatOf } from "./explain-causes.ts";
import { needsBehind } from "./unreached-nodes.ts";
import { meshMark, retiredMark, sourceNodeMark, targetNodeMark } from "../api/annotations.ts";

type Check = PodNetworkConnectivityCheck;
type Word = Omit<Standing, "thing" | "domain">;

const HEALTHY: Word = { health: "Healthy" };

/** What checks and meshes say to the cause graph. */
export function edges(): readonly Explainer[] {
  return [checks, meshes];
}

const checks = explainer(PodNetworkConnectivityCheck, function* (check, sight): Iterable<Standing> {
  const { metadata } = check;
  const thing = thingOf(check);
  const reachable = reachableOf(check);
  const isWanted = metadata.deletionTimestamp === undefined && metadata.annotations?.[retiredMark] === undefined;
  if (!isWanted || !reachable || reachable.status === "True") {
    yield said(thing, isWanted && reachable ? reached(reachable) : HEALTHY);
    return;
  }
  const { word, about } = reachable.status === "False" ? failedBecause(check, reachable, sight) : silentBecause(check, reachable);
  yield* about;
  yield said(thing, word);
  const mesh = metadata.annotations?.[meshMark];
  if (mesh === undefined || word.health === "Healthy") return;
  const whole: Thing = { kind: "ConnectivityMesh", namespace: metadata.namespace ?? "", name: mesh };
  yield said(whole, { ...HEALTHY, needs: [{ thing, as: "part" }] });
});

/** What is to be said of a check, and of what else is to blame. */
interface Reasons {
  readonly word: Word;
  readonly about: readonly Standing[];
}

function failedBecause(check: Check, { reason, message, lastTransitionTime: since }: Condition, sight: Sight): Reasons {
  const { blames, said: sayings, unreached } = blamesIn(sight);
  const blamed = blames.get(keyOf(check));
  const own = sayings.get(keyOf(check));
  const node = check.metadata.annotations?.[targetNodeMark];
  const alone: Need[] = node === undefined ? needsBehind(own ? [own] : [], unreached, sight) : [{ thing: agentOn(node) }];
  const needs = blamed ? [{ thing: blamed.culprit.thing }] : alone;
  const about = blamed?.speaks ? [...whatOf({ ...blamed, unreached }, sight)] : [];
  return { word: { health: "Down", reason, message, since, needs, remedy: ownRemedy(check) }, about };
}

function thingOf({ metadata: { name, namespace = "" } }: Check): Thing {
  return { kind: "PodNetworkConnectivityCheck", namespace, name };
}

function said(thing: Thing, word: Word): Standing {
  return { thing, domain: "connectivity", ...word };
}

/** One that is reached at some of its addresses only is not well either. */
function reached({ message, lastTransitionTime: since }: Condition): Word {
  if (!/^\d+ of \d+ addresses failed/.test(message)) return HEALTHY;
  return { health: "Degraded", reason: "PartlyReached", message, since };
}

function ownRemedy({ metadata: { name, namespace = "" } }: Check): Remedy {
  return {
    text: "see since when it fails, how, and what else did at the time",
    command: `plumbline describe podnetworkconnectivitycheck ${name} -n ${namespace}`,
  };
}

/** Why nobody knows. */
function silentBecause(check: Check, reachable: Condition): Reasons {
  const { reason, message, lastTransitionTime: since } = reachable;
  const { annotations = {}, namespace = "" } = check.metadata;
  const node = annotations[nodeAnnotation];
  const host = node ?? annotations[sourceNodeMark];
  const word = { health: "Unknown", reason, message, since } as const;
  if (reason === "Retired" || reason === "NoResultYet") return { word: HEALTHY, about: [] };
  if (reason === "InvalidTarget" || reason === "TargetRefused") {
    const change = { thing: thingOf(check), field: "spec.targetEndpoint" };
    return { word: { ...word, ownFault: true, remedy: { text: "change spec.targetEndpoint", change } }, about: [] };
  }
  if (reason !== "Stale" && reason !== "SourceFault") return { word, about: [] };
  const silentSince = /^Nothing has been heard of the source .* since (\S+?);/.exec(message)?.[1];
  if (node !== undefined && reason === "Stale") {
    return { word: { ...word, needs: [{ thing: agentOn(node) }] }, about: silentSince === undefined ? [] : silentAgent(node, silentSince) };
  }
  const name = node === undefined ? `pod/${namespace}/${sourceOf(check)}` : `node/${node}`;
  const source: Standing = said(
    { kind: "Source", name },
    {
      health: "Unknown",
      reason: reason === "Stale" ? "SourceSilent" : reason,
      message,
      since,
      needs: host === undefined ? [] : [{ thing: agentOn(host) }],
      remedy:
        node === undefined
          ? { text: "see whether the pod runs, and p2pnc in it", command: `plumbline describe pod ${sourceOf(check)} -n ${namespace}` }
          : { text: "see what the agent of the node lacks to make checks, in the words above", command: `plumbline describe node ${node}` },
    },
  );
  return { word: { ...word, needs: [{ thing: source.thing }] }, about: [source] };
}

const meshes = explainer(ConnectivityMesh, function* ({ metadata, status }): Iterable<Standing> {
  const thing: Thing = { kind: "ConnectivityMesh", namespace: metadata.namespace ?? "", name: metadata.name };
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const controller: Need = { thing: { kind: "Controller", name: "plumbline" } };
  yield said(thing, { ...(metadata.deletionTimestamp === undefined ? meshWord(thing, ready) : HEALTHY), needs: [controller] });
});

const MESH_REMEDIES: Readonly<Record<string, string>> = {
  Incomplete: "change spec.sources or spec.targets, or bring what they name into being",
  NameTaken: "delete or rename the checks that stand in its way",
  Refused: "change what the API server refuses, in the words above",
  Unreadable: "give the controller the right to read the namespaces of its targets",
};

function meshWord(thing: Thing, ready: Condition | undefined): Word {
  // What is still to be made is made in a moment.
  if (!ready || ready.status === "True" || ready.reason === "Creating") return HEALTHY;
  const { status, reason, message, lastTransitionTime: since } = ready;
  const text = MESH_REMEDIES[reason] ?? "see what is wrong with it";
  const remedy = { text, change: { thing, ...(reason === "Incomplete" && { field: "spec" }) } };
  return { health: status === "Unknown" ? "Unknown" : "Degraded", reason, message, since, ownFault: true, remedy };
}
