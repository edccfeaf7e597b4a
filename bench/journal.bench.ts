import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { removeWhenGone } from "../lab/child.ts";
import { nextSeq } from "../src/connectivity/history/history.ts";
import { CheckJournal } from "../src/connectivity/journal/journal.ts";
import { createLog } from "../src/kube/log.ts";
import { Contestant, ourProgram, peerProgram } from "./process-under-test.ts";
import { type Acknowledged, type Measured, uidOf } from "./journal/load.ts";
import { compare, defineBench, interleaved } from "./measure.ts";

export const bench = defineBench({
  // The peer's time grows with the number of entries: as many as ours would take minutes.
  full: { runs: 5, checks: 250, entries: 20_000, peerEntries: 1_000 },
  tiny: { runs: 1, checks: 10, entries: 200, peerEntries: 20 },
  async run({ runs, checks, entries, peerEntries }, say) {
    // On a disk: what is below /tmp may be in memory, where a sync costs nothing.
    const directory = await mkdtemp("/var/tmp/plumbline-bench-");
    const remove = removeWhenGone(directory);
    const report = (who: string, { msPerThousand }: Measured) => {
      say(`${who}: ${Math.round(1e6 / msPerThousand)} a second`);
      return msPerThousand;
    };
    try {
      const own = await ourProgram("journal/ours.ts", directory);
      const other = await peerProgram("journal/peer.ts", directory);
      const { ours, peer } = await interleaved(runs, {
        ours: async () => {
          const state = await mkdtemp(join(directory, "ours-"));
          const contestant = new Contestant(own, [state, String(checks), String(entries)]);
          const measured = await contestant.next<Measured>();
          const acknowledged = await contestant.next<Acknowledged>();
          // Killed while it goes on.
          await contestant[Symbol.asyncDispose]();
          await assertNothingLost(state, acknowledged);
          return report("ours", measured);
        },
        peer: async () => {
          const state = await mkdtemp(join(directory, "peer-"));
          await using contestant = new Contestant(other, [state, String(checks), String(peerEntries)]);
          return report("a sync per entry", await contestant.next<Measured>());
        },
      });
      const what = `1 000 attempts of ${checks} checks that each wait for the disk (the peer: a sync per attempt)`;
      return [compare({ bench: "journal", what, goal: 10, unit: "ms" }, ours, peer)];
    } finally {
      await remove();
    }
  },
});

async function assertNothingLost(state: string, { seqs }: Acknowledged): Promise<void> {
  const { journal, recovered } = await CheckJournal.open(state, { log: createLog({ level: "silent" }) });
  await journal.close();
  for (const [check, seq] of seqs.entries()) {
    const remembered = recovered.get(uidOf(check));
    if (!remembered || nextSeq(remembered.history) <= seq) throw new Error(`Attempt ${seq} of check ${check} was acknowledged and is lost`);
  }
}
