import * as fc from "fast-check";
import type { NodeName } from "../../lab/net/topology.ts";
import { FAULTS } from "../../lab/faults/faults.ts";
import { type Expectation, type Fault, DETECTION_LIMIT_MS } from "../../lab/faults/fault.ts";
import { CHANGES } from "./changes.ts";
import { NODES } from "../support/nodes.ts";

/** The duration; a minute by default. */
export const MINUTES = Math.max(1, Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 1));
/** The same course in every test run, another one in each that is asked for, and any of them again. */
export const SEED = Number(
  process.env["PLUMBLINE_SOAK_SEED"] ?? (process.env["PLUMBLINE_SOAK_MINUTES"] === undefined ? 9 : Date.now() % 1_000_000),
);

/** A fault on a node, which is fixed after it was reported, and perhaps a change meanwhile. */
export interface Move {
  readonly fault: string;
  readonly node: NodeName;
  readonly change: string | undefined;
}

/** About what this lab has not: routers, the router lab's peer, and endpoints that no controller owns. */
const NOT_HERE = new Set(["address-stolen", "peer-twice", "endpoints-gone"]);
/** The drill injects it; no soak has yet. */
const NOT_YET = "segment-unplugged";

/** A node of this lab peers with the ToR directly, and has no router that reports. */
const EXPECTED_HERE: Readonly<Record<string, (node: NodeName) => Expectation>> = {
  "link-down": sessionLost,
  "session-cut": sessionLost,
  "agent-frozen": (node) => ({ ...silent(node), interrupts: ["wiki"] }),
  "api-cut": silent,
  "uplink-down": silent,
  "node-lost": (node) => ({ ...silent(node), interrupts: ["web", "wiki"] }),
};

function sessionLost(node: NodeName): Expectation {
  const status = `^BGPSessionStatus [^ ]+@${node}:`;
  return {
    says: new RegExp(`${status} session (?!Established)`),
    untrue: new RegExp(`${status} session Established`),
    withinMs: DETECTION_LIMIT_MS.session,
    interrupts: ["web"],
  };
}

function silent(node: NodeName): Expectation {
  const statuses = `^(BGPSessionStatus [^ ]+@${node}|ConfigurationState [^ ]+/speaker-${node}):`;
  return {
    says: new RegExp(`${statuses} .*Unknown`),
    untrue: new RegExp(`${statuses} (Valid=True|Reported=True)`),
    withinMs: DETECTION_LIMIT_MS.silence,
  };
}

/** What can break here, by name. */
export const BREAKABLE: Readonly<Record<string, Fault>> = Object.fromEntries(
  Object.entries(FAULTS).flatMap(([name, fault]) => {
    const expect = EXPECTED_HERE[name];
    if (expect) return [[name, { ...fault, expect }] as const];
    return fault.domain === "router" || NOT_HERE.has(name) || name === NOT_YET ? [] : [[name, fault] as const];
  }),
);

const move: fc.Arbitrary<Move> = fc.record({
  fault: fc.constantFrom(...Object.keys(BREAKABLE)),
  node: fc.constantFrom(...NODES),
  change: fc.option(fc.constantFrom(...Object.keys(CHANGES)), { nil: undefined, freq: 2 }),
});

/** More than there is time for. */
export function soakMoves(): readonly Move[] {
  return fc.sample(move, { seed: SEED, numRuns: 60 * MINUTES });
}

export function moveText({ fault, node, change }: Move): string {
  return `${fault} ${node}${change === undefined ? "" : `, and meanwhile ${change}`}`;
}
