import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { Condition } from "../../api/kind.ts";
import type { Standing, Thing } from "../../api/health.ts";
import type { Trouble } from "../explaining/trouble.ts";

/** What the condition Error lists: resources with what is wrong with each, or fields of the policy. */
export function troubles(policy: FailoverPolicy, { reason, message, lastTransitionTime: since }: Condition): Trouble[] {
  const { namespace = "", name } = policy.metadata;
  const thing: Thing = { kind: "FailoverPolicy", namespace, name };
  const command = `plumbline failover plan ${name} -n ${namespace}`;
  return sentences(message).map((text): Trouble => {
    const [, kind, place, words] = /^([A-Z][A-Za-z]+) ([^\s:]+): ([^]*)$/.exec(text) ?? [];
    if (kind === undefined || place === undefined || words === undefined) {
      const field = /^(spec[^\s:]*): /.exec(text)?.[1];
      const remedy = {
        text: policyRemedy(reason, field) ?? (field === undefined ? "see what is in the way" : `change ${field}`),
        change: { thing, ...(field !== undefined && { field }) },
        command,
      };
      return { word: { reason, message: text, ownFault: true, remedy }, about: [] };
    }
    const about: Standing = {
      thing: resource(kind, place),
      domain: "failover",
      health: "Down",
      reason,
      message: words,
      since,
      ownFault: true,
      remedy: { text: remedyFor(reason, kind), change: { thing: resource(kind, place) }, command },
    };
    return { word: { reason, message: text }, about: [about] };
  });
}

function resource(kind: string, place: string): Thing {
  const slash = place.indexOf("/");
  return slash < 0 ? { kind, name: place } : { kind, namespace: place.slice(0, slash), name: place.slice(slash + 1) };
}

/** They are joined with semicolons, which stand in some of them too. */
export function sentences(message: string): string[] {
  return message.split(/; (?=[A-Z][A-Za-z]+ [^\s:;]+: |spec[.[\w\]]*: )/).filter((text) => text !== "");
}

const REMEDIES: Readonly<Record<string, string>> = {
  NotFound: "create it, or take it out of the policy",
  KindNotInstalled: "install what brings the kind, or take it out of the policy",
  Forbidden: "give the controller the right to it: the roles of the chart have it",
  LookFailed: "see why it cannot be read, in the message",
  Contested: "let one of the two policies have it",
  Refused: "change what the message names",
  VolumeError: "see what the storage driver says of the volume, and fix that",
  Drifted: "make it primary again, or change the policy",
  NotAvailable: "check its pods and Events, or its conditions, for why it does not become available",
  PriorStateLost: "restore the value that the message names, or set the annotation again",
  FenceFailed: "fix what the storage driver reports; csi-addons tries again",
  NotReplicating: "check the storage's replication to the other site",
  CopyTooOld: "check the storage's replication to the other site",
  OwnedByGitOps: "exempt the volume from what applies it, as the message says",
  VolumeMismatch: "name the same volumes in the policies of both sites",
  NotPermitted: "set the annotation that the message names on the namespace",
  WriteFailed: "see why it cannot be written, in the message",
};

function remedyFor(reason: string, kind: string): string {
  return REMEDIES[reason] ?? `see what is wrong with the ${kind}, in the message`;
}

/** Of what is wrong with the policy itself, by the field that it is about. A condition has the reason of its first sentence only. */
const POLICY_REMEDIES: Readonly<Record<string, { readonly field?: string; readonly text: string }>> = {
  PeerRemoved: { field: "spec.peer", text: "set spec.peer again, or give up the token with `plumbline failover forget-peer`" },
  PeerNamesOther: { field: "spec.peer", text: "let spec.peer of the policy at the other site name this policy" },
  VolumeMismatch: { field: "spec.managedResources", text: "name the same volumes in the policies of both sites" },
  RevertedByOwner: {
    field: "spec.desiredState",
    text: "set the role in Git, or confirm the role that Git has with the command in the message",
  },
  Split: { text: "set desiredState secondary at the site that is not to write" },
  NotReplicating: { text: "check the storage's replication, and the policy at the other site" },
  CopyTooOld: { text: "check the storage's replication, and the policy at the other site" },
};

function policyRemedy(reason: string, field: string | undefined): string | undefined {
  const remedy = POLICY_REMEDIES[reason];
  return remedy?.field === field ? remedy?.text : undefined;
}
