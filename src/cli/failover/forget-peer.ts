import { forgetPeerAnnotation } from "../../api/annotations.ts";
import { withoutEndMark } from "../../util/text.ts";
import { type Command, Option } from "commander";
import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { Peers } from "../../failover/token/peers.ts";
import { type PeerView } from "../../failover/token/token.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { print, printError } from "../../kube/printable.ts";
import { connect } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { printItems } from "../print/items.ts";
import { type PolicyOptions, readPolicy, titleOf, withPolicy } from "./read-policy.ts";

interface ForgetOptions extends PolicyOptions {
  reason: string;
  otherSiteIsGone?: boolean;
  output: "text" | "json";
}

export function configureForgetPeer(command: Command): void {
  withPolicy(command)
    .argument("<policy>", "the FailoverPolicy")
    .requiredOption("--reason <text>", "why the other site is removed; recorded in the policy")
    .option("--other-site-is-gone", "also when this site does not hold the token and the other one does not answer")
    .addOption(new Option("-o, --output <format>", "how to print the result").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Removes spec.peer and gives up the token for good. After that, only you keep two sites from writing. Rejected while the other site holds the token or
may hold it. Exit 1 when it is rejected; then nothing is changed.

Examples:
  plumbline failover forget-peer web -n shop --reason "site B is closed"
  plumbline failover forget-peer web -n shop --reason "site B is closed" -o json
  plumbline failover forget-peer web -n shop --reason "site A burnt down, its disks are gone" --other-site-is-gone
`,
    )
    .action(run);
}

async function run(name: string, options: ForgetOptions): Promise<void> {
  const reason = options.reason.trim();
  if (reason === "") throw new CliError("--reason is empty: say why the other site is removed", EXIT.misuse);
  const { signal } = new AbortController();
  const client = await connect(options);
  const peers = new Peers(client);
  try {
    const policy = await readPolicy(client, name, options, signal);
    const title = `FailoverPolicy ${titleOf(policy)}`;
    const view = policy.spec.peer && (await peers.ask(policy, signal));
    const blocker = policy.spec.peer || policy.status?.token ? whyNot(policy, view, options) : NOTHING;
    if (blocker === undefined) await forget(client, policy, reason, signal);
    if (options.output === "json") printItems("ForgottenPeer", [itemOf(policy, { reason, rejection: blocker, view })]);
    if (blocker === NOTHING) throw new CliError(`${title} ${blocker}`, EXIT.no);
    if (blocker !== undefined) throw new CliError(`${title} keeps its peer: ${blocker}`, EXIT.no);
    if (view && !view.reachable) printError(`Cannot read the other site: ${view.message}\n`);
    if (options.output === "json") return;
    print(`${title} has no peer now, and its token is ignored: ${reason}\n`);
    print("Delete the policy at the other site, or run forget-peer there too; until then it waits for this site.\n");
  } finally {
    peers.close();
    client.close();
  }
}

const NOTHING = "has neither spec.peer nor a token: nothing to remove";

interface Forgotten {
  readonly reason: string;
  readonly rejection: string | undefined;
  readonly view: PeerView | undefined;
}

function itemOf({ metadata, status }: FailoverPolicy, { reason, rejection, view }: Forgotten): object {
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    state: rejection === undefined ? "forgotten" : "refused",
    ...(rejection === undefined ? { reason } : { message: rejection }),
    ...(status?.token && { token: status.token }),
    ...(view && { peer: view }),
  };
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
  // This site holds the token and its writers may run; the other site starts none without a release, which will never come.
  if (own?.state === "Held") return undefined;
  if (own && spec.desiredState === "primary") {
    return `its token is Released and its desiredState is primary, so it would start without the other site. Switch it to secondary first: plumbline failover switch ${metadata.name} -n ${metadata.namespace} --to secondary`;
  }
  if (theirs?.desiredState === "primary")
    return "desiredState at the other site is primary, so it may take the token at any time. Switch it to secondary there first";
  if (view?.reachable || otherSiteIsGone) return undefined;
  const unreadable = view
    ? `the other site does not answer: ${withoutEndMark(view.message)}`
    : "spec.peer is gone, so the other site cannot be read";
  return `its token is ${own ? "Released" : "not there yet"}, and ${unreadable}. If the other site will never write again, add --other-site-is-gone`;
}

/** In one write, and only if the policy has not changed since. Half of it would look like a released site without a peer. */
async function forget(client: KubeClient, policy: FailoverPolicy, reason: string, signal: AbortSignal): Promise<void> {
  const { name, namespace = "", uid = "", resourceVersion = "" } = policy.metadata;
  const value = JSON.stringify({ uid, epoch: policy.status?.token?.epoch ?? 0, reason });
  const patch = { metadata: { annotations: { [forgetPeerAnnotation]: value } }, spec: { peer: null, force: null } };
  try {
    await client.resource(FailoverPolicy).patch({ name, namespace }, patch, { resourceVersion, signal });
  } catch (error) {
    if (!isKubeError(error, "Conflict")) throw error;
    throw new CliError(`FailoverPolicy ${titleOf(policy)} changed meanwhile; nothing was written, run the command again`, EXIT.no, {
      cause: error,
    });
  }
}
