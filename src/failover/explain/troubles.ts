import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { Condition } from "../../api/kind.ts";
import type { HealthStatement, Component } from "../../api/health.ts";
import type { PolicyProblem } from "./trouble.ts";

/** What the condition Error lists: resources with what is wrong with each, or fields of the policy. */
export function policyProblems(policy: FailoverPolicy, { reason, message, lastTransitionTime: since }: Condition): PolicyProblem[] {
  const { namespace = "", name } = policy.metadata;
  const component: Component = { kind: "FailoverPolicy", namespace, name };
  const command = `plumbline failover plan ${name} -n ${namespace}`;
  return splitMessage(message).map((text): PolicyProblem => {
    const [, kind, place, words] = /^([A-Z][A-Za-z]+) ([^\s:]+): ([^]*)$/.exec(text) ?? [];
    if (kind === undefined || place === undefined || words === undefined) {
      const field = /^((?:spec|status)[^\s:]*): /.exec(text)?.[1];
      const fix = {
        text: policyFix(reason, field) ?? (field === undefined ? "run the command to see what blocks it" : `change ${field}`),
        change: { component, ...(field !== undefined && { field }) },
        command,
      };
      return { word: { reason, message: text, ownFault: true, fix }, about: [] };
    }
    const about: HealthStatement = {
      component: resource(kind, place),
      domain: "failover",
      health: "Down",
      reason,
      message: words,
      since,
      ownFault: true,
      fix: { text: fixFor(reason, kind), change: { component: resource(kind, place) }, command },
    };
    return { word: { reason, message: text }, about: [about] };
  });
}

function resource(kind: string, place: string): Component {
  const slash = place.indexOf("/");
  return slash < 0 ? { kind, name: place } : { kind, namespace: place.slice(0, slash), name: place.slice(slash + 1) };
}

/** They are joined with semicolons, which stand in some of them too. */
export function splitMessage(message: string): string[] {
  return message.split(/; (?=[A-Z][A-Za-z]+ [^\s:;]+: |(?:spec|status)[.[\w\]]*: )/).filter((text) => text !== "");
}

const FIXES: Readonly<Record<string, string>> = {
  NotFound: "create it, or remove it from the policy",
  KindNotInstalled: "install the CRD of the kind, or remove it from the policy",
  Forbidden: "grant the controller access; the roles of the chart include it",
  ReadFailed: "fix the read error in the message",
  Conflict: "remove it from one of the two policies",
  Refused: "change what the message names",
  VolumeError: "check the storage driver's status for the volume",
  Drifted: "make it primary again, or change the policy",
  NotAvailable: "check its pods, Events and conditions",
  PriorStateLost: "restore the value that the message names, or set the annotation again",
  FenceFailed: "fix what the storage driver reports; csi-addons retries",
  NotReplicating: "check the storage's replication to the other site",
  CopyTooOld: "check the storage's replication to the other site",
  OwnedByGitOps: "exempt the volume from what applies it, as the message says",
  OwnerNotNamed: "name its owner in spec.managedResources, so that it is suspended and resumed with the site",
  VolumeMismatch: "name the same volumes in the policies of both sites",
  NotPermitted: "set the annotation that the message names on the namespace",
  WriteFailed: "fix the write error in the message",
};

function fixFor(reason: string, kind: string): string {
  return FIXES[reason] ?? `see what is wrong with the ${kind}, in the message`;
}

/** Of what is wrong with the policy itself, by the field that it is about. A condition has the reason of its first sentence only. */
const POLICY_FIXES: Readonly<Record<string, { readonly field?: string; readonly text: string }>> = {
  PeerRemoved: { field: "spec.peer", text: "set spec.peer again, or delete the token with `plumbline failover forget-peer`" },
  PeerNamesOther: { field: "spec.peer", text: "set spec.peer of the policy at the other site to this policy" },
  VolumeMismatch: { field: "spec.managedResources", text: "name the same volumes in the policies of both sites" },
  RevertedByOwner: {
    field: "spec.desiredState",
    text: "set the role in Git, or confirm the role that Git has with the command in the message",
  },
  Restored: { field: "status.token", text: "set desiredState secondary here, or force it if the newest data is here" },
  SplitBrain: { text: "set desiredState secondary at the site that must not write" },
  NotReplicating: { text: "check the storage's replication, and the policy at the other site" },
  CopyTooOld: { text: "check the storage's replication, and the policy at the other site" },
};

function policyFix(reason: string, field: string | undefined): string | undefined {
  const fix = POLICY_FIXES[reason];
  return fix?.field === field ? fix?.text : undefined;
}
