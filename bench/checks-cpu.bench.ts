import type { AddressInfo } from "node:net";
import { memoryDirectory } from "../lab/kube/etcd.ts";
import { goProber, runProber } from "./checks-cpu/prober.ts";
import type { Spent } from "./checks-cpu/report.ts";
import { Contestant, ourProgram, peerProgram } from "./process-under-test.ts";
import { compare, defineBench, interleaved } from "./measure.ts";

/** What a source keeps to. */
const PER_SECOND = 200;
const ADDRESSES = 4;

export const bench = defineBench({
  // A source runs for months: the first connects are not counted, for either of them.
  full: { runs: 5, connects: 5_000, warmUp: 1_000 },
  tiny: { runs: 1, connects: 200, warmUp: 50 },
  async run({ runs, connects, warmUp }, say) {
    const memory = await memoryDirectory("bench");
    try {
      await using listener = new Contestant(await peerProgram("checks-cpu/listener.ts", memory.path), []);
      const { port } = await listener.next<AddressInfo>();
      const targets = Array.from({ length: ADDRESSES }, (_, n) => `127.0.0.${n + 2}:${port}`);
      const own = await ourProgram("checks-cpu/ours.ts", memory.path);
      const prober = await goProber();
      const measured = (who: string, { cpuMs, reached }: Spent): number => {
        if (reached !== connects) throw new Error(`${who}: only ${reached} of ${connects} connects succeeded`);
        const us = (cpuMs * 1000) / connects;
        say(`${who}: ${us.toFixed(0)} µs for each connect`);
        return us;
      };
      const paced = await interleaved(runs, {
        ours: async () => {
          await using contestant = new Contestant(own, [String(connects), String(warmUp), ...targets]);
          return measured("ours", await contestant.next<Spent>());
        },
        peer: async () => measured("Go", await runProber(prober, [String(connects), String(warmUp), String(PER_SECOND), ...targets])),
      });
      const what = `CPU for each of ${connects} connects, ${PER_SECOND} a second (the peer: a minimal prober in Go)`;
      return [compare({ bench: "checks-cpu", what, goal: 0.5, unit: "µs" }, paced.ours, paced.peer)];
    } finally {
      await memory.remove();
    }
  },
});
