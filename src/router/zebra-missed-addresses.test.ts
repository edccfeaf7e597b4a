import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Link } from "../hostnet/snapshot.ts";
import { MissedAddresses } from "./zebra-missed-addresses.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const link = (name: string, texts: readonly string[], fields: Partial<Link> = {}): Link => ({
  name,
  index: 1,
  type: "veth",
  alias: "",
  group: "default",
  mtu: 1500,
  mac: "",
  up: true,
  addresses: texts.map((text) => ({
    text,
    scope: text.startsWith("fe80") ? "link" : "global",
    dynamic: false,
    secondary: false,
    dadFailed: false,
  })),
  ...fields,
});

const known = (addresses: Record<string, string[]>) => new Map(Object.entries(addresses).map(([name, texts]) => [name, new Set(texts)]));

test("returns an address that zebra does not know, and none that it knows", () => {
  const links = [link("pe-200", ["192.0.2.1/24", "2001:db8::1/64", "fe80::1/64"]), link("br-pe-110", ["10.110.0.1/24"])];
  expect(new MissedAddresses().due(links, known({ "pe-200": ["2001:db8::1/64"], "br-pe-110": ["10.110.0.1/24"] }))).toEqual([
    { link: "pe-200", address: "192.0.2.1/24" },
  ]);
});

test("a secondary address of a network, which zebra does not list, is not missing", () => {
  const [first] = link("pe-200", ["192.0.2.7/24"]).addresses;
  const links = [link("pe-200", [], { addresses: first ? [{ ...first, secondary: true }] : [] })];
  expect(new MissedAddresses().due(links, known({ "pe-200": [] }))).toEqual([]);
});

test("a link that zebra does not know yet, or that is down, has no missing addresses", () => {
  const links = [link("new", ["192.0.2.1/24"]), link("down", ["192.0.2.2/24"], { up: false })];
  expect(new MissedAddresses().due(links, known({ down: [] }))).toEqual([]);
});

test("returns an address that stays missing again after a while, not in every pass", () => {
  const missed = new MissedAddresses();
  const dueCount = () => missed.due([link("pe-200", ["192.0.2.1/24"])], known({ "pe-200": [] })).length;
  expect([dueCount(), dueCount()]).toEqual([1, 0]);
  vi.advanceTimersByTime(10_000);
  expect([dueCount(), dueCount()]).toEqual([1, 0]);
});
