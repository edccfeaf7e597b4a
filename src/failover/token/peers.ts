import { Secret } from "../../api/core/secret.ts";
import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { ObjectMeta } from "../../api/kind.ts";
import { accessFromText } from "../../kube/client/access.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { isKubeError, KubeError } from "../../kube/client/error.ts";
import { asSwitched } from "../policy/switch-record.ts";
import { copyOf } from "./peer-copy.ts";
import { lookup, PEER_FIELDS, PeerProblem, problemOf, rejectedAccess } from "./peer-problem.ts";
import type { PeerView, ObservedToken } from "./token.ts";
import { managedBy, volumeKeys } from "../policy/managed.ts";

/** Long enough for another continent, and short enough to retry every 5 s. */
const DEADLINE_MS = 5_000;
/** A policy has a few KB; the kubeconfig of a tenant may point at anything. */
const MAX_ANSWER_BYTES = 1 << 20;
/** A later request opens a new connection. */
const UNUSED_MS = 10 * 60_000;

export interface PeersOptions {
  /** Whether the Secret must be readable, as for the controller. A person may lack the right and still switch. */
  mustRead?: boolean;
  /** The uid of a policy of the own cluster, if known: a policy here is not another site. */
  uidOf?: (key: string) => string | undefined;
}

interface Connection {
  /** As in the Secret. */
  readonly content: string;
  readonly client: Promise<KubeClient>;
  usedAt: number;
}

interface Unreachable {
  readonly error: KubeError;
  readonly since: number;
  /** Whether a caller is waiting for an answer now. */
  hasWaiter: boolean;
}

/** Reads the policies of other sites; never writes there. */
export class Peers {
  readonly #client: KubeClient;
  readonly #options: PeersOptions;
  readonly #connections = new Map<string, Connection>();
  /** By server: those that did not answer last time. */
  readonly #unreachable = new Map<string, Unreachable>();

  /** `client` is that of the own cluster, which has the Secrets. */
  constructor(client: KubeClient, options: PeersOptions = {}) {
    this.#client = client;
    this.#options = options;
  }

  async ask(policy: FailoverPolicy, signal: AbortSignal): Promise<PeerView> {
    const { peer } = policy.spec;
    if (!peer) throw new TypeError(`FailoverPolicy ${policy.metadata.name} has no spec.peer`);
    const { namespace = policy.metadata.namespace ?? "", name = policy.metadata.name } = peer;
    try {
      const client = await this.#clientFor(policy.metadata.namespace ?? "", peer.kubeconfigSecret, signal);
      const read = () => client.resource(FailoverPolicy).get(name, { namespace, signal });
      const answer = await this.#askOnce(client.access.server, read).catch(async (error: unknown) => {
        throw (isKubeError(error) && (await problemOf(error, client.access, new Date()))) || error;
      });
      return understood(answer, policy, this.#options.uidOf?.(`${namespace}/${name}`));
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof PeerProblem) return { reachable: false, message: error.message, field: error.field };
      if (!isKubeError(error)) throw error;
      // The same answer for a cluster without the kind, the namespace or the policy.
      if (error.code === "NotFound") return { reachable: true, exists: false };
      return { reachable: false, message: error.message };
    }
  }

  close(): void {
    for (const connection of this.#connections.values()) closeConnection(connection);
    this.#connections.clear();
    this.#unreachable.clear();
  }

  /**
   * After a timeout only one caller waits for the server; for the others it is still unreachable, which grants nothing. Otherwise all
   * policies of a lost site would queue for each other's five seconds, on the day on which they must be switched.
   */
  async #askOnce<T>(server: string, ask: () => Promise<T>): Promise<T> {
    const unreachable = this.#unreachable.get(server);
    if (unreachable?.hasWaiter) throw unreachable.error;
    if (unreachable) unreachable.hasWaiter = true;
    try {
      const answer = await ask();
      this.#unreachable.delete(server);
      return answer;
    } catch (error) {
      if (isKubeError(error, "Unreachable", "Timeout"))
        this.#unreachable.set(server, { error, since: performance.now(), hasWaiter: false });
      else this.#unreachable.delete(server);
      throw error;
    }
  }

  /** Reused while the Secret is unchanged. */
  async #clientFor(namespace: string, { name, key }: { name: string; key: string }, signal: AbortSignal): Promise<KubeClient> {
    const origin = `Secret ${namespace}/${name} key ${key}`;
    const content = await this.#read(namespace, { name, key }, signal);
    this.#forgetUnused();
    const connection = this.#connections.get(origin);
    if (connection?.content === content) {
      connection.usedAt = performance.now();
      return connection.client;
    }

    if (connection) closeConnection(connection);
    const client = openConnection(content, origin, this.#client.access.server);
    this.#connections.set(origin, { content, client, usedAt: performance.now() });
    return client;
  }

  /** Policies and Secrets are deleted, and servers are arbitrary input. */
  #forgetUnused(): void {
    const oldest = performance.now() - UNUSED_MS;
    for (const [origin, connection] of this.#connections) {
      if (connection.usedAt > oldest) continue;
      closeConnection(connection);
      this.#connections.delete(origin);
    }
    for (const [server, { since, hasWaiter }] of this.#unreachable) if (since <= oldest && !hasWaiter) this.#unreachable.delete(server);
  }

  async #read(namespace: string, { name, key }: { name: string; key: string }, signal: AbortSignal): Promise<string> {
    const { data = {} } = await this.#client
      .resource(Secret)
      .get(name, { namespace, signal })
      .catch((error: unknown) => {
        if (isKubeError(error, "NotFound")) {
          const message = `Secret ${namespace}/${name} of spec.peer does not exist; create it with the other site's kubeconfig`;
          throw new PeerProblem(PEER_FIELDS.name, message, { cause: error });
        }
        if (!isKubeError(error)) throw error;
        const message = `Secret ${namespace}/${name} of spec.peer cannot be read: ${error.message}`;
        if (!isKubeError(error, "Forbidden") || !this.#options.mustRead) throw new KubeError("NoKubeconfig", message, { cause: error });
        // A role names the Secret, so a missing Secret is forbidden too.
        const remedy = "correct its name, or let the controller read it as deploy/failover/peer.yaml does";
        throw new PeerProblem(PEER_FIELDS.name, `The controller may not read Secret ${namespace}/${name}; ${remedy}`, { cause: error });
      });
    const content = data[key];
    if (content !== undefined) return content;
    const known = Object.keys(data).toSorted().join(", ") || "none";
    throw new PeerProblem(PEER_FIELDS.key, `Secret ${namespace}/${name} of spec.peer has no key ${key}; its keys: ${known}`);
  }
}

