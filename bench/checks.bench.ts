import { memoryDirectory } from "../lab/kube/etcd.ts";
import type { Simulated } from "./checks/simulation.ts";
import { Contestant, ourProgram } from "./process-under-test.ts";
import { compare, defineBench, median, mustBeZero } from "./measure.ts";

export const bench = defineBench({
  full: { checks: 5_000, hours: 10 },
  tiny: { checks: 20, hours: 1 },
  async run({ checks, hours }, say) {
    const memory = await memoryDirectory("bench");
    try {
      // Counted and not timed, so one run is enough: another seed changes only the last digits.
      const seed = 1;
      await using contestant = new Contestant(await ourProgram("checks/simulation.ts", memory.path), [seed, checks, hours].map(String));
      const { writes, peerWrites, others, different, events, delaysMs } = await contestant.next<Simulated>();
      const sorted = delaysMs.toSorted((a, b) => a - b);
      const [most = 0, last = 0] = [sorted[Math.floor(sorted.length * 0.99)], sorted.at(-1)];
      say(`${writes} writes, ${others} other requests, ${events} events; one per check and minute: ${peerWrites} writes`);
      say(`${sorted.length} turns at the API after ${median(sorted)} ms, 99 % after ${most} ms, all after ${last} ms`);
      if (different.length > 0) say(`other than the peer's: ${different.slice(0, 10).join(", ")}`);
      const what = `${checks} checks for ${hours} simulated hours with outages (the peer: one write per check and minute)`;
      return [
        compare({ bench: "checks", what, goal: 10, unit: "writes" }, [writes], [peerWrites]),
        mustBeZero(
          { bench: "checks", what: "checks with another status than the peer's in the end", unit: "checks" },
          [different.length],
          [0],
        ),
      ];
    } finally {
      await memory.remove();
    }
  },
});
