import { memoryDirectory } from "../lab/kube/etcd.ts";
import type { Report } from "./allocator/filling.ts";
import { Contestant, ourProgram, peerProgram, type Program } from "./process-under-test.ts";
import { compare, defineBench, interleaved } from "./measure.ts";

export const bench = defineBench({
  full: { runs: 5, batches: 15 },
  tiny: { runs: 1, batches: 1 },
  async run({ runs, batches }, say) {
    const memory = await memoryDirectory("bench");
    try {
      const contestant = (name: string, program: Program) => async () => {
        await using allocator = new Contestant(program, [String(batches)]);
        const report = await allocator.next<Report>();
        const { tenth, nineTenths } = report.usAt;
        say(`${name}: one more Service takes ${tenth.toFixed(1)} µs at 10 %, ${nineTenths.toFixed(1)} µs at 90 %`);
        return report;
      };
      const { ours, peer } = await interleaved(runs, {
        ours: contestant("ours", await ourProgram("allocator/ours.ts", memory.path)),
        peer: contestant("linear scan", await peerProgram("allocator/peer.ts", memory.path)),
      });
      const given = new Set([...ours, ...peer].map((report) => report.given));
      if (given.size > 1) throw new Error(`They do not give the same addresses: ${[...given].join(", ")}.`);

      const measure = (what: string, goal: number, theirs: readonly number[]) =>
        compare({ bench: "allocator", what, goal, unit: "µs" }, ours.map(nineTenths), theirs);
      return [
        measure("one more Service with a /16 and a /64 at 90 %", 50, peer.map(nineTenths)),
        measure(
          "one more Service at 90 % (the peer: ours at 10 %)",
          0.5,
          ours.map(({ usAt }) => usAt.tenth),
        ),
      ];
    } finally {
      await memory.remove();
    }
  },
});

const nineTenths = ({ usAt }: Report) => usAt.nineTenths;
