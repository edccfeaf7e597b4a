import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../api/metallb/configuration-status.ts";
import type { Condition } from "../../api/kind.ts";
import { explainer, type Explainer, type Need, type Sight, type Standing, type Thing } from "../../api/health.ts";
import { agentOn, agentSilence } from "../../kube/members/agent-health.ts";
import { nodeOfReport } from "../status/unknown.ts";
import { frrDown } from "./sessions.ts";
import { conditionOf, frrOn, HEALTHY, objectOf, on, partOf, standing, type Word } from "../explaining/things.ts";

type Status = NonNullable<ConfigurationState["status"]>;
type Failed = NonNullable<Status["failedResources"]>[number];

/** What each component made of the configuration: which resources are not live as they are written, and why. */
const states = explainer(ConfigurationState, function* (state, sight) {
  const { metadata, status = {} } = state;
  if (metadata.deletionTimestamp !== undefined) return;
  const { namespace = "" } = metadata;
  const node = nodeOfReport(state);
  const valid = conditionOf(status.conditions, "Valid");
  if (node !== undefined) yield* agentSilence(node, status.conditions);
  if (node !== undefined && valid?.reason === "FRRUnavailable") yield* frrDown(node, valid);

  const failures = Map.groupBy(status.failedResources ?? [], ({ kind, name }) => `${kind}/${name}`);
  const needs: Need[] = node === undefined ? [] : [{ thing: agentOn(node) }, { thing: frrOn(node), as: "part" }];
  for (const [first, ...more] of failures.values()) {
    if (!first) continue;
    const object = objectOf(first.kind, { name: first.name, namespace: first.namespace ?? namespace });
    needs.push({ thing: object, as: "part" });
    yield* failed(object, [first, ...more], { status, node, valid, sight });
  }
  yield standing(objectOf("ConfigurationState", metadata), impairment(valid), needs);
});

/** Nobody is there who could say it, or FRR does not answer. */
const UNHEARD = new Set(["AgentSilent", "PartSwitchedOff", "ControllerSilent", "FRRUnavailable"]);

/** Why a component cannot say whether all is in effect. What it says is not in effect, others are to blame for. */
function impairment(valid: Condition | undefined): Word {
  if (!valid || ["ConfigurationValid", "ConfigurationInvalid", "Starting"].includes(valid.reason)) return HEALTHY;
  const { reason, message, lastTransitionTime: since } = valid;
  if (UNHEARD.has(reason)) return { health: "Unknown", reason, message, since };
  const text =
    reason === "StateUnusable"
      ? "move the file that the message names out of the way and restart the agent"
      : "give the component the right to read what it cannot: the roles of the chart have it";
  return { health: "Degraded", reason, message, since, remedy: { text } };
}

interface Finding {
  readonly status: Status;
  readonly node: string | undefined;
  readonly valid: Condition | undefined;
  readonly sight: Sight;
}

function* failed(object: Thing, failures: readonly [Failed, ...Failed[]], finding: Finding): Iterable<Standing> {
  const { status, node, valid, sight } = finding;
  const state = status.resources?.find(({ kind, name }) => kind === object.kind && name === object.name)?.state;
  const missing = failures.flatMap((failure) => lackOf(object, failure, sight, valid?.lastTransitionTime));
  const [first] = failures.toSorted((one, other) => Number(missingFor(one, missing)) - Number(missingFor(other, missing)));
  const { reason, field } = first ?? failures[0];
  const texts = failures.map(({ message }) => message.replaceAll("\n", ": "));
  const message = texts.join("; ") + (state === "KeptPrevious" ? "; its last good form still runs" : "");
  const word: Word = {
    health: state === "KeptPrevious" || state === "AppliedInPart" ? "Degraded" : "Down",
    reason: state === "KeptPrevious" ? "KeptPrevious" : reason,
    message,
    ...(valid && { since: valid.lastTransitionTime }),
    ...(missing.length === 0 && { ownFault: true }),
    remedy: {
      text: field === undefined ? `change the ${object.kind}` : `change ${field}`,
      change: { thing: object, ...(field !== undefined && { field }) },
    },
  };
  for (const { lacks } of missing) yield lacks;
  // What FRR or the kernel of one node refuses need not be refused elsewhere.
  if (node !== undefined && failures.every((failure) => failure.reason === "ApplicationFailed")) {
    yield standing(on(node, object), word, [{ thing: agentOn(node) }]);
    yield partOf(object, on(node, object));
    return;
  }
  yield standing(
    object,
    word,
    missing.map(({ lacks }) => ({ thing: lacks.thing })),
  );
}

