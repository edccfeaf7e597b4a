import * as fc from "fast-check";
import { expect, test } from "vitest";
import { builtinKind, type KubeObject } from "../api/kind.ts";
import { explainer, type Health, HEALTHS, type Index, type Dependency, type HealthStatement } from "../api/health.ts";
import { CauseGraph } from "./graph.ts";

/** An object that says of itself what its spec has, and looks at others for what they say of theirs. */
interface Part extends KubeObject {
  health: Health;
  dependencies?: { name: string; as?: "part" | "alternative" }[];
  ownFault?: boolean;
  since?: string;
  /** Is unhealthy while another object of this team is. */
  team?: string;
  follows?: string;
}

const Part = builtinKind<Part>({ group: "", version: "v1", kind: "Part", plural: "parts", scope: "Cluster" });
const byTeam: Index<Part> = { kind: Part, of: ({ team }) => (team === undefined ? [] : [team]) };

const explainers = [
  explainer(Part, (part, reader) => {
    const followed = part.follows === undefined ? [] : reader.by(byTeam, part.follows);
    const health = followed.some((other) => other.health === "Down") ? "Down" : part.health;
    const dependencies = (part.dependencies ?? []).map(({ name, as }): Dependency => {
      const component = { kind: "Part", name };
      return as ? { component, as } : { component };
    });
    const { ownFault, since } = part;
    const component = { kind: "Part", name: part.metadata.name };
    return [
      {
        component,
        domain: "cluster",
        health,
        dependencies,
        ...(ownFault && { ownFault }),
        ...(since && { since }),
      } satisfies HealthStatement,
    ];
  }),
];

function part(name: string, health: Health, more: Partial<Part> = {}): Part {
  return { metadata: { name }, health, ...more };
}

function graphOf(...parts: Part[]): CauseGraph {
  const graph = new CauseGraph(explainers);
  for (const one of parts) graph.put(Part, one);
  return graph;
}

const dependencies = (...names: string[]) => ({ dependencies: names.map((name) => ({ name })) });
const oneOf = (...names: string[]) => ({ dependencies: names.map((name) => ({ name, as: "alternative" as const })) });

test("the deepest unhealthy component is the cause, and its dependents are symptoms, the nearest first", () => {
  const graph = graphOf(
    part("service", "Down", dependencies("session")),
    part("session", "Down", dependencies("link")),
    part("link", "Down"),
    part("other", "Healthy"),
  );
  const [cause, ...others] = graph.causes();
  expect(others).toEqual([]);
  expect(cause).toMatchObject({ id: "Part/link", health: "Down" });
  expect(cause?.symptoms.map(({ id }) => id)).toEqual(["Part/session", "Part/service"]);
  expect(graph.why("Part/service")).toMatchObject({
    path: {
      id: "Part/service",
      cause: false,
      dependencies: [{ id: "Part/session", dependencies: [{ id: "Part/link", cause: true, dependencies: [] }] }],
    },
    causes: [{ id: "Part/link" }],
  });
});

test("health propagates through components that are healthy by themselves", () => {
  const graph = graphOf(
    part("top", "Healthy", dependencies("middle")),
    part("middle", "Healthy", dependencies("bottom")),
    part("bottom", "Unknown"),
  );
  expect(graph.verdict("Part/top")?.health).toBe("Unknown");
  expect(graph.why("Part/top")?.causes.map(({ id }) => id)).toEqual(["Part/bottom"]);
});

test("a component with its own fault is a cause, however bad its dependencies are", () => {
  const graph = graphOf(part("vni", "Down", { ...dependencies("link"), ownFault: true }), part("link", "Down"));
  expect(graph.why("Part/vni")?.causes.map(({ id }) => id)).toEqual(["Part/vni"]);
  expect(graph.causes().find(({ id }) => id === "Part/link")?.symptoms).toEqual([]);
});

test.each<[Health[], Health]>([
  [["Healthy", "Healthy"], "Healthy"],
  [["Healthy", "Down"], "Degraded"],
  [["Unknown", "Down"], "Unknown"],
  [["Down", "Down"], "Down"],
  [["Degraded", "Down"], "Degraded"],
])("a component with the alternatives %j is %s", (alternatives, health) => {
  const names = alternatives.map((_, at) => `way-${at}`);
  const graph = graphOf(part("top", "Healthy", oneOf(...names)), ...alternatives.map((one, at) => part(`way-${at}`, one)));
  expect(graph.verdict("Part/top")?.health).toBe(health);
});

test("a part that is down leaves the whole degraded", () => {
  const graph = graphOf(part("node", "Healthy", { dependencies: [{ name: "vni", as: "part" }] }), part("vni", "Down"));
  expect(graph.verdict("Part/node")?.health).toBe("Degraded");
});

test("in a cycle of dependencies the component that was unhealthy first is the cause", () => {
  const graph = graphOf(
    part("hen", "Down", { ...dependencies("egg"), since: "2026-01-01T00:00:02Z" }),
    part("egg", "Down", { ...dependencies("hen"), since: "2026-01-01T00:00:01Z" }),
  );
  expect(graph.causes().map(({ id }) => id)).toEqual(["Part/egg"]);
  expect(graph.why("Part/hen")?.causes.map(({ id }) => id)).toEqual(["Part/egg"]);
});

test("causes are sorted by health, then by the number of symptoms", () => {
  const graph = graphOf(
    part("a", "Degraded"),
    part("b", "Down"),
    part("c", "Down"),
    part("above", "Healthy", dependencies("c")),
    part("d", "Unknown"),
  );
  expect(graph.causes().map(({ id }) => id)).toEqual(["Part/c", "Part/b", "Part/d", "Part/a"]);
});

