import { expect, test } from "vitest";
import type { ConfigMap } from "../../api/core/config-map.ts";
import { agentsBefore, type Members, MembersError, parseMembers, printMembers } from "./members.ts";

const members: Members = {
  live: ["a", "b"],
  keys: { a: `${"A".repeat(43)}=` },
  indexes: { a: { index: 0 }, b: { index: 2 } },
  freed: [{ index: 1, at: "2026-11-15T10:30:00.000Z" }],
};

const written = (changes: Record<string, string> = {}): ConfigMap => ({
  metadata: { name: "plumbline-members", namespace: "plumbline-system" },
  data: { ...printMembers(members), ...changes },
});

function complaint(configMap: ConfigMap): string {
  try {
    parseMembers(configMap);
  } catch (error) {
    if (error instanceof MembersError) return error.message;
    throw error;
  }
  return "none";
}

test("agents parse what the controller writes", () => {
  expect(parseMembers(written())).toEqual(members);
});

test("live agents are sorted by index, and those without an index come last", () => {
  const three = { ...members, live: ["a", "b", "new"], indexes: { a: { index: 2 }, b: { index: 0 }, gone: { index: 1 } } };
  expect(["a", "b", "new"].map((node) => agentsBefore(node, written(printMembers(three))))).toEqual([1, 0, 2]);
  expect([agentsBefore("a", undefined), agentsBefore("a", written({ live: "?" }))]).toEqual([0, Infinity]);
});

test("keys and fields of a newer version are left alone", () => {
  const newer = written({ zones: "{}", indexes: '{"a":{"index":0,"zone":"east"}}' });
  expect(parseMembers(newer).indexes).toEqual({ a: { index: 0, zone: "east" } });
});

test.each([
  ["live", "[1]", "data.live is not a list of node names"],
  ["live", "a,b", "data.live is not JSON"],
  ["indexes", "[]", "data.indexes does not give each node an index of its own"],
  ["indexes", '{"a":{"index":-1}}', "data.indexes does not give each node an index of its own"],
  ["indexes", '{"a":{"index":1},"b":{"index":1}}', "data.indexes does not give each node an index of its own"],
  ["indexes", '{"a":null}', "data.indexes does not give each node an index of its own"],
  ["keys", '{"a":"short"}', "data.keys does not give nodes a key each"],
  ["keys", "[]", "data.keys does not give nodes a key each"],
  ["freed", '[{"index":1,"at":"yesterday"}]', "data.freed is not a list of indexes with the times they were freed"],
])("%s as %s is rejected with the field and a fix", (key, text, problem) => {
  expect(complaint(written({ [key]: text }))).toBe(
    `ConfigMap plumbline-members: ${problem}; restore it, or delete the object: Nodes keep their index`,
  );
});

test("a controller of an earlier version publishes no keys", () => {
  const data = { ...written().data };
  delete data["keys"];
  expect(parseMembers({ ...written(), data })).toEqual({ ...members, keys: {} });
});

test("a missing key is rejected, since it would mean no agents", () => {
  expect(complaint({ metadata: { name: "plumbline-members" } })).toContain("data.live is missing");
});
