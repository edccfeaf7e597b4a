import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseOverlayMap, printOverlayMap, type OverlayNode } from "./overlay-map.ts";

const object = (data: Record<string, string>) => ({ metadata: { name: "plumbline-members" }, data });
const vnis = fc.uniqueArray(fc.integer({ min: 1, max: 16_777_215 }), { maxLength: 20 }).map((list) => list.sort((a, b) => a - b));

test("survives a round trip", () => {
  const nodes = fc.array(fc.record({ l2: vnis, l3: vnis }), { maxLength: 30 });
  fc.assert(
    fc.property(nodes, (list) => {
      const map = new Map(list.map((node, index): [string, OverlayNode] => [`node${index}`, { ...node, index, vtep: `10.0.0.${index}` }]));
      expect(parseOverlayMap(object(printOverlayMap({ nodes: map }))).nodes).toEqual(map);
    }),
  );
});

test("500 nodes with the same 100 VNIs are one set", () => {
  const l2 = Array.from({ length: 100 }, (_, at) => 100 + at);
  const nodes = Array.from({ length: 500 }, (_, index): [string, OverlayNode] => [`node${index}`, { index, vtep: "10.0.0.1", l2, l3: [] }]);
  expect(printOverlayMap({ nodes: new Map(nodes) })["overlaySets"]).toBe('[["100-199","","0-499"]]');
});

test("an object of an earlier controller has no nodes", () => {
  expect(parseOverlayMap(object({ live: "[]" })).nodes.size).toBe(0);
});

describe("is rejected with its key", () => {
  test.each([
    [{ overlayNodes: "{", overlaySets: "[]" }, "overlayNodes is not JSON"],
    [{ overlayNodes: "[]", overlaySets: "[]" }, "overlayNodes is not an object"],
    [{ overlayNodes: '{"a":[1]}', overlaySets: "[]" }, "overlayNodes has no index and VTEP for a"],
    [{ overlayNodes: '{"a":[1,"$(reboot)"]}', overlaySets: "[]" }, "overlayNodes has no index and VTEP for a"],
    [{ overlayNodes: '{"a":[1,"10.0.0"]}', overlaySets: "[]" }, "overlayNodes has no index and VTEP for a"],
    [{ overlayNodes: '{"a":[1,"fade"]}', overlaySets: "[]" }, "overlayNodes has no index and VTEP for a"],
    [{ overlayNodes: '{"a":[1,"fe80::1%eth0"]}', overlaySets: "[]" }, "overlayNodes has no index and VTEP for a"],
    [{ overlayNodes: "{}", overlaySets: "{}" }, "overlaySets is not a list"],
    [{ overlayNodes: "{}", overlaySets: '[["1","2"]]' }, "overlaySets has an entry that is not three ranges"],
    [{ overlayNodes: "{}", overlaySets: '[["7-3","","0"]]' }, 'overlaySets has the range "7-3"'],
    [{ overlayNodes: "{}", overlaySets: '[["1-10001","","0"]]' }, "overlaySets has a range of more than 10000 numbers"],
    [{ overlayNodes: "{}", overlaySets: '[["1-10000","","0"],["10001","","1"]]' }, "overlaySets has more than 10000 VNIs"],
  ])("%j", (data, problem) => {
    expect(() => parseOverlayMap(object(data))).toThrow(
      `ConfigMap plumbline-members: data.${problem}; delete this key: the controller writes it again`,
    );
  });
});
