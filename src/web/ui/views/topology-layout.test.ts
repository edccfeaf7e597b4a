import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Health } from "../../../api/health.ts";
import type { TopologyRow } from "../../api.ts";
import { fabricOf } from "./fabric.ts";
import { type Item, itemAt, layoutTopology, neighborOf, pairAt, type TopologyLayout } from "./topology-layout.ts";

interface Shape {
  readonly health: Health;
  readonly tors: readonly number[];
  readonly down: number;
  readonly failing: readonly number[];
}

const health = fc.constantFrom<Health>("Healthy", "Healthy", "Healthy", "Degraded", "Unknown", "Down");
const shape: fc.Arbitrary<Shape> = fc.record({
  health,
  tors: fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { maxLength: 6 }),
  down: fc.integer({ min: -1, max: 6 }),
  failing: fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 3 }),
});
const shapes = fc.array(shape, { maxLength: 90 });

function row({ health, tors, down, failing }: Shape, at: number): TopologyRow {
  const node = `node${at}`;
  const sessions = tors.map((tor, nth) => {
    const state = nth === down ? "Active" : "Established";
    const neighbor = `10.0.0.${tor}`;
    return { id: `Session/${neighbor}@${node}`, neighbor, state, health: nth === down ? ("Down" as const) : ("Healthy" as const) };
  });
  const paths = failing.filter((other) => other !== at).map((other) => ({ node: `node${other}`, reason: "NoPath", message: "no answer" }));
  const overlay = { health: "Healthy" as const, probed: 3, failing: paths };
  return { type: "router", key: `router/${node}`, id: `Router/${node}`, node, health, sessions, vnis: "100", overlay };
}

const layoutOf = (rows: readonly TopologyRow[], width: number, open?: string) => layoutTopology({ ...fabricOf(rows), width, open });
const positions = ({ items }: TopologyLayout) => items.map(({ key, x, y }) => `${key} ${x} ${y}`);
const tiles = ({ items }: TopologyLayout) => items.filter(({ kind }) => kind !== "session");
const overlap = (one: Item, other: Item) =>
  one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;

test("no two switches, nodes or racks overlap, and everything is within the drawing", () => {
  fc.assert(
    fc.property(shapes, fc.integer({ min: 200, max: 2_000 }), (shapes, width) => {
      const layout = layoutOf(shapes.map(row), width);
      const boxes = tiles(layout);
      for (const [at, one] of boxes.entries()) expect(boxes.slice(at + 1).filter((other) => overlap(one, other))).toEqual([]);
      const racks = layout.racks as unknown as Item[];
      for (const [at, one] of racks.entries()) expect(racks.slice(at + 1).filter((other) => overlap(one, other))).toEqual([]);
      for (const { x, y, width, height } of [...layout.items, ...layout.racks]) {
        expect(Math.min(x, y)).toBeGreaterThanOrEqual(0);
        expect(x + width).toBeLessThanOrEqual(layout.width);
        expect(y + height).toBeLessThanOrEqual(layout.height);
      }
    }),
    { numRuns: 60 },
  );
});

test("every node is drawn or counted once, however many there are and whichever rack is open", () => {
  fc.assert(
    fc.property(shapes, fc.integer({ min: 0, max: 3 }), (shapes, nth) => {
      const rows = shapes.map(row);
      const open = layoutOf(rows, 900).racks[nth]?.key;
      const names = layoutOf(rows, 900, open).items.flatMap((item) =>
        item.kind === "node" ? [item.node.name] : item.kind === "group" ? item.nodes.map(({ name }) => name) : [],
      );
      expect(names.toSorted()).toEqual(rows.map(({ node }) => node).toSorted());
    }),
    { numRuns: 60 },
  );
});

test("a change of health moves nothing while all nodes are drawn", () => {
  fc.assert(
    fc.property(fc.array(shape, { maxLength: 50 }), fc.array(health, { minLength: 50, maxLength: 50 }), (shapes, healths) => {
      const few = shapes.map((one) => ({ ...one, tors: one.tors.slice(0, 4) }));
      const changed = few.map((one, at) => ({ ...one, health: healths[at] ?? "Down", down: -1 }));
      expect(positions(layoutOf(changed.map(row), 900))).toEqual(positions(layoutOf(few.map(row), 900)));
    }),
    { numRuns: 60 },
  );
});

const rowsOf = (health: (at: number) => Health) =>
  Array.from({ length: 500 }, (_, at) =>
    row({ health: health(at), tors: [1 + Math.floor(at / 100)], down: -1, failing: at === 77 ? [303] : [] }, at),
  );

test("unhealthy ones of 500 nodes are drawn, with both ends of failing paths, and healthy ones are one tile per rack", () => {
  const rows = rowsOf((at) => (at === 77 ? "Down" : "Healthy"));
  const layout = layoutOf(rows, 1_400);
  expect(layout.items.flatMap((item) => (item.kind === "node" ? item.node.name : []))).toEqual(["node77", "node303"]);
  expect(layout.items.flatMap((item) => (item.kind === "group" ? item.nodes.length : []))).toEqual([99, 100, 100, 99, 100]);
  expect(layout.pairs.map(({ pair }) => pair.key)).toEqual(["node77 node303"]);
  const opened = layoutOf(rows, 1_400, "10.0.0.2");
  expect(opened.items.filter(({ kind }) => kind === "node")).toHaveLength(102);
  expect(
    layoutOf(
      rowsOf(() => "Down"),
      1_400,
    ).items.length,
  ).toBeLessThan(500);
});

test("a point selects the item that is drawn there, a session before its node", () => {
  const layout = layoutOf(
    [0, 1, 2].map((at) => row({ health: "Healthy", tors: [1, 2], down: 0, failing: at === 0 ? [2] : [] }, at)),
    900,
  );
  for (const item of layout.items) expect(itemAt(layout, [item.x + item.width / 2, item.y + item.height / 2])?.key).toBe(item.key);
  const [drawn] = layout.pairs;
  expect(pairAt(layout, drawn?.curve[0] ?? [0, 0])?.pair.key).toBe("node0 node2");
  expect(pairAt(layout, [1, 1])).toBeUndefined();
});

test("arrow keys reach every item", () => {
  fc.assert(
    fc.property(fc.array(shape, { minLength: 1, maxLength: 30 }), (shapes) => {
      const layout = layoutOf(shapes.map(row), 900);
      const found = new Set<Item>(layout.items.slice(0, 1));
      for (const item of found)
        for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) found.add(neighborOf(layout, item, key) ?? item);
      expect(found.size).toBe(layout.items.length);
    }),
    { numRuns: 60 },
  );
});
