import { expect, test } from "vitest";
import { parseAddress } from "../../../ip/address.ts";
import type { AddressOnInterface, Steps } from "./address-ownership.ts";
import { OwnedAddresses } from "./owned-addresses.ts";

const vip = parseAddress("192.0.2.100");
const eth0 = { name: "eth0", index: 2, mac: "02:00:00:00:00:0a" };
const eth1 = { name: "eth1", index: 3, mac: "02:00:00:00:00:1a" };
const rival = "02:00:00:00:00:0b";
const guarded = () => true;

/** A node `a` whose kernel takes everything and whose wire tells all it has heard, in steps of a tenth of a second. */
class Course {
  readonly addresses = new OwnedAddresses("a");
  readonly log: string[] = [];
  now = 0;
  /** Says false while the kernel does not come to it. */
  kernelMs = 0;

  seek(candidates = ["a", "b"], nics = [eth0]): void {
    this.addresses.want([{ address: vip, nics, candidates }], this.now);
  }

  /** One tick, and what came of it. */
  tick(isGuarded: (addressOnNic: AddressOnInterface) => boolean = guarded): Steps {
    const steps = this.addresses.step(this.now, isGuarded);
    for (const [what, addressesOnNics] of Object.entries(steps) as [string, readonly AddressOnInterface[]][])
      for (const { nic } of addressesOnNics) this.log.push(`${this.now} ${what} ${nic.name}`);
    this.addresses.silent(steps.listened, this.now);
    this.addresses.kept([...steps.refresh, ...steps.add], this.now + this.kernelMs);
    return steps;
  }

  until(end: number, isGuarded?: (addressOnNic: AddressOnInterface) => boolean): this {
    for (; this.now <= end; this.now += 100) this.tick(isGuarded);
    return this;
  }

  get is(): string | undefined {
    return this.addresses.state(vip)?.is;
  }

  /** When something of this kind was done. */
  when(what: string): number[] {
    return this.log.filter((line) => line.split(" ")[1] === what).map((line) => Number(line.split(" ")[0]));
  }
}

function holding(): Course {
  const course = new Course();
  course.seek();
  course.until(1_200);
  expect(course.is).toBe("holding");
  return course;
}

test("three probes and a second without a reply precede an address, and three announcements and conflict probes follow", () => {
  const course = new Course();
  course.seek();
  course.until(3_500);
  expect(course.log.filter((line) => !line.includes("refresh"))).toEqual([
    "0 probe eth0",
    "300 probe eth0",
    "600 probe eth0",
    "1000 listened eth0",
    "1100 add eth0",
    "1200 announce eth0",
    "1200 check eth0",
    "1200 check eth0",
    "2200 announce eth0",
    "2200 check eth0",
    "3200 announce eth0",
    "3200 check eth0",
  ]);
});

test("while another MAC answers the address is not added, and is probed again each second", () => {
  const course = new Course();
  course.seek();
  for (let second = 0; second < 4; second++) {
    course.tick();
    expect(course.addresses.claimed(vip, "eth0", rival, undefined, course.now)).toBe(second === 0 ? "in-use" : "nothing");
    expect(course.addresses.state(vip)).toEqual({ is: "in-use", mac: rival, interface: "eth0" });
    course.now += 1_000;
  }
  expect(course.when("probe")).toEqual([0, 1_000, 2_000, 3_000]);
  expect(course.when("add")).toEqual([]);
  // It goes: the next probe finds silence.
  course.until(course.now + 1_200);
  expect(course.is).toBe("holding");
});

