type Rows<Reason extends string> = Readonly<Record<Reason, readonly [meaning: string, fix: string]>>;
const AS_THE_MESSAGE_SAYS = "as the message says";

function documented<Reason extends string>(rows: Rows<Reason>): Rows<Reason> {
  return rows;
}

/** Of condition Ready: what would stop a switch, or was not observed. */
export const readyReasons = documented({
  PeerUnreachable: ["the other site's policy cannot be read", "check the site, the network and the Secret of `spec.peer`"],
  PeerMissing: ["the other site has no such policy", "create the policy there"],
  PeerNamesOther: ["`spec.peer` of the policy there names another policy", "make the two policies name each other"],
  PeerNotAsked: ["the other site has not been read yet", "wait 20 s"],
  NotReplicating: ["csi-addons reports that a volume is not replicated", "check the storage"],
  CopyTooOld: ["the last copy is older than `spec.maxCopyAge`", "check the storage; or raise `maxCopyAge`"],
  CopyAgeUnknown: ["nothing reports the age of the copy", "set `maxCopyAge` at both sites; csi-addons must report `lastSyncTime`"],
  NotObserved: [
    "nothing reports whether volumes are replicated",
    "csi-addons 0.13 or newer reports `Replicating`; `maxCopyAge` at both sites judges by age",
  ],
});

/** Of condition Error, and of Ready for what would reject a switch to the other role. */
export const failureReasons = documented({
  Invalid: ["a field of the policy is wrong", "correct the field that the message names"],
  Conflict: ["another policy names the same object", "remove it from one of the two"],
  NotPermitted: [
    "another namespace has not consented",
    "set the annotation that the message names, see [below](#decide-who-may-create-policies)",
  ],
  NotFound: ["an object does not exist", "create it, or remove it from the policy"],
  KindNotInstalled: ["the cluster does not serve a kind that the policy names", "install its CRD, or remove it from the policy"],
  Forbidden: ["the controller may not read or write an object", "restore the roles of the chart with `helm upgrade`"],
  ReadFailed: ["an object cannot be read", AS_THE_MESSAGE_SAYS],
  Refused: ["an object of the policy cannot be switched as it is", AS_THE_MESSAGE_SAYS],
  VolumeError: ["the storage driver reports an error for a volume", "fix the driver; the switch continues then"],
  Drifted: ["another controller or person demoted a volume of the primary", "make it primary again, or change the policy"],
  PeerInvalid: ["`spec.peer` or its Secret is wrong, see [below](#connect-the-two-sites)", "correct the field that the message names"],
  PeerRemoved: ["`spec.peer` is gone, and this site has released its token", "set `spec.peer` again, or [remove the peer](#remove-a-peer)"],
  VolumeMismatch: ["only one of the two policies names a volume", "name the same volumes in both"],
  WriteFailed: ["the API server rejected a write, which is retried", "check admission webhooks and quotas"],
  NotAvailable: ["the site is switched, and a workload is not available", "check its pods, Events and conditions"],
  PriorStateLost: ["the prior state of an object is lost, see [below](#restore-an-object-by-hand)", "restore it as the message says"],
  FenceFailed: ["the storage driver could not fence the other site, see [below](#fence-the-other-site)", "fix what the driver reports"],
  SplitBrain: ["the other site has a higher epoch: this one becomes secondary", "see [below](#switch-when-the-other-site-is-down)"],
  OwnedByGitOps: [
    "Flux or Argo CD would write the role of a volume back",
    "exempt the volume, see [below](#keep-flux-helm-and-argo-cd-from-undoing-a-switch)",
  ],
  OwnerNotNamed: [
    "Flux or Argo CD applies a Deployment or StatefulSet and would scale it back",
    "name the owner in `managedResources`, see [below](#keep-flux-helm-and-argo-cd-from-undoing-a-switch)",
  ],
  RevertedByOwner: ["Git reverted a manual switch", "set the role in Git"],
  Restored: ["this cluster was restored from a backup with an older token", "see [below](#after-a-restore-of-etcd)"],
});

export type FailureReason = keyof typeof failureReasons;
export type ReadyReason = keyof typeof readyReasons | FailureReason;
