import { describe, expect, test } from "vitest";
import type { Claim } from "./claim.ts";
import { settle } from "./resolve-conflicts.ts";
import { contender, messages, now, outcome, recorded, rules, running, settled, type Wish, wish } from "./testing/fixtures.ts";

describe("two that ask for the same", () => {
  test("the one that asked first has it, and the other is told who", () => {
    const result = settled(
      contender("late", wish("7"), { recorded: recorded({ "7": 5 }) }),
      contender("early", wish("7"), { recorded: recorded({ "7": 3 }) }),
    );
    expect(outcome(result)).toEqual({ early: "current 7" });
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

  test("the words for a conflict can be the domain's own", () => {
    const { failures } = settle<Wish>(
      [contender("late", wish("7", "10-19"), { created: new Date(5000) }), contender("early", wish("7", "15-30"))],
      { ...rules, conflictMessage: (own, other, loser, holder) => `${loser.name}: ${own.words}; ${holder.name}: ${other.words}` },
    );
    // One sentence for each field.
    expect(failures.map(({ field, message }) => `${field} ${message}`)).toEqual([
      "spec.7 late: Value 7; early: Value 7",
      "spec.10-19 late: Part 10-19; early: Part 15-30",
    ]);
  });

  test("without any record they are as old as the objects", () => {
    const result = settled(
      contender("late", wish("7"), { created: new Date(5000) }),
      contender("early", wish("7"), { created: new Date(3000) }),
    );
    expect(outcome(result)).toEqual({ early: "current 7" });
  });

  test("a value that is not recorded yet is younger than any that is, even one recorded by a clock that is ahead", () => {
    const result = settled(
      contender("a", wish("7"), { recorded: recorded({ "6": 3 }) }),
      contender("b", wish("7"), { recorded: recorded({ "7": 2000 }) }),
    );
    expect(now.getTime()).toBeLessThan(2_000_000);
    expect(outcome(result)).toEqual({ b: "current 7" });
  });

  test("of the same moment: the kind that comes first, then the name", () => {
    const same = { recorded: recorded({ "7": 3 }) };
    const result = settled(
      contender("b", wish("7"), same),
      contender("c", wish("7"), same),
      contender("a", wish("7"), { ...same, kind: "Fan" }),
    );
    expect(outcome(result)).toEqual({ b: "current 7" });
    expect(messages(result)).toEqual(["c: Value 7 conflicts with Lamp b", "a: Value 7 conflicts with Lamp b"]);
  });

  test("one that came here only now is younger than one that was here", () => {
    const result = settled(
      contender("moved", wish("7"), { recorded: recorded({ "7": 1 }), newlySelectedAt: new Date(9000) }),
      contender("here", wish("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(outcome(result)).toEqual({ here: "current 7" });
  });

  test("a record that cannot be read counts as none of that value", () => {
    const result = settled(
      contender("odd", wish("7"), { recorded: [{ claim: "value/7", since: "yesterday" }] }),
      contender("here", wish("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(outcome(result)).toEqual({ here: "current 7" });
  });

  test("a holder in another namespace is named with it", () => {
    const result = settled(
      contender("a", wish("7"), { recorded: recorded({ "7": 3 }), namespace: "attic" }),
      contender("b", wish("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(messages(result)).toEqual(["b: Value 7 conflicts with Lamp attic/a"]);
  });
});

describe("last good forms", () => {
  test("an old object edited onto the value of a newer one leaves that working and keeps its own", () => {
    const result = settled(
      contender("old", wish("8"), { recorded: recorded({ "7": 1, "8": 9 }), ...running("7") }),
      contender("new", wish("8"), { recorded: recorded({ "8": 5 }), ...running("8") }),
    );
    expect(outcome(result)).toEqual({ old: "kept 7", new: "current 8" });
    expect(messages(result)).toEqual(["old: Value 8 conflicts with Lamp new"]);
  });

  test("what a kept form holds stays taken", () => {
    const result = settled(
      contender("old", { ...wish("9"), faulty: true }, { recorded: recorded({ "7": 1, "9": 9 }), ...running("7") }),
      contender("new", wish("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(outcome(result)).toEqual({ old: "kept 7" });
    expect(messages(result)).toEqual(["new: Value 7 conflicts with Lamp old", "old: Faulty"]);
  });

  test("what an accepted edit gives up is free at once", () => {
    const result = settled(
      contender("old", wish("9"), { recorded: recorded({ "7": 1, "9": 9 }), ...running("7") }),
      contender("new", wish("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(outcome(result)).toEqual({ old: "current 9", new: "current 7" });
    expect(result.failures).toEqual([]);
  });

  test("a faulty one asks for nothing that others would miss", () => {
    const result = settled(
      contender("a", { ...wish("7"), faulty: true }, { recorded: recorded({ "7": 1 }) }),
      contender("b", wish("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(outcome(result)).toEqual({ b: "current 7" });
    expect(messages(result)).toEqual(["a: Faulty"]);
  });

  test("a faulty one is told of its conflicts as well", () => {
    const result = settled(
      contender("a", wish("7"), { recorded: recorded({ "7": 1 }) }),
      contender("b", { ...wish("7"), faulty: true }, { recorded: recorded({ "7": 5 }) }),
    );
    expect(messages(result)).toEqual(["b: Faulty", "b: Value 7 conflicts with Lamp a"]);
  });

  test("a kept form whose value was released gives way to who holds it now", () => {
    const result = settled(
      contender("old", { ...wish("9"), faulty: true }, { recorded: recorded({ "9": 1 }), ...running("7") }),
      contender("new", wish("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(outcome(result)).toEqual({ new: "current 7" });
  });
});

describe("circles", () => {
  test("two that exchange their values both get them", () => {
    const result = settled(
      contender("a", wish("2"), { recorded: recorded({ "1": 1, "2": 8 }), ...running("1") }),
      contender("b", wish("1"), { recorded: recorded({ "2": 1, "1": 9 }), ...running("2") }),
    );
    expect(outcome(result)).toEqual({ a: "current 2", b: "current 1" });
  });

  test("three in a ring, each with a second value that another holds, all move at once", () => {
    const result = settled(
      contender("a", wish("2"), { recorded: recorded({ "1": 1, "2": 8 }), ...running("1") }),
      contender("b", wish("1", "9"), { recorded: recorded({ "2": 1, "8": 1, "1": 9, "9": 9 }), ...running("2", "8") }),
      contender("c", wish("8"), { recorded: recorded({ "9": 1, "8": 9 }), ...running("9") }),
    );
    expect(outcome(result)).toEqual({ a: "current 2", b: "current 1 9", c: "current 8" });
  });

  test("a ring with a faulty member stays as it is", () => {
    const result = settled(
      contender("a", wish("2"), { recorded: recorded({ "1": 1, "2": 8 }), ...running("1") }),
      contender("b", { ...wish("3"), faulty: true }, { recorded: recorded({ "2": 1, "3": 9 }), ...running("2") }),
      contender("c", wish("1"), { recorded: recorded({ "3": 1, "1": 9 }), ...running("3") }),
    );
    expect(outcome(result)).toEqual({ a: "kept 1", b: "kept 2", c: "kept 3" });
    expect(messages(result)).toEqual([
      "a: Value 2 conflicts with Lamp b",
      "b: Faulty",
      "b: Value 3 conflicts with Lamp c",
      "c: Value 1 conflicts with Lamp a",
    ]);
  });

  test("of two new ones that are each older in something, the one with the oldest claim has it", () => {
    const result = settled(
      contender("a", wish("1", "2"), { recorded: recorded({ "1": 3, "2": 4 }) }),
      contender("b", wish("1", "2"), { recorded: recorded({ "1": 5, "2": 2 }) }),
    );
    expect(outcome(result)).toEqual({ b: "current 1 2" });
    expect(messages(result)).toEqual(["a: Value 2 conflicts with Lamp b"]);
  });

  test("they are settled alike where one of them runs already", () => {
    const result = settled(
      contender("a", wish("1", "2"), { recorded: recorded({ "1": 3, "2": 4 }), lastGood: { spec: wish("1", "2"), generation: 2 } }),
      contender("b", wish("1", "2"), { recorded: recorded({ "1": 5, "2": 2 }) }),
    );
    expect(outcome(result)).toEqual({ b: "current 1 2" });
  });

  test("a kept form is not given up for one that is older in something and younger in something else", () => {
    const result = settled(
      contender("a", wish("1", "2"), { recorded: recorded({ "1": 1, "2": 4 }) }),
      contender("b", { ...wish("9"), faulty: true }, { recorded: recorded({ "1": 5, "2": 2, "9": 9 }), ...running("1", "2") }),
    );
    expect(outcome(result)).toEqual({ b: "kept 1 2" });
  });

  test("whoever only waits for a circle is not in it, however old something else is that it asks for", () => {
    const result = settled(
      contender("a", wish("1", "2"), { recorded: recorded({ "1": 3, "2": 4 }) }),
      contender("b", wish("1", "2"), { recorded: recorded({ "1": 5, "2": 2 }) }),
      contender("c", wish("1", "9"), { recorded: recorded({ "1": 6, "9": 1 }) }),
    );
    expect(outcome(result)).toEqual({ b: "current 1 2" });
    expect(messages(result)).toEqual(["a: Value 2 conflicts with Lamp b", "c: Value 1 conflicts with Lamp b"]);
  });

  test("a form that is lost anyway holds nobody up, so that the next pass decides the same", () => {
    const first = contender("c0", wish("12-13", "10-10"), { recorded: recorded({ "10-10": 1 }) });
    const second = contender("c1", wish("1", "11-11"), { recorded: recorded({ "1": 1, "10-10": 1 }) });
    const third = contender("c2", wish("10-10"), { recorded: recorded({ "1": 1 }), ...running("1") });
    const fourth = contender("c3", wish("10-12"), { created: new Date(1000) });
    const expected = { c0: "current 12-13 10-10", c1: "current 1 11-11" };
    expect(outcome(settled(first, { ...second, ...running("10-10") }, third, fourth))).toEqual(expected);
    expect(outcome(settled(first, second, third, fourth))).toEqual(expected);
  });

  test("two that grow into each other both stay as they were", () => {
    const result = settled(
      contender("a", wish("1-20"), { recorded: recorded({ "1-10": 1, "11-20": 8 }), ...running("1-10") }),
      contender("b", wish("1-20"), { recorded: recorded({ "11-20": 1, "1-10": 9 }), ...running("11-20") }),
    );
    expect(outcome(result)).toEqual({ a: "kept 1-10", b: "kept 11-20" });
    expect(messages(result)).toEqual([
      "a: Part 1-20 conflicts with 0.0.0.11-0.0.0.20 of Lamp b",
      "b: Part 1-20 conflicts with 0.0.0.1-0.0.0.10 of Lamp a",
    ]);
  });

  test("one does not give up what it has for a value that an older one waits for, since it would soon lose both", () => {
    const result = settled(
      contender("a", wish("1", "2"), { recorded: recorded({ "3": 1, "1": 4, "2": 8 }), ...running("3") }),
      contender("b", wish("1"), { recorded: recorded({ "2": 1, "1": 9 }), ...running("2") }),
    );
    expect(outcome(result)).toEqual({ a: "kept 3", b: "kept 2" });
    expect(messages(result)).toEqual(["a: Value 2 conflicts with Lamp b", "b: Value 1 conflicts with Lamp a"]);
  });
});

describe("ranges", () => {
  test("what was held keeps its age when the range grows", () => {
    const grown = contender("grown", wish("10-29"), { recorded: recorded({ "10-19": 1, "20-29": 9 }), ...running("10-19") });
    const inOld = contender("in-old", wish("15-15"), { recorded: recorded({ "15-15": 5 }) });
    const inNew = contender("in-new", wish("25-40"), { recorded: recorded({ "25-40": 5 }), ...running("25-40") });
    expect(outcome(settled(grown, inOld))).toEqual({ grown: "current 10-29" });
    expect(outcome(settled(grown, inNew))).toEqual({ grown: "kept 10-19", "in-new": "current 25-40" });
    expect(outcome(settled(grown, inOld, inNew))).toEqual({ grown: "kept 10-19", "in-new": "current 25-40" });
    expect(messages(settled(grown, inOld, inNew))).toEqual([
      "grown: Part 10-29 conflicts with 0.0.0.25-0.0.0.40 of Lamp in-new",
      "in-old: Part 15-15 conflicts with 0.0.0.10-0.0.0.19 of Lamp grown",
    ]);
  });

  test("neighbours are not in each other's way", () => {
    expect(outcome(settled(contender("a", wish("10-19")), contender("b", wish("20-29"))))).toEqual({
      a: "current 10-19",
      b: "current 20-29",
    });
  });

  test("one range inside another conflicts, however deep it lies", () => {
    const result = settled(contender("a", wish("0-1000")), contender("b", wish("500-500")), contender("c", wish("2000-2001")));
    expect(outcome(result)).toEqual({ a: "current 0-1000", c: "current 2000-2001" });
  });
});

function claimsWithDouble({ asks }: Wish): Claim[] {
  return asks.flatMap((text) => [
    { key: `value/${text}`, field: "spec.asks", words: `Value ${text}` },
    { key: "double/14", field: "spec.asks", words: "Double 14", follows: `value/${text}` },
  ]);
}

describe("shared values", () => {
  test("those that share a value do not conflict, and one that wants it alone conflicts with each of them", () => {
    const result = settled(
      contender("a", wish("~7"), { recorded: recorded({ "7": 1 }) }),
      contender("b", wish("~7"), { recorded: recorded({ "7": 3 }) }),
      contender("alone", wish("7"), { recorded: recorded({ "7": 5 }) }),
    );
    expect(outcome(result)).toEqual({ a: "current ~7", b: "current ~7" });
    expect(messages(result)).toEqual(["alone: Value 7 conflicts with Lamp a", "alone: Value 7 conflicts with Lamp b"]);
  });

  test("an older one that wants it alone wins against all that share it", () => {
    const result = settled(
      contender("a", wish("~7"), { recorded: recorded({ "7": 3 }) }),
      contender("b", wish("~7"), { recorded: recorded({ "7": 4 }) }),
      contender("alone", wish("7"), { recorded: recorded({ "7": 1 }) }),
    );
    expect(outcome(result)).toEqual({ alone: "current 7" });
    expect(messages(result)).toEqual(["a: Value ~7 conflicts with Lamp alone", "b: Value ~7 conflicts with Lamp alone"]);
  });

  test("one that now wants the value alone keeps its shared last good form while another shares the value", () => {
    const result = settled(
      contender("a", wish("7"), { recorded: recorded({ "7": 3 }), ...running("~7") }),
      contender("b", wish("~7"), { recorded: recorded({ "7": 1 }) }),
    );
    expect(outcome(result)).toEqual({ a: "kept ~7", b: "current ~7" });
  });
});

test("a value that follows from another is as old as that one, and one field is blamed once for one holder", () => {
  const result = settle(
    [
      contender("early", wish("7"), { recorded: recorded({ "7": 3 }) }),
      contender("same", wish("7"), { recorded: recorded({ "7": 5 }) }),
      contender("other", wish("-7"), { recorded: [{ claim: "value/-7", since: "1970-01-01T00:00:04Z" }] }),
    ],
    { ...rules, claims: claimsWithDouble },
  );
  expect(outcome(result)).toEqual({ early: "current 7" });
  expect(messages(result)).toEqual(["other: Double 14 conflicts with Lamp early", "same: Value 7 conflicts with Lamp early"]);
});

test("who may be is listed by age, then kind and name", () => {
  const { effective } = settled(
    contender("d", wish("4"), { recorded: recorded({ "4": 2 }) }),
    contender("c", wish("3"), { recorded: recorded({ "3": 2 }), kind: "Fan" }),
    contender("b", wish("2"), { recorded: recorded({ "1": 1 }) }),
    contender("a", wish("1"), { recorded: recorded({ "1": 1 }) }),
  );
  expect(effective.map(({ contender: { name }, since }) => [name, since.getTime()])).toEqual([
    ["a", 1000],
    ["d", 2000],
    ["c", 2000],
    ["b", now.getTime()],
  ]);
});