test.each([
  ["candidate", ["a", "b"]],
  ["node, which is excluded now,", ["a"]],
])("another %s that still answers is not reported as a conflict, until it does so for ten seconds", (_which, candidates) => {
  const course = new Course();
  course.seek(candidates);
  const answers = (seconds: number): string[] => {
    const outcomes: string[] = [];
    for (let second = 0; second < seconds; second++) {
      course.until(course.now + 900);
      outcomes.push(course.addresses.claimed(vip, "eth0", rival, "b", course.now), course.is ?? "");
    }
    return outcomes;
  };
  expect(new Set(answers(4))).toEqual(new Set(["nothing", "probing"]));
  course.until(course.now + 3_000);
  expect(course.is).toBe("holding");

  const stuck = new Course();
  stuck.seek(candidates);
  for (let second = 0; second < 12; second++) {
    stuck.until(stuck.now + 900);
    stuck.addresses.claimed(vip, "eth0", rival, "b", stuck.now);
  }
  expect(stuck.addresses.state(vip)).toEqual({ is: "in-use", mac: rival, interface: "eth0" });
});

test("a release by another node triggers a probe at once", () => {
  const course = new Course();
  course.seek();
  course.tick();
  course.addresses.claimed(vip, "eth0", rival, "b", 0);
  course.now = 200;
  course.addresses.hurry(200);
  course.tick();
  expect(course.when("probe")).toEqual([0, 200]);
});

test("owned addresses are refreshed every five seconds", () => {
  const course = holding().until(22_000);
  expect(course.when("refresh")).toEqual([6_100, 11_100, 16_100, 21_100]);
  expect(course.is).toBe("holding");
});

test("a refresh after the lifetime is a takeover: the address is removed and probed", () => {
  const course = holding();
  course.now = 26_000;
  const steps = course.tick();
  expect([steps.drop.length, steps.refresh.length, steps.probe.length]).toEqual([1, 0, 1]);
  expect(course.is).toBe("probing");
});

test("a refresh that reaches the kernel too late is reverted", () => {
  const course = holding();
  course.now = 20_000;
  course.kernelMs = 6_000;
  course.tick();
  course.kernelMs = 0;
  course.now = 26_000;
  expect(course.tick().drop.length).toBe(1);
  expect(course.is).toBe("probing");
});

/** Silence was found, and the kernel has not come to take the address yet. */
function taking(): { course: Course; add: Steps["add"] } {
  const course = new Course();
  course.seek();
  course.until(1_000);
  const { add } = course.addresses.step(1_100, guarded);
  expect(add.length).toBe(1);
  return { course, add };
}

test("an address that a slow kernel adds long after the probe is owned, if no other machine answered meanwhile", () => {
  const { course, add } = taking();
  course.addresses.kept(add, 4_100, true);
  course.now = 4_100;
  expect(course.tick().drop).toEqual([]);
  expect(course.is).toBe("holding");
});

test.each<[why: string, meanwhile: (course: Course) => void, now: number, heardAll: boolean]>([
  ["received frames may be missing", () => {}, 2_600, false],
  ["it took too long", () => {}, 12_000, true],
  ["another node probed for it", ({ addresses }) => addresses.contended(vip, "eth0", rival, "b", 2_000), 2_600, true],
  ["another node answered for it", ({ addresses }) => addresses.claimed(vip, "eth0", rival, "b", 2_000), 2_600, true],
])("an address that is added long after its probe is removed if %s", (_, meanwhile, now, heardAll) => {
  const { course, add } = taking();
  meanwhile(course);
  course.addresses.kept(add, now, heardAll);
  course.now = now;
  expect(course.tick().drop.length).toBe(1);
  expect(course.is).toBe("probing");
});

test("a probe during a suspend does not count", () => {
  const course = new Course();
  course.seek();
  course.until(600);
  course.now = 30_000;
  course.tick();
  expect(course.is).toBe("probing");
  expect(course.when("add")).toEqual([]);
  course.until(31_300);
  expect(course.is).toBe("holding");
});

test("a probe during which frames were not received does not count", () => {
  const course = new Course();
  course.seek();
  course.until(900);
  course.addresses.deaf(900);
  course.until(1_800);
  expect(course.when("add")).toEqual([]);
  course.until(2_200);
  expect(course.is).toBe("holding");
});

