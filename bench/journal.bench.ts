import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { nextSeq } from "../src/connectivity/history/history.ts";
import { Journal } from "../src/connectivity/journal/journal.ts";
import { createLog } from "../src/kube/log.ts";
import { Contestant, ourProgram, peerProgram } from "./contestant.ts";
import { type Acknowledged, CHECKS, type Measured, uidOf } from "./journal/load.ts";
import { compare, interleaved, type Bench } from "./measure.ts";

const ENTRIES = 20_000;
/** Its time grows with their number; as many as ours would take minutes. */
const PEER_ENTRIES = 1_000;

export const bench: Bench = {
  name: "journal",
  async run(say) {
    // On a disk: what is below /tmp may be in memory, where a sync costs nothing.
    const directory = await mkdtemp("/var/tmp/plumbline-bench-");
    const report = (who: string, { msPerThousand }: Measured) => {
      say(`${who}: ${Math.round(1e6 / msPerThousand)} a second`);
      return msPerThousand;
    };
    try {
      const own = await ourProgram("journal/ours.ts", directory);
      const other = await peerProgram("journal/peer.ts", directory);
      const { ours, peer } = await interleaved({
        ours: async () => {
          const state = await mkdtemp(join(directory, "ours-"));
          const contestant = new Contestant(own, [state, String(ENTRIES)]);
          const measured = await contestant.next<Measured>();
          const acknowledged = await contestant.next<Acknowledged>();
          // Killed while it goes on.
          await contestant[Symbol.asyncDispose]();
          await assertNothingLost(state, acknowledged);
          return report("ours", measured);
        },
        peer: async () => {
          const state = await mkdtemp(join(directory, "peer-"));
          await using contestant = new Contestant(other, [state, String(PEER_ENTRIES)]);
          return report("a sync per entry", await contestant.next<Measured>());
        },
      });
      const what = `1 000 attempts of ${CHECKS} checks that each wait for the disk (the peer: a sync per attempt)`;
      return [compare({ bench: "journal", what, goal: 10, unit: "ms" }, ours, peer)];
    } finally {
      await rm(directory, { recursive: true });
    }
  },
};

async function assertNothingLost(state: string, { seqs }: Acknowledged): Promise<void> {
  const { journal, recovered } = await Journal.open(state, { log: createLog({ level: "silent" }) });
  await journal.close();
  for (const [check, seq] of seqs.entries()) {
    const remembered = recovered.get(uidOf(check));
    if (!remembered || nextSeq(remembered.history) <= seq) throw new Error(`Attempt ${seq} of check ${check} was acknowledged and is lost`);
  }
}
