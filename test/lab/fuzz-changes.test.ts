import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeState, kernelChanges, type PossibleChange, sideEffects } from "../../lab/fuzz/kernel-changes.ts";
import { type LiveState, parseState, READ_KERNEL } from "../../lab/fuzz/state.ts";
import { createNamespaces, ip, type TestNamespaces } from "../support/namespaces.ts";

/** There are hundreds of these, all alike. */
const SYSCTLS = /net\/ipv4\/(ip_forward|conf\/(all|eth1)\/(forwarding|rp_filter|arp_ignore|accept_local))$/;

let namespaces: TestNamespaces;

beforeAll(() => {
  namespaces = createNamespaces(2);
  const [node = "", other = ""] = namespaces.names;
  ip(
    node,
    `link add eth1 type veth peer name eth1 netns ${other}`,
    "link set eth1 up",
    "address add 192.0.2.2/24 dev eth1",
    "route add 198.51.100.0/24 via 192.0.2.1",
    "route add 203.0.113.0/24 via 192.0.2.1 metric 20",
    "neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev eth1 nud permanent",
    "link add br0 up type bridge",
    "link add vni1 up master br0 type vxlan id 1 local 192.0.2.2 dstport 4789 nolearning",
    `link add port0 up master br0 type veth peer name port0 netns ${other}`,
  );
  ip(other, "link set eth1 up");
  run("bridge fdb append 00:00:00:00:00:00 dev vni1 dst 192.0.2.3; bridge fdb add 02:00:00:00:00:03 dev vni1 dst 192.0.2.3 self permanent");
});
afterAll(() => namespaces.remove());

function run(script: string): { code: number; stdout: string } {
  const { status, stdout } = spawnSync("ip", ["netns", "exec", namespaces.names[0] ?? "", "sh", "-c", script], { encoding: "utf8" });
  return { code: status ?? 1, stdout };
}

const read = (): LiveState => parseState(run(READ_KERNEL).stdout);

/** Objects that differ, those aside that come and go by themselves. */
function differences(before: LiveState, now: LiveState): string[] {
  const [one, other] = [describeState(before), describeState(now)];
  return [...one.symmetricDifference(other)].filter((object) => !/^(neighbor|fdb (33:33|01:00))/.test(object));
}

/** What is different after a change was made and undone; undefined where the kernel rejects the change. */
function madeAndUndone({ kind, make, undo }: PossibleChange, before: LiveState): readonly string[] | undefined {
  const made = run(make).code === 0;
  const changed = made && ["link", "port", "address", "sysctl"].includes(kind) ? differences(before, read()) : [make];
  run(undo);
  const lost = sideEffects(before, read());
  if (lost.length > 0) run(lost.join("\n"));
  const left = differences(before, read());
  if (!made && left.length === 0) return undefined;
  return changed.length === 0 ? ["nothing changed"] : left;
}

test("every change that the kernel accepts is undone without a trace", () => {
  const before = read();
  const changes = kernelChanges(before).filter(({ kind, was = "" }) => kind !== "sysctl" || SYSCTLS.test(was.split(" ")[1] ?? ""));
  const results = changes.map((change) => ({ change, left: madeAndUndone(change, before) }));
  expect(results.filter(({ left = [] }) => left.length > 0).map(({ change, left }) => `${change.make}: ${left?.join("; ")}`)).toEqual([]);
  const made = results.filter(({ left }) => left !== undefined).map(({ change }) => change.kind);
  expect([...new Set(made)].toSorted()).toEqual(
    expect.arrayContaining(["address", "fdb", "link", "neighbor", "port", "route", "rule", "sysctl"]),
  );
  expect(made.length).toBeGreaterThan(changes.length / 2);
});
