import { afterEach, beforeEach, expect, test } from "vitest";
import { Segment } from "../support/l2-segment.ts";

const VIP = "192.0.2.100";
let segment: Segment;

beforeEach(() => {
  segment = new Segment(["a", "b", "c"]);
});

afterEach(async () => {
  await segment[Symbol.asyncDispose]();
});

test("the elected node answers alone, and when the election changes the next one takes over after it has let go", async () => {
  const [a, b] = [segment.start("a"), segment.start("b")];
  const answers = segment.watch(VIP);
  for (const node of [a, b]) node.want({ address: VIP, candidates: ["a", "b"] });
  await a.is(VIP, "holding");
  await b.is(VIP, "standby");
  await answers.from(a.station.mac);
  for (const node of [b, a]) node.want({ address: VIP, candidates: ["b", "a"] });
  await b.is(VIP, "holding");
  await a.is(VIP, "standby");
  await answers.from(b.station.mac);
  expect(answers.doubles).toEqual([]);
  expect(answers.owners).toEqual([a.station.mac, b.station.mac]);
});
