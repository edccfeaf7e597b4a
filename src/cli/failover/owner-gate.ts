import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import { isExempt, type Owner, ownersOf, titleOf } from "../../failover/owners.ts";
import { ServedKinds } from "../../failover/sight/served.ts";
import { gitOpsManagerOf, switchedBy } from "../../failover/switch-record.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { print, printError } from "../../kube/printable.ts";
import { CliError, EXIT } from "../exit.ts";
import { isSuspended, readOwner, type ReadOwner, resumeCommand, suspendOwner, type SuspendedOwner, whenItReverts } from "./owner-object.ts";

/** What `failover switch` suspended, so that a later one can say how to resume it. */
const SUSPENDED = "plumbline.dev/failover-suspended-owners";

export interface OwnerOptions {
  suspendOwner?: boolean;
  ownerIsChanged?: boolean;
}

/** Annotations to write with the switch; undefined when something would take it back, and nothing was said about that. */
export async function passOwners(
  client: KubeClient,
  policy: FailoverPolicy,
  { to, suspendOwner: suspends = false, ownerIsChanged = false }: OwnerOptions & { to: Role },
  signal: AbortSignal,
): Promise<Record<string, string | null> | undefined> {
  if (suspends && ownerIsChanged) throw new CliError("--suspend-owner and --owner-is-changed exclude each other", EXIT.misuse);
  const served = new ServedKinds(client);
  await served.ask(["Kustomization", "HelmRelease", "Application"], signal);
  const earlier = await stillSuspended(client, served, policy, signal);
  for (const owner of earlier) print(`${titleOf(owner)} is suspended by an earlier switch. ${resumeLine(owner, to)}\n`);

  const owners = await Promise.all(ownersOfPolicy(policy).map((owner) => readOwner(client, served, owner, signal)));
  const reverting = owners.filter((owner) => whenItReverts(owner) !== undefined);
  const unnamed = owners.length === 0 ? gitOpsManagerOf(policy) : undefined;
  // What the spec already says, nobody takes back.
  const isNew = policy.spec.desiredState !== to;
  const passed = (suspended: readonly SuspendedOwner[]) => ({
    ...switchedBy(to, new Date(), ownerIsChanged),
    ...memory(policy, [...earlier, ...suspended]),
  });
  if (!isNew || ownerIsChanged || (reverting.length === 0 && unnamed === undefined)) return passed([]);

  if (!suspends || unnamed !== undefined) {
    refuse(policy, reverting, unnamed);
    return undefined;
  }
  const suspended: SuspendedOwner[] = [];
  for (const owner of reverting) {
    const done = await suspendOwner(client, owner, signal);
    suspended.push(done);
    print(`${titleOf(done)} is suspended. ${resumeLine(done, to)}\n`);
    for (const parent of parentsOf(owner)) printError(`Warning: ${titleOf(parent)} applies ${titleOf(done)}, and may resume it\n`);
  }
  return passed(suspended);
}

/** A release of helm without a HelmRelease changes nothing by itself. */
function ownersOfPolicy(policy: FailoverPolicy): Owner[] {
  return ownersOf("FailoverPolicy", policy).filter(({ kind }) => kind !== "Helm" && !(kind === "Kustomization" && isExempt(policy)));
}

function parentsOf({ owner, object }: ReadOwner): Owner[] {
  return object ? ownersOf(owner.kind, object) : [];
}

function refuse({ spec }: FailoverPolicy, reverting: readonly ReadOwner[], unnamed: string | undefined): void {
  const back = `would set spec.desiredState back to ${spec.desiredState}`;
  const lines = reverting.map((one) => `  ${titleOf(one.owner)} applies this policy and ${back} ${whenItReverts(one)}`);
  if (unnamed !== undefined)
    lines.push(`  ${unnamed} wrote spec.desiredState last and ${back}; no label or annotation says for which object`);
  const suspend = unnamed === undefined ? ", or add --suspend-owner to suspend it" : "";
  printError(
    ["Refused, and nothing is changed:", ...lines, `Change desiredState in Git first and add --owner-is-changed${suspend}`, ""].join("\n"),
  );
  process.exitCode = EXIT.no;
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
  const known = remembered(policy.metadata.annotations?.[SUSPENDED]);
  const read = await Promise.all(known.map((owner) => readOwner(client, served, { ...owner, mark: "" }, signal)));
  return known.filter((_owner, at) => read[at] && isSuspended(read[at]));
}

function memory(policy: FailoverPolicy, owners: readonly SuspendedOwner[]): Record<string, string | null> {
  if (owners.length > 0) return { [SUSPENDED]: JSON.stringify(owners) };
  return policy.metadata.annotations?.[SUSPENDED] === undefined ? {} : { [SUSPENDED]: null };
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
