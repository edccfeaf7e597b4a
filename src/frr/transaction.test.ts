import { setImmediate } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import { Transaction } from "./transaction.ts";
import { ConfigSet } from "./config-set.ts";
import { parse } from "./config.ts";
import type { ConfigSession } from "./config-session.ts";
import { ownersOf } from "./daemons.ts";
import { changes, type LineChange } from "./diff.ts";
import { entriesOf } from "./entry.ts";

/** Accepts lines slowly: bgpd is slow, zebra slower, and each daemon takes one line at a time. */
class SlowFrr {
  readonly taken: string[] = [];
  readonly underway = new Set<string>();
  together = false;
  rejects = "";
  dies = "";

  async open(): Promise<void> {}
  async approach(): Promise<undefined> {}

  async send({ daemon, send }: LineChange): Promise<string | undefined> {
    if (this.underway.has(daemon)) throw new Error(`${daemon} was told two lines at once`);
    if (this.underway.size > 0) this.together = true;
    this.underway.add(daemon);
    for (let turns = daemon === "zebra" ? 9 : 3; turns > 0; turns--) await setImmediate();
    this.underway.delete(daemon);
    if (send === this.dies) throw new Error(`${daemon} is gone`);
    if (send === this.rejects) return "no";
    this.taken.push(send);
    return undefined;
  }
}

const owners = ownersOf({ major: 8 });
const RED = `bfd
 profile fast
 exit
exit
vrf red
 vni 100
exit-vrf
router bgp 1 vrf red
 bgp router-id 1.1.1.1
 neighbor 10.0.0.2 remote-as 2
 neighbor 10.0.0.2 bfd
 neighbor 10.0.0.2 bfd profile fast
exit
`;

let frr: SlowFrr;
beforeEach(() => {
  frr = new SlowFrr();
});

function attempted(have: string, want: string): { set: ConfigSet; attempt: Transaction; list: LineChange[] } {
  const set = new ConfigSet(entriesOf(parse(have), owners));
  const wanted = new ConfigSet(entriesOf(parse(want), owners));
  const list = changes(set, { remove: set.filter((entry) => !wanted.has(entry)), add: wanted, wanted: (entry) => wanted.has(entry) });
  return { set, attempt: new Transaction(set, frr as unknown as ConfigSession, new Set()), list };
}

const isBefore = (first: string, second: string) => frr.taken.indexOf(first) < frr.taken.indexOf(second);

test("sends to two daemons at the same time, but a VNI after its instance and a profile before its user", async () => {
  const { attempt, list } = attempted("", RED);
  expect(await attempt.send(list)).toBeUndefined();
  expect(frr.together).toBe(true);
  expect(isBefore("router bgp 1 vrf red", "vni 100")).toBe(true);
  expect(isBefore("profile fast", "neighbor 10.0.0.2 bfd profile fast")).toBe(true);
  // Reported in the order of the plan, whichever daemon was faster.
  expect(attempt.sent).toEqual([
    "bfd",
    "bfd / profile fast",
    "router bgp 1 vrf red",
    "router bgp 1 vrf red / bgp router-id 1.1.1.1",
    "router bgp 1 vrf red / neighbor 10.0.0.2 remote-as 2",
    "router bgp 1 vrf red / neighbor 10.0.0.2 bfd",
    "router bgp 1 vrf red / neighbor 10.0.0.2 bfd profile fast",
    "vrf red / vni 100",
  ]);
});

test("removes an instance after its VNI, and a profile after its instance", async () => {
  const { attempt, list, set } = attempted(RED, "");
  expect(await attempt.send(list)).toBeUndefined();
  expect(frr.taken).toEqual(["no vni 100", "no router bgp 1 vrf red", "no bfd"]);
  expect([...set]).toEqual([]);
});

test("a rejection stops every daemon, and all accepted lines are rolled back", async () => {
  frr.rejects = "neighbor 10.0.0.2 bfd";
  const { attempt, list, set } = attempted("hostname a\n", `hostname a\n${RED}`);
  expect(await attempt.send(list)).toEqual({ line: "router bgp 1 vrf red / neighbor 10.0.0.2 bfd", daemon: "bgpd", text: "no" });
  expect(frr.taken).not.toContain("neighbor 10.0.0.2 bfd profile fast");
  await attempt.rollback();
  expect(set.filter(({ line }) => line !== "hostname a")).toEqual([]);
});

test("a daemon that disconnects stops the others, and is no rejection", async () => {
  frr.dies = "bgp router-id 1.1.1.1";
  const { attempt, list } = attempted("", RED);
  await expect(attempt.send(list)).rejects.toThrow("bgpd is gone");
  expect(frr.underway.size).toBe(0);
  expect(frr.taken).not.toContain("neighbor 10.0.0.2 remote-as 2");
});