interface Missing {
  readonly failure: Failed;
  readonly lacks: Standing;
}

function missingFor(failure: Failed, missing: readonly Missing[]): boolean {
  return missing.some((one) => one.failure === failure);
}

/** The other object that the failure is about, and what is wrong with it. */
function lackOf({ namespace = "", name, kind }: Thing, failure: Failed, sight: Sight, since: string | undefined): Missing[] {
  const { field = "", reason, message } = failure;
  const isMissing = reason === "DependencyFailed";
  const lack = (what: Thing, text: string, word: Partial<Word> = {}): Missing[] => [
    {
      failure,
      lacks: standing(what, {
        health: "Down",
        reason: isMissing ? "NotFound" : "Unusable",
        message: message.replaceAll("\n", ": "),
        ...(since !== undefined && { since }),
        ownFault: true,
        remedy: { text, change: { thing: what } },
        ...word,
      }),
    },
  ];
  if (kind === "BGPPeer" && field === "spec.passwordSecret.name") {
    const secret = sight.get(BGPPeer, `${namespace}/${name}`)?.spec.passwordSecret?.name ?? "";
    const text = `${isMissing ? "create it" : "create it anew"} with type kubernetes.io/basic-auth and the key password, or change spec.passwordSecret of BGPPeer ${name}`;
    const missing = { message: `BGPPeer ${name} takes its password from Secret ${secret}, which does not exist` };
    return secret === "" ? [] : lack({ kind: "Secret", namespace, name: secret }, text, isMissing ? missing : {});
  }
  if (kind === "BGPPeer" && field === "spec.bfdProfile" && isMissing) {
    const profile = sight.get(BGPPeer, `${namespace}/${name}`)?.spec.bfdProfile ?? "";
    const thing = { kind: "BFDProfile", namespace, name: profile };
    if (profile === "") return [];
    // One that is there and not valid is told of by itself.
    if (sight.get(BFDProfile, `${namespace}/${profile}`)) return [{ failure, lacks: standing(thing, HEALTHY) }];
    const missing = { message: `BGPPeer ${name} names BFDProfile ${profile}, which does not exist` };
    return lack(thing, `create it, or change spec.bfdProfile of BGPPeer ${name}`, missing);
  }
  const nth = kind === "BGPAdvertisement" && isMissing ? /^spec\.communities\[(\d+)\]$/.exec(field)?.[1] : undefined;
  const alias = nth === undefined ? undefined : sight.get(BGPAdvertisement, `${namespace}/${name}`)?.spec.communities?.[Number(nth)];
  if (alias === undefined) return [];
  return lack(
    { kind: "Community", namespace, name: alias },
    `create a Community that says what ${alias} stands for, or change ${field} of BGPAdvertisement ${name}`,
    { message: `BGPAdvertisement ${name} names the community ${alias}, and no Community says what that stands for` },
  );
}

const aggregates = explainer(ConfigurationStatus, function* ({ metadata, status = {} }) {
  if (metadata.deletionTimestamp !== undefined) return;
  const names = [...(status.invalidComponents ?? []), ...(status.unknownComponents ?? [])];
  const needs = names.map((name): Need => ({ thing: objectOf("ConfigurationState", { ...metadata, name }), as: "part" }));
  yield standing(objectOf("ConfigurationStatus", metadata), HEALTHY, needs);
});

export const configuration: readonly Explainer[] = [states, aggregates];
