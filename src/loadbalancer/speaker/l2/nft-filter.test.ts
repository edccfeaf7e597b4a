import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KernelError } from "../../../hostnet/error.ts";
import { parseAddress } from "../../../ip/address.ts";
import { createLog } from "../../../kube/log.ts";
import { NftFilter } from "./nft-filter.ts";

const addressOnNic = (address: string, name = "eth0") => ({
  address: parseAddress(address),
  nic: { name, index: 2, mac: "02:00:00:00:00:0a" },
});
const one = addressOnNic("192.0.2.100");
const two = addressOnNic("2001:db8::100");
const none: ReadonlySet<string> = new Set();
const rejection = new KernelError("Rejected", "Could not process rule: Operation not supported", { command: "nft -f -", namespace: "" });

let stop: AbortController;
let texts: string[];
let rejects: (text: string) => boolean;
let applied: number;
let guard: NftFilter;

beforeEach(() => {
  vi.useFakeTimers();
  stop = new AbortController();
  texts = [];
  rejects = () => false;
  applied = 0;
  guard = new NftFilter({
    nft: (text) => {
      texts.push(text);
      return rejects(text) ? Promise.reject(rejection) : Promise.resolve();
    },
    exemptPorts: ["8080"],
    onApplied: () => (applied += 1),
    log: createLog({ level: "silent" }),
  });
  void guard.run(stop.signal);
});

afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

const runTimers = () => vi.advanceTimersByTimeAsync(0);
const tables = () => texts.splice(0).map((text) => text.split("\n")[0]);

test("without addresses there is no table", async () => {
  guard.want([], none);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(texts).toEqual([]);
});

test("an address is protected once its rules are applied, and another one adds an element", async () => {
  guard.want([one], none);
  expect(guard.isFiltered(one)).toBe(false);
  await runTimers();
  expect(tables()).toEqual(["table inet plumbline", "table arp plumbline"]);
  expect(guard.isFiltered(one)).toBe(true);
  guard.want([one, two], none);
  expect([guard.isFiltered(one), guard.isFiltered(two)]).toEqual([true, false]);
  await runTimers();
  expect(texts.splice(0)).toEqual(["add element inet plumbline ipv6 { 2001:db8::100 }\n"]);
  expect(guard.isFiltered(two)).toBe(true);
  guard.want([two], none);
  await runTimers();
  expect(texts.splice(0)).toEqual([
    "delete element inet plumbline ipv4 { 192.0.2.100 }\n",
    'delete element arp plumbline addresses { 192.0.2.100 }\ndelete element arp plumbline selected { "eth0" . 192.0.2.100 }\n',
  ]);
});

test("without changes the tables are only written again once a minute", async () => {
  guard.want([one], none);
  await runTimers();
  texts.length = 0;
  guard.want([one], none);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(texts).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(tables()).toEqual(["table inet plumbline", "table arp plumbline"]);
});

test("changing addresses do not prevent the tables from being written again", async () => {
  guard.want([one], none);
  await runTimers();
  texts.length = 0;
  for (let times = 1; times <= 6; times++) {
    guard.want(times % 2 === 0 ? [one] : [one, two], none);
    await vi.advanceTimersByTimeAsync(30_000);
  }
  expect(tables().filter((first) => first === "table arp plumbline").length).toBeGreaterThan(1);
});

test("deleted tables are restored completely", async () => {
  guard.want([one], none);
  await runTimers();
  texts.length = 0;
  rejects = (text) => text.startsWith("add element");
  guard.want([one, two], none);
  await runTimers();
  expect(tables()).toEqual(["add element inet plumbline ipv6 { 2001:db8::100 }", "table inet plumbline"]);
  expect(guard.protection).toEqual({ is: "on" });
});

test("a family that the kernel lacks affects only its own rules, is reported, and is retried with backoff", async () => {
  rejects = (text) => text.includes("table arp");
  guard.want([one], none);
  await runTimers();
  expect(guard.isFiltered(one)).toBe(true);
  expect(guard.protection).toEqual({
    is: "off",
    why: "nftables family arp: Could not process rule: Operation not supported; interfaces that are not selected answer ARP for service addresses",
  });
  await vi.advanceTimersByTimeAsync(600_000);
  const attempts = texts.splice(0).filter((text) => text.includes("table arp")).length;
  expect(attempts).toBeGreaterThan(8);
  expect(attempts).toBeLessThan(30);
  guard.want([one, addressOnNic("192.0.2.101")], none);
  await runTimers();
  expect(texts).toEqual(["add element inet plumbline ipv4 { 192.0.2.101 }\n"]);
  rejects = () => false;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(guard.protection).toEqual({ is: "on" });
});

test("an address of IPVS is protected only against other interfaces", async () => {
  guard.want([one], new Set(["192.0.2.100"]));
  await runTimers();
  expect(texts.map((text) => text.split("\n")[0])).toEqual(["table arp plumbline"]);
  expect(guard.isFiltered(one)).toBe(true);
  expect(guard.protection).toEqual({ is: "off", why: "192.0.2.100 on kube-ipvs0 is served by IPVS and not filtered" });
});

test("waiters are notified each time that rules are in place", async () => {
  const before = applied;
  guard.want([one], none);
  await runTimers();
  expect(applied).toBeGreaterThan(before);
});
