import { expect, test } from "vitest";
import { plain } from "../print/color.ts";
import { drawTree, type Leaf } from "./draw-tree.ts";

const leaf = (kind: string, name: string, more: Partial<Leaf> = {}): Leaf => ({ kind, name, state: "Applied", failures: [], ...more });

test("draws the tree of the specification", () => {
  const leaves = [
    leaf("Underlay", "fabric", { evpn: true }),
    leaf("L2VNI", "a", { vrf: "red" }),
    leaf("L2VNI", "b", {
      vrf: "blue",
      state: "KeptPrevious",
      failures: [{ reason: "ValidationFailed", message: "VNI 7 conflicts with L2VNI a" }],
    }),
    leaf("L2VNI", "e", { vrf: "purple" }),
    leaf("L2VNI", "f", { vrf: "red" }),
    leaf("L3VNI", "c", {
      vrf: "green",
      state: "Failed",
      failures: [{ reason: "DependencyFailed", message: "No healthy L2VNI exists for VRF 'green'" }],
    }),
    leaf("L3VNI", "d", { vrf: "red" }),
    leaf("L3VNI", "g", { vrf: "mgmt", hostSession: true }),
    leaf("L3Passthrough", "p"),
    leaf("RawFRRConfig", "r"),
  ];
  expect(drawTree("worker-1", leaves, plain)).toBe(`worker-1
├─ Underlay fabric (EVPN) Applied
│  ├─ L2VNI a (VRF: red) Applied
│  │  └─ L3VNI d (VRF: red) Applied
│  ├─ L2VNI b (VRF: blue) KeptPrevious [!! ERROR] ValidationFailed: VNI 7 conflicts with L2VNI a
│  ├─ L2VNI e (VRF: purple) Applied
│  ├─ L2VNI f (VRF: red) Applied
│  ├─ L3VNI c (VRF: green) Failed [!! ERROR] DependencyFailed: No healthy L2VNI exists for VRF 'green'
│  ├─ L3VNI g (VRF: mgmt) [HostSession] Applied
│  └─ L3Passthrough p Applied
└─ RawFRRConfig r Applied`);
});

test("an L3VNI is below a live L2VNI, not below a failed one", () => {
  const leaves = [
    leaf("Underlay", "fabric"),
    leaf("L2VNI", "a", { vrf: "red", state: "Failed", failures: [{ reason: "ApplicationFailed", message: "no" }] }),
    leaf("L2VNI", "f", { vrf: "red" }),
    leaf("L3VNI", "d", { vrf: "red" }),
  ];
  expect(drawTree("n", leaves, plain).split("\n").slice(2)).toEqual([
    "   ├─ L2VNI a (VRF: red) Failed [!! ERROR] ApplicationFailed: no",
    "   └─ L2VNI f (VRF: red) Applied",
    "      └─ L3VNI d (VRF: red) Applied",
  ]);
});

test("a node without an Underlay, and one without resources, has a message", () => {
  expect(drawTree("n", [leaf("L2VNI", "a", { vrf: "a" })], plain)).toBe("n\n└─ no Underlay\n   └─ L2VNI a (VRF: a) Applied");
  expect(drawTree("n", [], plain)).toBe("n\n└─ nothing");
});

test("an Underlay that lost a conflict is listed beside the winner", () => {
  const lost = leaf("Underlay", "a", { state: "Failed", failures: [{ reason: "ValidationFailed", message: "conflicts" }] });
  expect(drawTree("n", [lost, leaf("Underlay", "b"), leaf("L2VNI", "x", { vrf: "x" })], plain)).toBe(`n
├─ Underlay b Applied
│  └─ L2VNI x (VRF: x) Applied
└─ Underlay a Failed [!! ERROR] ValidationFailed: conflicts`);
});
