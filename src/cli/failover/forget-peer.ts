import type { Command } from "commander";
import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { Peers } from "../../failover/token/peers.ts";
import { FORGET_PEER, type PeerView } from "../../failover/token/token.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { print, printError } from "../../kube/printable.ts";
import { connect } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { type PolicyOptions, readPolicy, titleOf, withPolicy } from "./read-policy.ts";

interface ForgetOptions extends PolicyOptions {
  reason: string;
  otherSiteIsGone?: boolean;
}

export function configureForgetPeer(command: Command): void {
  withPolicy(command)
    .argument("<policy>", "the FailoverPolicy")
    .requiredOption("--reason <text>", "why the other site is given up; it is recorded")
    .option("--other-site-is-gone", "also when this site does not hold the token and the other one does not answer")
    .addHelpText(
      "after",
      `
Removes spec.peer and gives up the token for good: from then on nothing but you keeps two sites from writing. Refused while the other site holds the token, or could. Exit 1
when it is refused, and then nothing is changed.

Examples:
  plumbline failover forget-peer web -n shop --reason "site B is closed"
  plumbline failover forget-peer web -n shop --reason "site A burnt down, its disks are gone" --other-site-is-gone
`,
    )
    .action(run);
}

async function run(name: string, options: ForgetOptions): Promise<void> {
  const reason = options.reason.trim();
  if (reason === "") throw new CliError("--reason is empty: say why the other site is given up", EXIT.misuse);
  const { signal } = new AbortController();
  const client = await connect(options);
  const peers = new Peers(client);
  try {
    const policy = await readPolicy(client, name, options, signal);
    const title = `FailoverPolicy ${titleOf(policy)}`;
    if (!policy.spec.peer && !policy.status?.token)
      throw new CliError(`${title} has neither spec.peer nor a token: nothing to give up`, EXIT.no);
    const view = policy.spec.peer && (await peers.ask(policy, signal));
    const refusal = whyNot(policy, view, options);
    if (refusal !== undefined) throw new CliError(`${title} keeps its peer: ${refusal}`, EXIT.no);
    if (view && !view.reachable) printError(`The other site could not be asked: ${view.message}\n`);
    await forget(client, policy, reason, signal);
    print(`${title} has no peer any more, and its token does not count: ${reason}\n`);
    print("Delete the policy at the other site, or run forget-peer there too; until then it waits for this site.\n");
  } finally {
    peers.close();
    client.close();
  }
}

/** Why giving up the token could start a second writer. */
export function whyNot(
  { metadata, spec, status }: FailoverPolicy,
  view: PeerView | undefined,
  { otherSiteIsGone }: Pick<ForgetOptions, "otherSiteIsGone">,
): string | undefined {
  const own = status?.token;
  const theirs = view?.reachable && view.exists ? view : undefined;
  const holdsMore = theirs?.token?.state === "Held" && (own?.state !== "Held" || theirs.token.epoch >= own.epoch);
  if (holdsMore) {
    return `the other site holds epoch ${theirs.token?.epoch} and may write. Switch it to secondary there and this one to primary, or give up this site: delete this policy`;
  }
  // Writers run here, by right; the other site starts none without this one's release, which will never come.
  if (own?.state === "Held") return undefined;
  if (own && spec.desiredState === "primary") {
    return `it has released its token and is asked to be primary, so it would start without the other site. Ask for secondary first: plumbline failover switch ${metadata.name} -n ${metadata.namespace} --to secondary`;
  }
  if (theirs?.desiredState === "primary")
    return "the other site is asked to be primary, and may take the token at any moment. Switch it to secondary there first";
  if (view?.reachable || otherSiteIsGone) return undefined;
  const unheard = view
    ? `the other site does not answer: ${view.message.replace(/[.?]$/, "")}`
    : "spec.peer is gone, so the other site cannot be asked";
  return `its token is ${own ? "Released" : "not there yet"}, and ${unheard}. If it is known never to write again, add --other-site-is-gone`;
}

/** In one write, and only if nobody has changed the policy since: who reads half of it would take a released site for one without a peer. */
async function forget(client: KubeClient, policy: FailoverPolicy, reason: string, signal: AbortSignal): Promise<void> {
  const { name, namespace = "", uid = "", resourceVersion = "" } = policy.metadata;
  const value = JSON.stringify({ uid, epoch: policy.status?.token?.epoch ?? 0, reason });
  const patch = { metadata: { annotations: { [FORGET_PEER]: value } }, spec: { peer: null, force: null } };
  try {
    await client.resource(FailoverPolicy).patch({ name, namespace }, patch, { resourceVersion, signal });
  } catch (error) {
    if (!isKubeError(error, "Conflict")) throw error;
    throw new CliError(`FailoverPolicy ${titleOf(policy)} was changed at this moment; nothing is done, try again`, EXIT.no, {
      cause: error,
    });
  }
}
