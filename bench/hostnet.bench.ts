import { execFileSync } from "node:child_process";
import { memoryDirectory } from "../lab/kube/etcd.ts";
import { LinkApplier } from "../src/hostnet/apply.ts";
import { createNamespaces } from "../test/support/namespaces.ts";
import { Contestant, ourProgram, peerProgram, type Program } from "./process-under-test.ts";
import { linksOf, type Built } from "./hostnet/links.ts";
import { compare, defineBench, interleaved } from "./measure.ts";

export const bench = defineBench({
  // The peer's time grows with the number of VNIs and is extrapolated: all of them would take minutes.
  full: { runs: 5, vnis: 400, peerVnis: 100 },
  tiny: { runs: 1, vnis: 4, peerVnis: 2 },
  async run({ runs, vnis, peerVnis }, say) {
    const memory = await memoryDirectory("bench");
    const namespaces = createNamespaces(2);
    const [host = "", router = ""] = namespaces.names;

    const build = async (who: string, program: Program, count: number) => {
      await using contestant = new Contestant(program, [host, router, String(count)]);
      const { ms } = await contestant.next<Built>();
      say(`${who}: ${count} VNIs in ${Math.round(ms)} ms`);
      await clear({ host, router }, count);
      return (ms * vnis) / count;
    };
    try {
      const own = await ourProgram("hostnet/ours.ts", memory.path);
      const other = await peerProgram("hostnet/peer.ts", memory.path);
      const { ours, peer } = await interleaved(runs, {
        ours: () => build("ours", own, vnis),
        peer: () => build("one ip per command", other, peerVnis),
      });
      const what = `the links of ${vnis} VNIs from empty (the peer: one ip process per command, extrapolated from ${peerVnis})`;
      return [compare({ bench: "hostnet", what, goal: 20, unit: "ms" }, ours, peer)];
    } finally {
      await namespaces.remove();
      await memory.remove();
    }
  },
});

/** Makes sure that the links were as wanted, and deletes them. */
async function clear(namespaces: { host: string; router: string }, vnis: number): Promise<void> {
  const links = Array.from({ length: vnis }, (_, n) => linksOf(n)).flat();
  await using pass = await LinkApplier.open(namespaces, AbortSignal.timeout(300_000));
  const { changed, rejected } = await pass.apply(links);
  if (changed > 0 || rejected) throw new Error("The links are not as wanted", { cause: rejected });
  // All at once: one by one the kernel takes its time.
  for (const [netns, namespace] of Object.entries(namespaces)) {
    const own = links.filter((link) => link.netns === netns && (link.type !== "veth" || netns === "host"));
    const group = own.map(({ name }) => `link set dev ${name} group 7017\n`).join("");
    execFileSync("ip", ["-n", namespace, "-batch", "-"], { input: group });
    execFileSync("ip", ["-n", namespace, "link", "del", "group", "7017"]);
  }
}
