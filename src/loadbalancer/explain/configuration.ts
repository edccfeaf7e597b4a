import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../api/metallb/configuration-status.ts";
import type { Condition } from "../../api/kind.ts";
import { explainer, type Explainer, type Dependency, type ObjectReader, type HealthStatement, type Component } from "../../api/health.ts";
import { agentComponent, agentHealth } from "../../kube/members/agent-health.ts";
import { nodeOfReport } from "../status/unknown.ts";
import { frrDown } from "./sessions.ts";
import { conditionOf, frrOn, HEALTHY, objectOf, on, partOf, statement, type StatementBody } from "./components.ts";

type Status = NonNullable<ConfigurationState["status"]>;
type Failed = NonNullable<Status["failedResources"]>[number];

/** Resources that a component does not apply as written, and why. */
const states = explainer(ConfigurationState, function* (state, reader) {
  const { metadata, status = {} } = state;
  if (metadata.deletionTimestamp !== undefined) return;
  const { namespace = "" } = metadata;
  const node = nodeOfReport(state);
  const valid = conditionOf(status.conditions, "Valid");
  if (node !== undefined) yield* agentHealth(node, status.conditions);
  if (node !== undefined && valid?.reason === "FRRUnavailable") yield* frrDown(node, valid);

  const failures = Map.groupBy(status.failedResources ?? [], ({ kind, name }) => `${kind}/${name}`);
  const dependencies: Dependency[] =
    node === undefined ? [] : [{ component: agentComponent(node) }, { component: frrOn(node), as: "part" }];
  for (const [first, ...more] of failures.values()) {
    if (!first) continue;
    const object = objectOf(first.kind, { name: first.name, namespace: first.namespace ?? namespace });
    dependencies.push({ component: object, as: "part" });
    yield* failed(object, [first, ...more], { status, node, valid, reader });
  }
  // The last report of a silent agent may be out of date.
  const links =
    node === undefined || UNHEARD.has(valid?.reason ?? "") ? [] : (status.links ?? []).map(({ name }) => lostLink(name, node, status));
  dependencies.push(...links.map(({ component }): Dependency => ({ component, as: "part" })));
  yield* links;
  yield statement(objectOf("ConfigurationState", metadata), readProblem(valid), dependencies);
});

/** No agent reports, or FRR does not answer. */
const UNHEARD = new Set(["AgentNotReporting", "PartSwitchedOff", "ControllerSilent", "FRRUnavailable"]);

/** Why a component cannot report whether all configuration is in effect. Its failed resources are explained elsewhere. */
function readProblem(valid: Condition | undefined): StatementBody {
  if (!valid || ["ConfigurationValid", "ConfigurationInvalid", "Starting"].includes(valid.reason)) return HEALTHY;
  const { reason, message, lastTransitionTime: since } = valid;
  if (UNHEARD.has(reason)) return { health: "Unknown", reason, message, since };
  const text =
    reason === "StateFileError"
      ? "move the file in the message away and restart the agent"
      : "grant the component read access, as the chart's roles do";
  return { health: "Degraded", reason, message, since, fix: { text } };
}

function lostLink(name: string, node: string, { conditions }: Status): HealthStatement {
  const since = conditionOf(conditions, "LinksUp")?.lastTransitionTime;
  const fix = { text: `check the cable and the switch port of ${name}`, command: `ip link show ${name}` };
  const body = { health: "Down", ownFault: true, reason: "NoCarrier", message: "no carrier", fix } as const;
  return statement({ kind: "Link", name, node }, { ...body, ...(since !== undefined && { since }) }, [{ component: agentComponent(node) }]);
}

interface Finding {
  readonly status: Status;
  readonly node: string | undefined;
  readonly valid: Condition | undefined;
  readonly reader: ObjectReader;
}

