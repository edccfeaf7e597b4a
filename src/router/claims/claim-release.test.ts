import { describe, expect, test } from "vitest";
import type { L2VNI } from "../../api/openpe/l2vni.ts";
import type { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { type ClaimsView, releasableClaims } from "./claim-release.ts";
import type { ClaimOwner } from "./claims.ts";

const since = (second: number) => new Date(second * 1000).toISOString();

/** An L2VNI of generation 2 that asks for this VNI, with what is recorded of it. */
function l2vni(name: string, vni: number, recorded: Record<number, number>, nodeSelector: L2VNI["spec"]["nodeSelector"] = {}): ClaimOwner {
  return {
    kind: "L2VNI",
    object: {
      metadata: { name, namespace: "openperouter-system", generation: 2, creationTimestamp: since(0) },
      spec: { vni, vxlanport: 4789, nodeSelector },
      status: { claims: Object.entries(recorded).map(([vni, second]) => ({ claim: `vni/${vni}`, since: since(second) })) },
    },
  };
}

type State = "Applied" | "Failed" | "KeptPrevious" | "Rebuilding";

function unavailable(node: string): RouterNodeConfigurationStatus {
  const ready = { type: "Ready", status: "False" as const, reason: "RouterUnavailable", message: "", lastTransitionTime: since(0) };
  return { metadata: { name: node, namespace: "openperouter-system" }, status: { conditions: [ready] } };
}

function report(node: string, resources: Record<string, [State, number]>): RouterNodeConfigurationStatus {
  return {
    metadata: { name: node, namespace: "openperouter-system" },
    status: {
      resources: Object.entries(resources).map(([name, [state, generation]]) => ({ kind: "L2VNI", name, generation, state })),
    },
  };
}

const node = (name: string, labels: Record<string, string> = {}) => ({ name, labels });
const released = (view: Partial<ClaimsView>) =>
  releasableClaims({ claimants: [], nodes: [node("n1"), node("n2")], reports: [], now: new Date(1_000_000), ...view }).map(
    ({ object }) => object.metadata.name,
  );

const moved = l2vni("moved", 200, { 100: 1, 200: 9 });
const both = { "n1-applied": report("n1", { moved: ["Applied", 2] }), "n2-applied": report("n2", { moved: ["Applied", 2] }) };

describe("a former value of an object is released", () => {
  test("when its current spec is live on every node", () => {
    expect(released({ claimants: [moved], reports: Object.values(both) })).toEqual(["moved"]);
  });

  test("when no other object claims its new value, also without reports", () => {
    expect(released({ claimants: [moved] })).toEqual(["moved"]);
  });

  test("when it selects no node", () => {
    const nowhere = l2vni("nowhere", 200, { 100: 1, 200: 9 }, { matchLabels: { rack: "gone" } });
    expect(released({ claimants: [nowhere, l2vni("holder", 200, { 200: 5 })] })).toEqual(["nowhere"]);
  });

  test("when the other claimant is on other nodes", () => {
    const view = {
      nodes: [node("n1", { rack: "a" }), node("n2", { rack: "b" })],
      claimants: [
        l2vni("moved", 200, { 100: 1, 200: 9 }, { matchLabels: { rack: "a" } }),
        l2vni("holder", 200, { 200: 5 }, { matchLabels: { rack: "b" } }),
      ],
    };
    expect(released(view)).toEqual(["moved"]);
    expect(released({ ...view, nodes: [...view.nodes, node("n3", { rack: "a" })] })).toEqual(["moved"]);
  });

  test("when two objects exchange their values", () => {
    expect(released({ claimants: [l2vni("a", 2, { 1: 1, 2: 9 }), l2vni("b", 1, { 2: 1, 1: 9 })] })).toEqual(["a", "b"]);
  });

  test("when an older claimant has blocked no node", () => {
    const rival = l2vni("invalid", 200, { 200: 5 });
    expect(released({ claimants: [moved, rival] })).toEqual([]);
    expect(released({ claimants: [moved, rival], reports: Object.values(both) })).toEqual(["moved"]);
  });
});

describe("a former value of an object stays claimed", () => {
  test.each<[string, Partial<ClaimsView>]>([
    ["while another object has its new value", { claimants: [moved, l2vni("holder", 200, { 200: 5 })] }],
    [
      "while another object has not released its new value",
      { claimants: [moved, l2vni("leaving", 300, { 200: 5, 300: 9 }), l2vni("third", 300, { 300: 2 })] },
    ],
    ["while the router of a node is unavailable", { claimants: [moved], reports: [both["n1-applied"], unavailable("n2")] }],
    [
      "while a node keeps its previous version",
      { claimants: [moved], reports: [both["n1-applied"], report("n2", { moved: ["KeptPrevious", 2] })] },
    ],
    [
      "while a node has not observed the edit",
      { claimants: [moved], reports: [both["n1-applied"], report("n2", { moved: ["Applied", 1] })] },
    ],
    ["while a node rebuilds it", { claimants: [moved], reports: [both["n1-applied"], report("n2", { moved: ["Rebuilding", 2] })] }],
    [
      "while a node that it no longer selects still runs it",
      { claimants: [moved], nodes: [node("n1")], reports: [report("n9", { moved: ["Applied", 1] })] },
    ],
    [
      "while its selector is invalid",
      { claimants: [l2vni("odd", 200, { 100: 1, 200: 9 }, { matchExpressions: [{ key: "rack", operator: "Near" }] })] },
    ],
  ])("%s", (_when, view) => {
    expect(released(view)).toEqual([]);
  });
});

test("an object without former values releases nothing", () => {
  expect(released({ claimants: [l2vni("settled", 100, { 100: 1 })] })).toEqual([]);
});
