import { suspendedOwnersAnnotation } from "../../api/annotations.ts";
import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import { isExempt, type Owner, ownersOf, titleOf } from "../../failover/policy/owners.ts";
import type { ServedKinds } from "../../failover/observe/served-kinds.ts";
import { gitOpsManagerOf, switchedBy } from "../../failover/policy/switch-record.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { printError } from "../../kube/printable.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { isSuspended, readOwner, type ReadOwner, resumeCommand, suspendOwner, type SuspendedOwner, whenItReverts } from "./owner-object.ts";
import { type PolicyFailure, policyFailure } from "../../failover/policy/failure.ts";

const GIT_FIRST = "Change desiredState in Git first and add --owner-is-changed";

export interface OwnerOptions {
  suspendOwner?: boolean;
  ownerIsChanged?: boolean;
}

export interface OwnerCheck {
  /** Owners that would revert the switch, if the user chose no way to handle them. */
  readonly rejections: readonly PolicyFailure[];
  readonly toSuspend: readonly ReadOwner[];
  /** Suspended by an earlier switch, and still suspended. */
  readonly earlier: readonly SuspendedOwner[];
}

export function mustNotContradict({ suspendOwner: suspends, ownerIsChanged }: OwnerOptions): void {
  if (suspends && ownerIsChanged) throw new CliError("--suspend-owner and --owner-is-changed are mutually exclusive", EXIT.misuse);
}

export async function checkOwners(
  client: KubeClient,
  policy: FailoverPolicy,
  { to, suspendOwner: suspends = false, ownerIsChanged = false }: OwnerOptions & { to: Role },
  served: ServedKinds,
  signal: AbortSignal,
): Promise<OwnerCheck> {
  await served.ask(["Kustomization", "HelmRelease", "Application"], signal);
  const earlier = await stillSuspended(client, served, policy, signal);
  const owners = await Promise.all(ownersOfPolicy(policy).map((owner) => readOwner(client, served, owner, signal)));
  const reverting = owners.filter((owner) => whenItReverts(owner) !== undefined);
  const unnamed = owners.length === 0 ? gitOpsManagerOf(policy) : undefined;
  // Nothing reverts a spec that already has this state.
  const isNew = policy.spec.desiredState !== to;
  if (!isNew || ownerIsChanged || (reverting.length === 0 && unnamed === undefined)) return { rejections: [], toSuspend: [], earlier };
  if (!suspends || unnamed !== undefined) return { rejections: blockersOf(policy, reverting, unnamed), toSuspend: [], earlier };
  const unread = reverting.filter(({ object }) => !object).map(({ owner, error }) => unreadBlocker(policy, owner, error));
  return { rejections: unread, toSuspend: unread.length > 0 ? [] : reverting, earlier };
}

export async function suspendOwners(
  client: KubeClient,
  policy: FailoverPolicy,
  { toSuspend, earlier }: OwnerCheck,
  { to, ownerIsChanged = false, say }: OwnerOptions & { to: Role; say: (line: string) => void },
  signal: AbortSignal,
): Promise<Record<string, string | null>> {
  for (const owner of earlier) say(`${titleOf(owner)} is suspended by an earlier switch. ${resumeLine(owner, to)}\n`);
  const suspended: SuspendedOwner[] = [];
  for (const owner of toSuspend) {
    const done = await suspendOwner(client, owner, signal);
    suspended.push(done);
    say(`${titleOf(done)} is suspended. ${resumeLine(done, to)}\n`);
    for (const parent of parentsOf(owner)) printError(`Warning: ${titleOf(parent)} applies ${titleOf(done)}, and may resume it\n`);
  }
  return { ...switchedBy(to, new Date(), ownerIsChanged), ...memory(policy, [...earlier, ...suspended]) };
}

/** A helm release without a HelmRelease changes nothing by itself. */
function ownersOfPolicy(policy: FailoverPolicy): Owner[] {
  return ownersOf("FailoverPolicy", policy).filter(({ kind }) => kind !== "Helm" && !(kind === "Kustomization" && isExempt(policy)));
}

function parentsOf({ owner, object }: ReadOwner): Owner[] {
  return object ? ownersOf(owner.kind, object) : [];
}

function blockersOf(policy: FailoverPolicy, reverting: readonly ReadOwner[], unnamed: string | undefined): PolicyFailure[] {
  const back = `would set spec.desiredState back to ${policy.spec.desiredState}`;
  const found = reverting.map((one) => `${titleOf(one.owner)} applies this policy and ${back} ${whenItReverts(one)}`);
  if (unnamed !== undefined)
    found.push(`${unnamed} wrote spec.desiredState last and ${back}; no label or annotation says for which object`);
  const suspend = unnamed === undefined ? ", or add --suspend-owner to suspend it" : "";
  return found.map((text) => blocker(policy, `${text}. ${GIT_FIRST}${suspend}`));
}

function unreadBlocker(policy: FailoverPolicy, owner: Owner, error = "it cannot be read"): PolicyFailure {
  return blocker(policy, `${titleOf(owner)} applies this policy and cannot be suspended: ${error}. ${GIT_FIRST}`);
}

function blocker(policy: FailoverPolicy, message: string): PolicyFailure {
  return policyFailure(policy, "OwnedByGitOps", message, { field: "spec.desiredState" });
}

function resumeLine(owner: SuspendedOwner, to: Role): string {
  return `When Git says ${to}, resume it: ${resumeCommand(owner)}`;
}

async function stillSuspended(
  client: KubeClient,
  served: ServedKinds,
  policy: FailoverPolicy,
  signal: AbortSignal,
): Promise<SuspendedOwner[]> {
  const known = remembered(policy.metadata.annotations?.[suspendedOwnersAnnotation]);
  const read = await Promise.all(known.map((owner) => readOwner(client, served, { ...owner, mark: "" }, signal)));
  return known.filter((_owner, at) => read[at] && isSuspended(read[at]));
}

function memory(policy: FailoverPolicy, owners: readonly SuspendedOwner[]): Record<string, string | null> {
  if (owners.length > 0) return { [suspendedOwnersAnnotation]: JSON.stringify(owners) };
  return policy.metadata.annotations?.[suspendedOwnersAnnotation] === undefined ? {} : { [suspendedOwnersAnnotation]: null };
}

function remembered(text: string | undefined): SuspendedOwner[] {
  if (text === undefined) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as SuspendedOwner[]) : [];
  } catch {
    return [];
  }
}