function* failed(object: Component, failures: readonly [Failed, ...Failed[]], finding: Finding): Iterable<HealthStatement> {
  const { status, node, valid, reader } = finding;
  const state = status.resources?.find(({ kind, name }) => kind === object.kind && name === object.name)?.state;
  const missing = failures.flatMap((failure) => lackOf(object, failure, reader, valid?.lastTransitionTime));
  const [first] = failures.toSorted((one, other) => Number(missingFor(one, missing)) - Number(missingFor(other, missing)));
  const { reason, field } = first ?? failures[0];
  const texts = failures.map(({ message }) => message.replaceAll("\n", ": "));
  const message = texts.join("; ") + (state === "KeptPrevious" ? "; the last good version stays active" : "");
  const body: StatementBody = {
    health: state === "KeptPrevious" || state === "AppliedInPart" ? "Degraded" : "Down",
    reason: state === "KeptPrevious" ? "KeptPrevious" : reason,
    message,
    ...(valid && { since: valid.lastTransitionTime }),
    ...(missing.length === 0 && { ownFault: true }),
    fix: {
      text: field === undefined ? `change the ${object.kind}` : `change ${field}`,
      change: { component: object, ...(field !== undefined && { field }) },
    },
  };
  for (const { lacks } of missing) yield lacks;
  // What FRR or the kernel rejects on one node may work on others.
  if (node !== undefined && failures.every((failure) => failure.reason === "ApplicationFailed")) {
    yield statement(on(node, object), body, [{ component: agentComponent(node) }]);
    yield partOf(object, on(node, object));
    return;
  }
  yield statement(
    object,
    body,
    missing.map(({ lacks }) => ({ component: lacks.component })),
  );
}

interface Missing {
  readonly failure: Failed;
  readonly lacks: HealthStatement;
}

function missingFor(failure: Failed, missing: readonly Missing[]): boolean {
  return missing.some((one) => one.failure === failure);
}

/** The other object that the failure is about, and what is wrong with it. */
function lackOf({ namespace = "", name, kind }: Component, failure: Failed, reader: ObjectReader, since: string | undefined): Missing[] {
  const { field = "", reason, message } = failure;
  const isMissing = reason === "DependencyFailed";
  const lack = (what: Component, text: string, body: Partial<StatementBody> = {}): Missing[] => [
    {
      failure,
      lacks: statement(what, {
        health: "Down",
        reason: isMissing ? "NotFound" : "Unusable",
        message: message.replaceAll("\n", ": "),
        ...(since !== undefined && { since }),
        ownFault: true,
        fix: { text, change: { component: what } },
        ...body,
      }),
    },
  ];
  if (kind === "BGPPeer" && field === "spec.passwordSecret.name") {
    const secret = reader.get(BGPPeer, `${namespace}/${name}`)?.spec.passwordSecret?.name ?? "";
    const text = `${isMissing ? "create it" : "recreate it"} with type kubernetes.io/basic-auth and the key password, or change spec.passwordSecret of BGPPeer ${name}`;
    const missing = { message: `BGPPeer ${name} takes its password from Secret ${secret}, which does not exist` };
    return secret === "" ? [] : lack({ kind: "Secret", namespace, name: secret }, text, isMissing ? missing : {});
  }
  if (kind === "BGPPeer" && field === "spec.bfdProfile" && isMissing) {
    const profile = reader.get(BGPPeer, `${namespace}/${name}`)?.spec.bfdProfile ?? "";
    const component = { kind: "BFDProfile", namespace, name: profile };
    if (profile === "") return [];
    // An existing but invalid profile has its own statement.
    if (reader.get(BFDProfile, `${namespace}/${profile}`)) return [{ failure, lacks: statement(component, HEALTHY) }];
    const missing = { message: `BGPPeer ${name} names BFDProfile ${profile}, which does not exist` };
    return lack(component, `create it, or change spec.bfdProfile of BGPPeer ${name}`, missing);
  }
  const nth = kind === "BGPAdvertisement" && isMissing ? /^spec\.communities\[(\d+)\]$/.exec(field)?.[1] : undefined;
  const alias = nth === undefined ? undefined : reader.get(BGPAdvertisement, `${namespace}/${name}`)?.spec.communities?.[Number(nth)];
  if (alias === undefined) return [];
  return lack(
    { kind: "Community", namespace, name: alias },
    `define ${alias} in a Community, or change ${field} of BGPAdvertisement ${name}`,
    { message: `BGPAdvertisement ${name} names community ${alias}, which no Community defines` },
  );
}

const aggregates = explainer(ConfigurationStatus, function* ({ metadata, status = {} }) {
  if (metadata.deletionTimestamp !== undefined) return;
  const names = [...(status.invalidComponents ?? []), ...(status.unknownComponents ?? [])];
  const dependencies = names.map((name): Dependency => ({ component: objectOf("ConfigurationState", { ...metadata, name }), as: "part" }));
  yield statement(objectOf("ConfigurationStatus", metadata), HEALTHY, dependencies);
});

export const configuration: readonly Explainer[] = [states, aggregates];