/** `own`: the server of this cluster. */
async function openConnection(content: string, origin: string, own: string): Promise<KubeClient> {
  const access = await accessFromText(Buffer.from(content, "base64").toString("utf8"), origin).catch((error: unknown) => {
    throw isKubeError(error, "BadKubeconfig") ? new PeerProblem(PEER_FIELDS.secret, error.message, { cause: error }) : error;
  });
  const rejected = rejectedAccess(access, own);
  if (rejected !== undefined) throw new PeerProblem(PEER_FIELDS.secret, `The kubeconfig in ${origin} is rejected: ${rejected}`);
  const limits = { maxAnswerBytes: MAX_ANSWER_BYTES, quotesAnswers: false, lookup };
  return new KubeClient(access, { deadlineMs: DEADLINE_MS, retries: 0, maxSockets: 4, ...limits });
}

function closeConnection({ client }: Connection): void {
  client.then(
    (open) => open.close(),
    // There is nothing to close, and the caller got the error.
    () => {},
  );
}

/** The response may not match our schema. */
function understood(peer: FailoverPolicy, asking: FailoverPolicy, ownUid: string | undefined): PeerView {
  try {
    const { uid } = peer.metadata;
    if (uid !== undefined && (uid === ownUid || uid === asking.metadata.uid)) return leadsBack(uid === asking.metadata.uid);
    return viewOf(asSwitched(peer), asking);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { reachable: false, message: "the policy there cannot be parsed" };
  }
}

function leadsBack(isItself: boolean): PeerView {
  const what = isItself ? "this policy itself" : "another policy of this cluster";
  return { reachable: false, message: `spec.peer points back to ${what}; give a kubeconfig of the other site`, field: PEER_FIELDS.secret };
}

/** Unknown values of another version or program are ignored. */
function viewOf(peer: FailoverPolicy, asking: FailoverPolicy): PeerView {
  const { metadata, spec, status } = peer;
  const token = status?.token;
  if (!isRole(spec?.desiredState))
    return { reachable: false, message: "the policy there has a desiredState that is neither primary nor secondary" };
  if (token !== undefined && !isToken(token))
    return { reachable: false, message: "the policy there has a status.token that cannot be parsed" };
  const stranger = strangeness(metadata, spec, asking);
  if (stranger !== undefined && token?.state !== "Held") return { reachable: false, message: stranger };
  const { managed } = managedBy(peer);
  const volumes = volumeKeys(peer, managed).map(({ key }) => key);
  return {
    reachable: true,
    exists: true,
    desiredState: spec.desiredState,
    ...(token && { token: { epoch: token.epoch, state: token.state, ...(token.copied && { copied: true }) } }),
    ...(metadata.uid !== undefined && { uid: metadata.uid }),
    ...observedTokenOf(status, asking.metadata.uid),
    volumes: volumes.toSorted(),
    ...(stranger === undefined ? copyOf(status) : { stranger }),
  };
}

/** What that site has read of the asking policy object; nothing for an earlier object of the same name. */
function observedTokenOf(status: FailoverPolicy["status"], uid: string | undefined): { observedToken?: ObservedToken } {
  const token = status?.peer?.seen;
  if (!token || token.uid !== uid || !isToken(token)) return {};
  return { observedToken: { epoch: token.epoch, state: token.state } };
}

/** Why a release of that policy does not count for this one: it does not follow the protocol, or names a third site. */
function strangeness({ name, namespace }: ObjectMeta, { peer }: FailoverPolicy["spec"], { metadata }: FailoverPolicy): string | undefined {
  if (!peer) return "the policy at the other site has no spec.peer, so its release is ignored; set spec.peer there";
  const named = `${peer.namespace ?? namespace}/${peer.name ?? name}`;
  if (named === `${metadata.namespace}/${metadata.name}`) return undefined;
  return `spec.peer at the other site names ${named}, not this policy, so its release is ignored`;
}

function isRole(value: unknown): boolean {
  return value === "primary" || value === "secondary";
}

function isToken({ epoch, state }: ObservedToken): boolean {
  return Number.isSafeInteger(epoch) && epoch > 0 && (state === "Held" || state === "Released");
}