test("a node that is no longer elected drops the address", () => {
  const course = holding();
  course.addresses.want([], course.now);
  expect(course.tick().drop).toMatchObject([{ nic: eth0 }]);
  expect(course.addresses.state(vip)).toBeUndefined();
  expect(course.tick().drop).toEqual([]);
});

test("an address that another interface still answers for stays in the kernel", () => {
  const course = new Course();
  course.seek(["a"], [eth0, eth1]);
  course.until(1_200);
  course.seek(["a"], [eth1]);
  expect(course.tick().drop).toMatchObject([{ nic: eth0, isLast: false }]);
  course.seek(["b"], []);
  expect(course.tick().drop).toMatchObject([{ nic: eth1, isLast: true }]);
});

test("a failed removal is retried", () => {
  const course = holding();
  course.addresses.want([], course.now);
  const steps = course.tick();
  course.addresses.undone(steps, course.now);
  expect(course.tick().drop.length).toBe(1);
});

test("the later in election order releases an address that another answers for, and takes it when that stops", () => {
  const course = new Course();
  course.seek(["b", "a"]);
  course.until(1_200);
  expect(course.addresses.claimed(vip, "eth0", rival, "b", course.now)).toBe("let-go");
  expect(course.tick().drop.length).toBe(1);
  expect(course.addresses.state(vip)).toMatchObject({ is: "in-use", mac: rival });
  course.until(course.now + 2_300);
  expect(course.is).toBe("holding");
});

test("the earlier in election order keeps it and sends gratuitous ARP, at most every ten seconds", () => {
  const course = holding().until(4_000);
  const before = course.when("announce").length;
  const outcomes: string[] = [];
  for (const end of [14_000, 15_000, 26_000]) {
    course.until(end);
    outcomes.push(course.addresses.claimed(vip, "eth0", rival, "b", course.now));
  }
  course.tick();
  expect(outcomes).toEqual(["kept", "nothing", "kept"]);
  expect(course.when("announce").length).toBe(before + 2);
  expect(course.is).toBe("holding");
});

test("another machine that answers for a kept address is reported until it misses two probes", () => {
  const course = holding().until(4_000);
  expect(course.addresses.claimed(vip, "eth0", rival, undefined, course.now)).toBe("kept");
  expect(course.addresses.state(vip)).toMatchObject({ is: "holding", rival: { mac: rival, interface: "eth0" } });
  course.until(5_000);
  expect(course.addresses.claimed(vip, "eth0", rival, undefined, course.now)).toBe("nothing");
  course.until(6_900);
  expect(course.addresses.state(vip)).toHaveProperty("rival");
  course.until(9_000);
  expect(course.addresses.state(vip)).not.toHaveProperty("rival");
  expect(course.when("relieved").length).toBe(1);
});

test("another node that answers for a kept address is not reported as a conflict", () => {
  const course = holding().until(4_000);
  course.addresses.claimed(vip, "eth0", rival, "b", course.now);
  expect(course.addresses.state(vip)).not.toHaveProperty("rival");
});

test("of two nodes that probe at once the later waits, and the earlier sends another probe", () => {
  const later = new Course();
  later.seek(["b", "a"]);
  later.until(500);
  later.addresses.contended(vip, "eth0", rival, "b", 500);
  later.until(1_400);
  expect(later.when("probe")).toEqual([0, 300]);
  later.until(1_600);
  expect(later.when("probe")).toEqual([0, 300, 1_500]);

  const earlier = new Course();
  earlier.seek(["a", "b"]);
  earlier.until(800);
  earlier.addresses.contended(vip, "eth0", rival, "b", 800);
  earlier.until(1_200);
  expect(earlier.when("probe")).toEqual([0, 300, 600, 900]);
  expect(earlier.is).toBe("holding");
});

