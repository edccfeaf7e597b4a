import { setTimeout as sleep } from "node:timers/promises";
import { memoryDirectory } from "../lab/kube/etcd.ts";
import { frrInNamespace, run as command, type FrrInNamespace } from "../test/support/frr.ts";
import { Contestant, ourProgram, peerProgram, type Program } from "./process-under-test.ts";
import { compare, defineBench, interleaved } from "./measure.ts";
import type { ObservedSession, Used } from "./session-state/poller.ts";

const [ROUTER, NEIGHBOR] = ["192.0.2.1", "192.0.2.2"];

interface Counts {
  runs: number;
  /** As many sessions again: those of a router with so many L3VNIs. */
  vrfs: number;
  warmMs: number;
  polledMs: number;
}

const { signal } = new AbortController();

export const bench = defineBench<Counts>({
  full: { runs: 5, vrfs: 50, warmMs: 3_000, polledMs: 12_000 },
  tiny: { runs: 1, vrfs: 2, warmMs: 0, polledMs: 1_000 },
  async run(counts, say) {
    const memory = await memoryDirectory("bench");
    const router = await frrInNamespace({ version: "8.4" });
    const neighbor = await frrInNamespace({ version: "8.4" });
    try {
      await connect(router, neighbor, counts);
      const contestant = (name: string, program: Program) => async (run: number) => {
        const report = await poll(program, { router, neighbor }, run, counts);
        say(`${name}: down seen after ${report.observedMs.toFixed(0)} ms, CPU ${report.cpuMs.toFixed(1)} ms for each second`);
        return report;
      };
      const { ours, peer } = await interleaved(counts.runs, {
        ours: contestant("ours", await ourProgram("session-state/ours.ts", memory.path)),
        peer: contestant("vtysh -c", await peerProgram("session-state/peer.ts", memory.path)),
      });
      const measure = (what: string, goal: number, figure: (report: Report) => number) =>
        compare({ bench: "session-state", what, goal, unit: "ms" }, ours.map(figure), peer.map(figure));
      return [
        measure("from a session's end until it is seen, polling every second", 1, ({ observedMs }) => observedMs),
        measure("CPU for each second", 10, ({ cpuMs }) => cpuMs),
      ];
    } finally {
      await Promise.all([router.stop(), neighbor.stop()]);
      await memory.remove();
    }
  },
});

interface Report {
  observedMs: number;
  cpuMs: number;
}

interface Ends {
  router: FrrInNamespace;
  neighbor: FrrInNamespace;
}

async function poll(program: Program, { router, neighbor }: Ends, run: number, { warmMs, polledMs }: Counts): Promise<Report> {
  await using poller = new Contestant(program, [router.instance.runDirectory, NEIGHBOR]);
  while (!(await poller.next<ObservedSession>()).established);
  await sleep(warmMs);
  const used = async () => (poller.tell({}), (await poller.next<Used>()).cpuMs);
  const [before, begin] = [await used(), performance.now()];

  // Not at the same distance from the next poll each time, but at the same for both.
  await sleep(1_000 - (Date.now() % 1_000) + 100 + run * 150);
  const at = Date.now();
  await configure(neighbor, ["router bgp 64512", `neighbor ${ROUTER} shutdown`]);
  const observed = await poller.next<ObservedSession>();
  await configure(neighbor, ["router bgp 64512", `no neighbor ${ROUTER} shutdown`]);
  await poller.next<ObservedSession>();

  await sleep(Math.max(0, polledMs - (performance.now() - begin)));
  const elapsed = performance.now() - begin;
  return { observedMs: observed.at - at, cpuMs: (((await used()) - before) / elapsed) * 1_000 };
}

async function connect(router: FrrInNamespace, neighbor: FrrInNamespace, { vrfs }: Counts): Promise<void> {
  await command("ip", "link", "add", "eth0", "netns", router.netns, "type", "veth", "peer", "name", "eth0", "netns", neighbor.netns);
  const ends = [
    { frr: router, asn: 64511, own: ROUTER, other: NEIGHBOR },
    { frr: neighbor, asn: 64512, own: NEIGHBOR, other: ROUTER },
  ];
  for (const { frr, asn, own, other } of ends) {
    await command("ip", "-n", frr.netns, "addr", "add", `${own}/24`, "dev", "eth0");
    await command("ip", "-n", frr.netns, "link", "set", "eth0", "up");
    await configure(frr, [`router bgp ${asn}`, `neighbor ${other} remote-as external`, `neighbor ${other} timers connect 1`]);
  }
  for (let vrf = 1; vrf <= vrfs; vrf++) {
    await configure(router, [`router bgp 64511 vrf red${vrf}`, "neighbor 203.0.113.1 remote-as 64513"]);
  }
}

async function configure({ instance }: FrrInNamespace, lines: readonly string[]): Promise<void> {
  const bgpd = await instance.router.open("bgpd", signal);
  await bgpd.configure(lines, signal);
  bgpd.close();
}
