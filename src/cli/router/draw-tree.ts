import type { Colorize } from "../print/color.ts";
import { stripControlCharacters } from "../print/columns.ts";

export interface Leaf {
  readonly kind: string;
  readonly name: string;
  readonly vrf?: string;
  readonly hostSession?: boolean;
  readonly evpn?: boolean;
  /** Applied, KeptPrevious...; missing if no agent has applied it. */
  readonly state?: string | undefined;
  readonly failures: readonly { readonly reason: string; readonly message?: string }[];
}

interface Branch {
  readonly text: string;
  readonly below: readonly Branch[];
}

/** The dependency tree of one node: L2VNIs below the Underlay, each L3VNI below the first L2VNI of its VRF. */
export function drawTree(node: string, leaves: readonly Leaf[], colorize: Colorize): string {
  const of = (...kinds: string[]) => leaves.filter(({ kind }) => kinds.includes(kind));
  const l2vnis = of("L2VNI");
  const carried = new Map<Leaf, Leaf>();
  for (const l3vni of of("L3VNI")) {
    const carrier = l2vnis.find(
      ({ vrf, state, failures }) => vrf === l3vni.vrf && (state === undefined ? failures.length === 0 : state !== "Failed"),
    );
    if (carrier) carried.set(l3vni, carrier);
  }
  const branch = (leaf: Leaf, below: readonly Branch[] = []): Branch => ({ text: textOf(leaf, colorize), below });
  const overlay = [
    ...l2vnis.map((l2vni) =>
      branch(
        l2vni,
        of("L3VNI")
          .filter((one) => carried.get(one) === l2vni)
          .map((one) => branch(one)),
      ),
    ),
    ...of("L3VNI")
      .filter((one) => !carried.has(one))
      .map((one) => branch(one)),
    ...of("L3Passthrough").map((one) => branch(one)),
  ];
  const [own, ...others] = of("Underlay").sort(
    (a, b) => Number(a.state === "Failed") - Number(b.state === "Failed") || a.failures.length - b.failures.length,
  );
  const root: Branch = own ? branch(own, overlay) : { text: "no Underlay", below: overlay };
  const roots = own || overlay.length > 0 ? [root] : [{ text: "nothing", below: [] }];
  return [
    colorize("bold", stripControlCharacters(node)),
    ...lines([...roots, ...[...others, ...of("RawFRRConfig")].map((one) => branch(one))], ""),
  ].join("\n");
}

function textOf({ kind, name, vrf, hostSession, evpn, state, failures }: Leaf, colorize: Colorize): string {
  const notes = [
    ...(evpn ? ["(EVPN)"] : []),
    ...(vrf === undefined ? [] : [`(VRF: ${stripControlCharacters(vrf)})`]),
    ...(hostSession ? ["[HostSession]"] : []),
    ...(state === undefined
      ? []
      : [colorize(state === "Applied" ? "green" : state === "Failed" ? "red" : "yellow", stripControlCharacters(state))]),
    ...(failures.length > 0
      ? [
          colorize("red", "[!! ERROR]"),
          failures.map(({ reason, message = "" }) => stripControlCharacters(`${reason}: ${message}`)).join("; "),
        ]
      : []),
  ];
  return [kind, stripControlCharacters(name), ...notes].join(" ");
}

function lines(branches: readonly Branch[], indent: string): string[] {
  return branches.flatMap(({ text, below }, nth) => {
    const last = nth === branches.length - 1;
    return [`${indent}${last ? "└─ " : "├─ "}${text}`].concat(lines(below, `${indent}${last ? "   " : "│  "}`));
  });
}