test("an address is first added on all its interfaces or on none", () => {
  const course = new Course();
  course.seek(["a"], [eth0, eth1]);
  course.until(500);
  course.addresses.claimed(vip, "eth1", rival, undefined, 500);
  course.until(1_400);
  expect(course.when("add")).toEqual([]);
  expect(course.addresses.state(vip)).toEqual({ is: "in-use", mac: rival, interface: "eth1" });
  course.until(4_000);
  expect(course.addresses.state(vip)).toMatchObject({ is: "holding", interfaces: ["eth0", "eth1"] });
});

test("an interface that appears later is probed alone and does not affect the others", () => {
  const course = holding();
  course.seek(["a", "b"], [eth0, eth1]);
  course.tick();
  expect(course.addresses.state(vip)).toMatchObject({ is: "holding", interfaces: ["eth0"] });
  course.until(course.now + 1_300);
  expect(course.addresses.state(vip)).toMatchObject({ is: "holding", interfaces: ["eth0", "eth1"] });
  course.seek(["a", "b"], [eth1]);
  expect(course.tick().drop).toMatchObject([{ nic: eth0 }]);
});

test("an address is not added before its rules", () => {
  const course = new Course();
  course.seek();
  course.until(5_000, () => false);
  expect(course.when("add")).toEqual([]);
  course.until(7_000);
  expect(course.is).toBe("holding");
});

test("an address that the kernel rejects is reported with its error, and retried with probes after a pause", () => {
  const course = holding();
  course.addresses.rejected({ address: vip, nic: eth0 }, "RTNETLINK answers: Permission denied", course.now + 5_000);
  expect(course.addresses.state(vip)).toEqual({ is: "failed", message: "RTNETLINK answers: Permission denied" });
  const [probes] = [course.when("probe").length];
  course.until(course.now + 4_800);
  expect(course.when("probe").length).toBe(probes);
  course.until(course.now + 1_500);
  expect(course.is).toBe("holding");
});

test("unsent probes do not count", () => {
  const course = new Course();
  course.seek();
  course.until(700);
  course.addresses.unsent("eth0", "Network is down", 700);
  expect(course.addresses.state(vip)).toEqual({ is: "failed", message: "Network is down" });
  course.until(1_500);
  expect(course.when("add")).toEqual([]);
});

test("an address of the previous agent is refreshed at once without probes", () => {
  const course = new Course();
  course.addresses.adopt({ address: vip, nic: eth0 }, 100, 0);
  course.seek();
  course.until(300);
  expect(course.log).toEqual(["0 refresh eth0", "0 check eth0"]);
  expect(course.is).toBe("holding");
});

test("an address that expires before its first refresh counts as lost", () => {
  const course = new Course();
  course.addresses.adopt({ address: vip, nic: eth0 }, 2, 0);
  course.seek();
  course.now = 1_500;
  expect(course.tick()).toMatchObject({ drop: [{ nic: eth0 }], refresh: [], probe: [{ nic: eth0 }] });
});

test("owned addresses are probed for conflicts in turn, one per second", () => {
  const course = new Course();
  const addresses = [1n, 2n, 3n].map((offset) => vip.plus(offset) ?? vip);
  for (const address of addresses) course.addresses.adopt({ address, nic: eth0 }, 100, 0);
  const checked: string[] = [];
  for (; course.now < 5_000; course.now += 100) checked.push(...course.tick().check.map(({ address }) => String(address)));
  expect(checked).toEqual(["192.0.2.101", "192.0.2.102", "192.0.2.103", "192.0.2.101", "192.0.2.102"]);
});

test("thousands are refreshed over several ticks, all of them within their lifetime, in one process each", () => {
  const course = new Course();
  for (let at = 0n; at < 5_000n; at++) course.addresses.adopt({ address: vip.plus(at) ?? vip, nic: eth0 }, 100, 0);
  const batches: number[] = [];
  for (; course.now < 60_000; course.now += 1_000) {
    const steps = course.tick();
    expect(steps.drop).toEqual([]);
    batches.push(steps.refresh.length);
  }
  expect(Math.max(...batches)).toBeLessThanOrEqual(500);
  expect(course.addresses.owned.length).toBe(5_000);
});
