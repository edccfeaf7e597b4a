import type { AddressInfo } from "node:net";
import { memoryDirectory } from "../lab/kube/etcd.ts";
import { goProber, runProber } from "./checks-cpu/prober.ts";
import type { Spent } from "./checks-cpu/report.ts";
import { Contestant, ourProgram, peerProgram } from "./contestant.ts";
import { compare, interleaved, type Bench } from "./measure.ts";

const CONNECTS = 5_000;
/** A source runs for months: what its first connects cost is none of this. The peer gets as many. */
const WARM_UP = 1_000;
/** What a source keeps to. */
const PER_SECOND = 200;
const ADDRESSES = 4;

export const bench: Bench = {
  name: "checks-cpu",
  async run(say) {
    const memory = await memoryDirectory("bench");
    try {
      await using listener = new Contestant(await peerProgram("checks-cpu/listener.ts", memory.path), []);
      const { port } = await listener.next<AddressInfo>();
      const targets = Array.from({ length: ADDRESSES }, (_, n) => `127.0.0.${n + 2}:${port}`);
      const own = await ourProgram("checks-cpu/ours.ts", memory.path);
      const prober = await goProber();
      const measured = (who: string, { cpuMs, reached }: Spent, connects: number): number => {
        if (reached !== connects) throw new Error(`${who}: only ${reached} of ${connects} connects succeeded`);
        const us = (cpuMs * 1000) / connects;
        say(`${who}: ${us.toFixed(0)} µs for each connect`);
        return us;
      };
      const paced = await interleaved({
        ours: async () => {
          await using contestant = new Contestant(own, [String(CONNECTS), String(WARM_UP), ...targets]);
          return measured("ours", await contestant.next<Spent>(), CONNECTS);
        },
        peer: async () =>
          measured("Go", await runProber(prober, [String(CONNECTS), String(WARM_UP), String(PER_SECOND), ...targets]), CONNECTS),
      });
      const what = `CPU for each of ${CONNECTS} connects, ${PER_SECOND} a second (the peer: a minimal prober in Go)`;
      return [compare({ bench: "checks-cpu", what, goal: 0.5, unit: "µs" }, paced.ours, paced.peer)];
    } finally {
      await memory.remove();
    }
  },
};
