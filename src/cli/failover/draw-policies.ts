import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { ageOf } from "../../util/age.ts";
import { copyTime } from "../../failover/token/peer-copy.ts";
import { type TextCell, Columns } from "../print/columns.ts";
import { type Color, type Colorize, statusColor } from "../print/color.ts";
import { waitText } from "./draw-steps.ts";
import { waveOf } from "./waves.ts";

export interface PolicyState {
  readonly namespace: string;
  readonly name: string;
  readonly wave: number;
  readonly desired: string;
  readonly current: string;
  readonly complete: string;
  readonly ready: string;
  readonly token?: { readonly state: string; readonly epoch: number };
  /** Unreachable: the peer did not answer. None: there is no spec.peer. */
  readonly peer: "Reachable" | "Unreachable" | "Unknown" | "None";
  /** When the copy at the secondary site was taken. */
  readonly copiedAt?: string;
  /** Empty if nothing blocks it. */
  readonly inTheWay: string;
  /** Complete, without an error, and ready for a switch. */
  readonly fine: boolean;
}

const HEAD = ["NAME", "WAVE", "DESIRED", "CURRENT", "COMPLETE", "READY", "TOKEN", "PEER", "COPY", "PROBLEM"];
const PEER_COLORS: Partial<Record<PolicyState["peer"], Color>> = { Reachable: "green", Unreachable: "red", Unknown: "yellow" };

export function policyState(policy: FailoverPolicy, now: number): PolicyState {
  const { metadata, spec, status = {} } = policy;
  const { name, namespace = "", generation = 0 } = metadata;
  const { currentState = "unknown", token, peer } = status;
  const isObserved = (status.observedGeneration ?? 0) >= generation;
  const is = (type: string) => status.conditions?.find((condition) => condition.type === type);
  const complete = isObserved ? (is("Complete")?.status ?? "Unknown") : "Unknown";
  const ready = is("Ready")?.status ?? "Unknown";
  const copiedAt = copyTime(policy);
  return {
    namespace,
    name,
    wave: waveOf(policy),
    desired: spec.desiredState,
    current: currentState,
    complete,
    ready,
    ...(token && { token: { state: token.state, epoch: token.epoch } }),
    peer: !spec.peer ? "None" : !peer ? "Unknown" : peer.reachable ? "Reachable" : "Unreachable",
    ...(copiedAt !== undefined && { copiedAt }),
    inTheWay: blocker(policy, isObserved, now),
    fine: complete === "True" && is("Error")?.status !== "True" && ready !== "False",
  };
}

function blocker({ spec, status = {} }: FailoverPolicy, isObserved: boolean, now: number): string {
  if (!isObserved) return "No controller has processed it yet";
  const is = (type: string, value: string) => status.conditions?.find((one) => one.type === type && one.status === value);
  const error = is("Error", "True");
  if (error) return `${error.reason}: ${error.message}`;
  const step = status.transition?.completionTime === undefined ? status.transition?.steps.find(({ state }) => state !== "Done") : undefined;
  if (step) return step.waitingFor ? `${step.name}: ${waitText(step, now)}` : step.name;
  const unready = is("Ready", "False");
  if (unready) return `${unready.reason}: ${unready.message}`;
  if (spec.peer && status.peer?.reachable === false) return `Cannot read the other site: ${status.peer.message ?? ""}`;
  return "";
}

export function drawPolicies(states: readonly PolicyState[], now: number, colorize: Colorize): string[] {
  return new Columns(colorize).lines([HEAD.map((text) => ({ text })), ...states.map((state) => rowOf(state, now))]);
}

function rowOf(state: PolicyState, now: number): TextCell[] {
  const { token, copiedAt, peer, complete, ready, inTheWay } = state;
  return [
    { text: `${state.namespace}/${state.name}` },
    { text: String(state.wave) },
    { text: state.desired },
    { text: state.current, color: state.current === state.desired ? undefined : "yellow" },
    { text: complete, color: statusColor("Complete", complete) },
    { text: ready, color: statusColor("Ready", ready) },
    { text: token ? `${token.state} ${token.epoch}` : "" },
    { text: peer === "None" ? "" : peer, color: PEER_COLORS[peer] },
    { text: copiedAt === undefined ? "" : ageOf(copiedAt, now) },
    { text: inTheWay },
  ];
}
