import { describe, expect, test } from "vitest";
import type { Claim } from "./claim.ts";
import { resolveConflicts } from "./resolve-conflicts.ts";
import {
  testResource,
  messages,
  now,
  effectiveVersions,
  recorded,
  rules,
  running,
  resolvedNames,
  type TestSpec,
  testSpec,
} from "./testing/fixtures.ts";

describe("two resources with the same claim", () => {
  test("the older claim wins, and the failure of the other names the owner", () => {
    const result = resolvedNames(
      testResource("late", testSpec("7"), { recorded: recorded({ "7": 5 }) }),
      testResource("early", testSpec("7"), { recorded: recorded({ "7": 3 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ early: "current 7" });
    expect(result.failures).toEqual([
      {
        kind: "Lamp",
        name: "late",
        namespace: "hall",
        reason: "ValidationFailed",
        field: "spec.7",
        message: "Value 7 conflicts with Lamp early",
        class: "Transient",
      },
    ]);
  });

  test("a domain can supply its own conflict message", () => {
    const { failures } = resolveConflicts<TestSpec>(
      [testResource("late", testSpec("7", "10-19"), { created: new Date(5000) }), testResource("early", testSpec("7", "15-30"))],
      { ...rules, conflictMessage: (own, other, loser, owner) => `${loser.name}: ${own.subject}; ${owner.name}: ${other.subject}` },
    );
    // One sentence for each field.
    expect(failures.map(({ field, message }) => `${field} ${message}`)).toEqual([
      "spec.7 late: Value 7; early: Value 7",
      "spec.10-19 late: Part 10-19; early: Part 15-30",
    ]);
  });

  test("without a record a claim is as old as its object", () => {
    const result = resolvedNames(
      testResource("late", testSpec("7"), { created: new Date(5000) }),
      testResource("early", testSpec("7"), { created: new Date(3000) }),
    );
    expect(effectiveVersions(result)).toEqual({ early: "current 7" });
  });

  test("an unrecorded claim is younger than any recorded one, even one with a time in the future", () => {
    const result = resolvedNames(
      testResource("a", testSpec("7"), { recorded: recorded({ "6": 3 }) }),
      testResource("b", testSpec("7"), { recorded: recorded({ "7": 2000 }) }),
    );
    expect(now.getTime()).toBeLessThan(2_000_000);
    expect(effectiveVersions(result)).toEqual({ b: "current 7" });
  });

  test("claims of the same time are ordered by kind, then by name", () => {
    const same = { recorded: recorded({ "7": 3 }) };
    const result = resolvedNames(
      testResource("b", testSpec("7"), same),
      testResource("c", testSpec("7"), same),
      testResource("a", testSpec("7"), { ...same, kind: "Fan" }),
    );
    expect(effectiveVersions(result)).toEqual({ b: "current 7" });
    expect(messages(result)).toEqual(["c: Value 7 conflicts with Lamp b", "a: Value 7 conflicts with Lamp b"]);
  });

  test("a resource that is new on this node is younger than one that was here", () => {
    const result = resolvedNames(
      testResource("moved", testSpec("7"), { recorded: recorded({ "7": 1 }), newlySelectedAt: new Date(9000) }),
      testResource("here", testSpec("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ here: "current 7" });
  });

  test("an invalid record counts as no record of that claim", () => {
    const result = resolvedNames(
      testResource("odd", testSpec("7"), { recorded: [{ claim: "value/7", since: "yesterday" }] }),
      testResource("here", testSpec("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ here: "current 7" });
  });

  test("the message names the namespace of an owner in another namespace", () => {
    const result = resolvedNames(
      testResource("a", testSpec("7"), { recorded: recorded({ "7": 3 }), namespace: "attic" }),
      testResource("b", testSpec("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(messages(result)).toEqual(["b: Value 7 conflicts with Lamp attic/a"]);
  });
});

describe("last good versions", () => {
  test("an old object edited onto the value of a newer one does not affect it and keeps its own value", () => {
    const result = resolvedNames(
      testResource("old", testSpec("8"), { recorded: recorded({ "7": 1, "8": 9 }), ...running("7") }),
      testResource("new", testSpec("8"), { recorded: recorded({ "8": 5 }), ...running("8") }),
    );
    expect(effectiveVersions(result)).toEqual({ old: "kept 7", new: "current 8" });
    expect(messages(result)).toEqual(["old: Value 8 conflicts with Lamp new"]);
  });

  test("the values of a kept version stay claimed", () => {
    const result = resolvedNames(
      testResource("old", { ...testSpec("9"), faulty: true }, { recorded: recorded({ "7": 1, "9": 9 }), ...running("7") }),
      testResource("new", testSpec("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ old: "kept 7" });
    expect(messages(result)).toEqual(["new: Value 7 conflicts with Lamp old", "old: Faulty"]);
  });

  test("a value that an accepted edit releases is free at once", () => {
    const result = resolvedNames(
      testResource("old", testSpec("9"), { recorded: recorded({ "7": 1, "9": 9 }), ...running("7") }),
      testResource("new", testSpec("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ old: "current 9", new: "current 7" });
    expect(result.failures).toEqual([]);
  });

  test("an invalid resource does not take values of others", () => {
    const result = resolvedNames(
      testResource("a", { ...testSpec("7"), faulty: true }, { recorded: recorded({ "7": 1 }) }),
      testResource("b", testSpec("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ b: "current 7" });
    expect(messages(result)).toEqual(["a: Faulty"]);
  });

  test("an invalid resource has its conflicts reported too", () => {
    const result = resolvedNames(
      testResource("a", testSpec("7"), { recorded: recorded({ "7": 1 }) }),
      testResource("b", { ...testSpec("7"), faulty: true }, { recorded: recorded({ "7": 5 }) }),
    );
    expect(messages(result)).toEqual(["b: Faulty", "b: Value 7 conflicts with Lamp a"]);
  });

  test("a kept version whose value was released yields to the current owner", () => {
    const result = resolvedNames(
      testResource("old", { ...testSpec("9"), faulty: true }, { recorded: recorded({ "9": 1 }), ...running("7") }),
      testResource("new", testSpec("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ new: "current 7" });
  });
});

describe("cycles", () => {
  test("two resources that swap their values both get them", () => {
    const result = resolvedNames(
      testResource("a", testSpec("2"), { recorded: recorded({ "1": 1, "2": 8 }), ...running("1") }),
      testResource("b", testSpec("1"), { recorded: recorded({ "2": 1, "1": 9 }), ...running("2") }),
    );
    expect(effectiveVersions(result)).toEqual({ a: "current 2", b: "current 1" });
  });

  test("three resources in a cycle, each with a second value of another, all move at once", () => {
    const result = resolvedNames(
      testResource("a", testSpec("2"), { recorded: recorded({ "1": 1, "2": 8 }), ...running("1") }),
      testResource("b", testSpec("1", "9"), { recorded: recorded({ "2": 1, "8": 1, "1": 9, "9": 9 }), ...running("2", "8") }),
      testResource("c", testSpec("8"), { recorded: recorded({ "9": 1, "8": 9 }), ...running("9") }),
    );
    expect(effectiveVersions(result)).toEqual({ a: "current 2", b: "current 1 9", c: "current 8" });
  });

  test("a cycle with an invalid member stays unchanged", () => {
    const result = resolvedNames(
      testResource("a", testSpec("2"), { recorded: recorded({ "1": 1, "2": 8 }), ...running("1") }),
      testResource("b", { ...testSpec("3"), faulty: true }, { recorded: recorded({ "2": 1, "3": 9 }), ...running("2") }),
      testResource("c", testSpec("1"), { recorded: recorded({ "3": 1, "1": 9 }), ...running("3") }),
    );
    expect(effectiveVersions(result)).toEqual({ a: "kept 1", b: "kept 2", c: "kept 3" });
    expect(messages(result)).toEqual([
      "a: Value 2 conflicts with Lamp b",
      "b: Faulty",
      "b: Value 3 conflicts with Lamp c",
      "c: Value 1 conflicts with Lamp a",
    ]);
  });

  test("of two new resources with one older claim each, the one with the oldest claim wins", () => {
    const result = resolvedNames(
      testResource("a", testSpec("1", "2"), { recorded: recorded({ "1": 3, "2": 4 }) }),
      testResource("b", testSpec("1", "2"), { recorded: recorded({ "1": 5, "2": 2 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ b: "current 1 2" });
    expect(messages(result)).toEqual(["a: Value 2 conflicts with Lamp b"]);
  });

  test("the decision is the same if one of them is already applied", () => {
    const result = resolvedNames(
      testResource("a", testSpec("1", "2"), {
        recorded: recorded({ "1": 3, "2": 4 }),
        lastGood: { spec: testSpec("1", "2"), generation: 2 },
      }),
      testResource("b", testSpec("1", "2"), { recorded: recorded({ "1": 5, "2": 2 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ b: "current 1 2" });
  });

  test("a kept version does not yield to a resource with an older and a younger claim", () => {
    const result = resolvedNames(
      testResource("a", testSpec("1", "2"), { recorded: recorded({ "1": 1, "2": 4 }) }),
      testResource("b", { ...testSpec("9"), faulty: true }, { recorded: recorded({ "1": 5, "2": 2, "9": 9 }), ...running("1", "2") }),
    );
    expect(effectiveVersions(result)).toEqual({ b: "kept 1 2" });
  });

  test("a resource that only waits for a cycle is not part of it, however old its other claims are", () => {
    const result = resolvedNames(
      testResource("a", testSpec("1", "2"), { recorded: recorded({ "1": 3, "2": 4 }) }),
      testResource("b", testSpec("1", "2"), { recorded: recorded({ "1": 5, "2": 2 }) }),
      testResource("c", testSpec("1", "9"), { recorded: recorded({ "1": 6, "9": 1 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ b: "current 1 2" });
    expect(messages(result)).toEqual(["a: Value 2 conflicts with Lamp b", "c: Value 1 conflicts with Lamp b"]);
  });

  test("a version that is lost anyway blocks no other, so that the next pass decides the same", () => {
    const first = testResource("c0", testSpec("12-13", "10-10"), { recorded: recorded({ "10-10": 1 }) });
    const second = testResource("c1", testSpec("1", "11-11"), { recorded: recorded({ "1": 1, "10-10": 1 }) });
    const third = testResource("c2", testSpec("10-10"), { recorded: recorded({ "1": 1 }), ...running("1") });
    const fourth = testResource("c3", testSpec("10-12"), { created: new Date(1000) });
    const expected = { c0: "current 12-13 10-10", c1: "current 1 11-11" };
    expect(effectiveVersions(resolvedNames(first, { ...second, ...running("10-10") }, third, fourth))).toEqual(expected);
    expect(effectiveVersions(resolvedNames(first, second, third, fourth))).toEqual(expected);
  });

  test("two ranges that grow into each other both stay unchanged", () => {
    const result = resolvedNames(
      testResource("a", testSpec("1-20"), { recorded: recorded({ "1-10": 1, "11-20": 8 }), ...running("1-10") }),
      testResource("b", testSpec("1-20"), { recorded: recorded({ "11-20": 1, "1-10": 9 }), ...running("11-20") }),
    );
    expect(effectiveVersions(result)).toEqual({ a: "kept 1-10", b: "kept 11-20" });
    expect(messages(result)).toEqual([
      "a: Part 1-20 conflicts with 0.0.0.11-0.0.0.20 of Lamp b",
      "b: Part 1-20 conflicts with 0.0.0.1-0.0.0.10 of Lamp a",
    ]);
  });

  test("a resource does not give up its value for one that an older resource waits for", () => {
    const result = resolvedNames(
      testResource("a", testSpec("1", "2"), { recorded: recorded({ "3": 1, "1": 4, "2": 8 }), ...running("3") }),
      testResource("b", testSpec("1"), { recorded: recorded({ "2": 1, "1": 9 }), ...running("2") }),
    );
    expect(effectiveVersions(result)).toEqual({ a: "kept 3", b: "kept 2" });
    expect(messages(result)).toEqual(["a: Value 2 conflicts with Lamp b", "b: Value 1 conflicts with Lamp a"]);
  });
});

describe("ranges", () => {
  test("the old part of a range keeps its age when the range grows", () => {
    const grown = testResource("grown", testSpec("10-29"), { recorded: recorded({ "10-19": 1, "20-29": 9 }), ...running("10-19") });
    const inOld = testResource("in-old", testSpec("15-15"), { recorded: recorded({ "15-15": 5 }) });
    const inNew = testResource("in-new", testSpec("25-40"), { recorded: recorded({ "25-40": 5 }), ...running("25-40") });
    expect(effectiveVersions(resolvedNames(grown, inOld))).toEqual({ grown: "current 10-29" });
    expect(effectiveVersions(resolvedNames(grown, inNew))).toEqual({ grown: "kept 10-19", "in-new": "current 25-40" });
    expect(effectiveVersions(resolvedNames(grown, inOld, inNew))).toEqual({ grown: "kept 10-19", "in-new": "current 25-40" });
    expect(messages(resolvedNames(grown, inOld, inNew))).toEqual([
      "grown: Part 10-29 conflicts with 0.0.0.25-0.0.0.40 of Lamp in-new",
      "in-old: Part 15-15 conflicts with 0.0.0.10-0.0.0.19 of Lamp grown",
    ]);
  });

  test("adjacent ranges do not conflict", () => {
    expect(effectiveVersions(resolvedNames(testResource("a", testSpec("10-19")), testResource("b", testSpec("20-29"))))).toEqual({
      a: "current 10-19",
      b: "current 20-29",
    });
  });

  test("nested ranges conflict, at any depth", () => {
    const result = resolvedNames(
      testResource("a", testSpec("0-1000")),
      testResource("b", testSpec("500-500")),
      testResource("c", testSpec("2000-2001")),
    );
    expect(effectiveVersions(result)).toEqual({ a: "current 0-1000", c: "current 2000-2001" });
  });
});

function claimsWithDouble({ asks }: TestSpec): Claim[] {
  return asks.flatMap((text) => [
    { key: `value/${text}`, field: "spec.asks", subject: `Value ${text}` },
    { key: "double/14", field: "spec.asks", subject: "Double 14", follows: `value/${text}` },
  ]);
}

describe("shared values", () => {
  test("resources that share a value do not conflict, and one that claims it exclusively conflicts with each", () => {
    const result = resolvedNames(
      testResource("a", testSpec("~7"), { recorded: recorded({ "7": 1 }) }),
      testResource("b", testSpec("~7"), { recorded: recorded({ "7": 3 }) }),
      testResource("alone", testSpec("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ a: "current ~7", b: "current ~7" });
    expect(messages(result)).toEqual(["alone: Value 7 conflicts with Lamp a", "alone: Value 7 conflicts with Lamp b"]);
  });

  test("an older exclusive claim wins against all that share the value", () => {
    const result = resolvedNames(
      testResource("a", testSpec("~7"), { recorded: recorded({ "7": 3 }) }),
      testResource("b", testSpec("~7"), { recorded: recorded({ "7": 4 }) }),
      testResource("alone", testSpec("7"), { recorded: recorded({ "7": 1 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ alone: "current 7" });
    expect(messages(result)).toEqual(["a: Value ~7 conflicts with Lamp alone", "b: Value ~7 conflicts with Lamp alone"]);
  });

  test("a resource that now claims a value exclusively keeps its shared last good version while another shares it", () => {
    const result = resolvedNames(
      testResource("a", testSpec("7"), { recorded: recorded({ "7": 3 }), ...running("~7") }),
      testResource("b", testSpec("~7"), { recorded: recorded({ "7": 1 }) }),
    );
    expect(effectiveVersions(result)).toEqual({ a: "kept ~7", b: "current ~7" });
  });
});

test("a derived value has the age of its source, and one field has one failure per owner", () => {
  const result = resolveConflicts(
    [
      testResource("early", testSpec("7"), { recorded: recorded({ "7": 3 }) }),
      testResource("same", testSpec("7"), { recorded: recorded({ "7": 5 }) }),
      testResource("other", testSpec("-7"), { recorded: [{ claim: "value/-7", since: "1970-01-01T00:00:04Z" }] }),
    ],
    { ...rules, claims: claimsWithDouble },
  );
  expect(effectiveVersions(result)).toEqual({ early: "current 7" });
  expect(messages(result)).toEqual(["other: Double 14 conflicts with Lamp early", "same: Value 7 conflicts with Lamp early"]);
});

test("accepted resources are sorted by age, then kind and name", () => {
  const { effective } = resolvedNames(
    testResource("d", testSpec("4"), { recorded: recorded({ "4": 2 }) }),
    testResource("c", testSpec("3"), { recorded: recorded({ "3": 2 }), kind: "Fan" }),
    testResource("b", testSpec("2"), { recorded: recorded({ "1": 1 }) }),
    testResource("a", testSpec("1"), { recorded: recorded({ "1": 1 }) }),
  );
  expect(effective.map(({ resource: { name }, since }) => [name, since.getTime()])).toEqual([
    ["a", 1000],
    ["d", 2000],
    ["c", 2000],
    ["b", now.getTime()],
  ]);
});
