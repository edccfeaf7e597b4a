import { expect, test } from "vitest";
import { link, snapshot } from "../hostnet/testing/fixtures.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import { underlayLinks } from "./report.ts";

const lastGood = new Map([["Underlay/fabric", { spec: { nics: ["eth1", "eth2", "eth3"] } } as LastGoodResource]]);
const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

test("reports the state of each interface of the live Underlay, in either namespace", () => {
  const have = snapshot({
    host: [link("eth2", "", { up: false })],
    router: [link("eth1", "", { noCarrier: true }), link("other", "", { up: false })],
  });
  expect(underlayLinks(lastGood, have, [], at(0))).toEqual([
    { name: "eth1", state: "NoCarrier", since: "2026-01-01T00:00:00Z" },
    { name: "eth2", state: "Down", since: "2026-01-01T00:00:00Z" },
    { name: "eth3", state: "Missing", since: "2026-01-01T00:00:00Z" },
  ]);
});

test("the start time of a state changes only with the state", () => {
  const up = snapshot({ router: ["eth1", "eth2", "eth3"].map((name) => link(name, "")) });
  const first = underlayLinks(lastGood, up, [], at(0));
  expect(underlayLinks(lastGood, up, first, at(5))).toEqual(first);
  const cut = snapshot({ router: [link("eth1", "", { noCarrier: true }), link("eth2", ""), link("eth3", "")] });
  expect(underlayLinks(lastGood, cut, first, at(5))).toEqual([
    { name: "eth1", state: "NoCarrier", since: "2026-01-01T00:00:05Z" },
    ...first.slice(1),
  ]);
});