test("a component without a statement is unknown to why, and healthy as a dependency", () => {
  const graph = graphOf(part("top", "Healthy", dependencies("elsewhere")));
  expect(graph.why("Part/nothing")).toBeUndefined();
  expect(graph.verdict("Part/top")?.health).toBe("Healthy");
  expect([...graph.verdicts()].map(({ id }) => id)).toEqual(["Part/top"]);
});

test("of several statements about a component the worst counts, and all dependencies apply", () => {
  const statements: HealthStatement[] = [
    {
      component: { kind: "Node", name: "n" },
      domain: "router",
      health: "Healthy",
      dependencies: [{ component: { kind: "Part", name: "a" } }],
    },
    { component: { kind: "Node", name: "n" }, domain: "loadbalancer", health: "Unknown", reason: "AgentNotReporting", ownFault: true },
  ];
  const graph = new CauseGraph(
    statements.map((statement) => explainer(Part, ({ metadata }) => (metadata.name === "n" ? [statement] : []))),
  );
  graph.put(Part, part("n", "Healthy"));
  expect(graph.verdict("Node/n")).toMatchObject({ health: "Unknown", reason: "AgentNotReporting", domain: "loadbalancer" });
  graph.drop(Part, "n");
  expect([...graph.verdicts()]).toEqual([]);
});

const NAMES = ["a", "b", "c", "d", "e", "f"];
const name = fc.constantFrom(...NAMES);
const anyPart = fc.record(
  {
    metadata: fc.record({ name }),
    health: fc.constantFrom(...HEALTHS),
    dependencies: fc.uniqueArray(
      fc.record({ name, as: fc.constantFrom("part" as const, "alternative" as const) }, { requiredKeys: ["name"] }),
      {
        maxLength: 3,
        selector: (dependency) => dependency.name,
      },
    ),
    ownFault: fc.boolean(),
    since: fc.constantFrom("2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"),
    team: fc.constantFrom("red", "blue"),
    follows: fc.constantFrom("red", "blue"),
  },
  { requiredKeys: ["metadata", "health"] },
);
const change = fc.oneof({ arbitrary: anyPart, weight: 4 }, { arbitrary: name, weight: 1 });

test("after any changes the graph equals one that is built from the same objects", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const grown = new CauseGraph(explainers);
      const objects = new Map<string, Part>();
      for (const one of changes) {
        if (typeof one === "string") {
          grown.drop(Part, one);
          objects.delete(one);
        } else {
          grown.put(Part, one);
          objects.set(one.metadata.name, one);
        }
        if (objects.size % 2 === 0) grown.causes();
      }
      const fresh = graphOf(...objects.values());
      expect(summary(grown)).toEqual(summary(fresh));
    }),
    { seed: 9, numRuns: 500 },
  );
});

test("every unhealthy component has an unhealthy cause, and a healthy one has none", () => {
  fc.assert(
    fc.property(fc.uniqueArray(anyPart, { maxLength: 6, selector: ({ metadata }) => metadata.name }), (parts) => {
      const graph = graphOf(...parts);
      for (const { id, health } of graph.verdicts()) {
        const { causes } = graph.why(id) ?? { causes: [] };
        expect({ id, blamed: causes.length > 0 }).toEqual({ id, blamed: health !== "Healthy" });
        for (const cause of causes) expect(cause.health).not.toBe("Healthy");
      }
    }),
    { seed: 10, numRuns: 500 },
  );
});

function summary(graph: CauseGraph): unknown {
  const healths = [...graph.verdicts()].sort((one, other) => (one.id < other.id ? -1 : 1));
  return { verdicts: healths, causes: graph.causes(), why: healths.map(({ id }) => graph.why(id)) };
}

test("touched() returns exactly the components whose health has changed, also through dependencies", () => {
  const graph = graphOf(part("top", "Healthy", dependencies("bottom")), part("bottom", "Healthy"), part("other", "Healthy"));
  expect([...graph.touched().keys()].sort()).toEqual(["Part/bottom", "Part/other", "Part/top"]);
  graph.put(Part, part("bottom", "Down"));
  expect([...graph.touched()].map(([id, verdict]) => [id, verdict?.health])).toEqual([
    ["Part/bottom", "Down"],
    ["Part/top", "Down"],
  ]);
  graph.drop(Part, "bottom");
  expect([...graph.touched()].map(([id, verdict]) => [id, verdict?.health])).toEqual([
    ["Part/bottom", undefined],
    ["Part/top", "Healthy"],
  ]);
  expect([...graph.touched()]).toEqual([]);
});

test("an object that makes an explainer throw is Unknown, and does not affect others", () => {
  const stumbling = explainer(Part, ({ metadata: { name }, health }) => {
    if (name === "strange") throw new TypeError("nothing is not iterable");
    return [{ component: { kind: "Part", name }, domain: "router", health } satisfies HealthStatement];
  });
  const graph = new CauseGraph([stumbling]);
  graph.put(Part, part("strange", "Healthy"));
  graph.put(Part, part("broken", "Down"));
  expect(graph.causes()).toMatchObject([
    { id: "Part/broken", health: "Down" },
    {
      id: "Part/strange",
      health: "Unknown",
      reason: "InternalError",
      message: expect.stringContaining("nothing is not iterable") as string,
    },
  ]);
  graph.drop(Part, "strange");
  expect(graph.causes().map(({ id }) => id)).toEqual(["Part/broken"]);
});
