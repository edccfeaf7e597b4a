import { execFileSync } from "node:child_process";
import { memoryDirectory } from "../lab/kube/etcd.ts";
import { HostPass } from "../src/hostnet/host-pass.ts";
import { createNamespaces } from "../test/support/namespaces.ts";
import { Contestant, ourProgram, peerProgram, type Program } from "./contestant.ts";
import { linksOf, type Built } from "./hostnet/links.ts";
import { compare, interleaved, type Bench } from "./measure.ts";

const VNIS = 400;
/** Its time grows with their number, and is counted that many times over; all of them would take minutes. */
const PEER_VNIS = 100;

export const bench: Bench = {
  name: "hostnet",
  async run(say) {
    const memory = await memoryDirectory("bench");
    const namespaces = createNamespaces(2);
    const [host = "", router = ""] = namespaces.names;

    const build = async (who: string, program: Program, vnis: number) => {
      await using contestant = new Contestant(program, [host, router, String(vnis)]);
      const { ms } = await contestant.next<Built>();
      say(`${who}: ${vnis} VNIs in ${Math.round(ms)} ms`);
      await clear({ host, router }, vnis);
      return (ms * VNIS) / vnis;
    };
    try {
      const own = await ourProgram("hostnet/ours.ts", memory.path);
      const other = await peerProgram("hostnet/peer.ts", memory.path);
      const { ours, peer } = await interleaved({
        ours: () => build("ours", own, VNIS),
        peer: () => build("one ip per command", other, PEER_VNIS),
      });
      const what = `the links of ${VNIS} VNIs from empty (the peer: one ip process per command, extrapolated from ${PEER_VNIS})`;
      return [compare({ bench: "hostnet", what, goal: 20, unit: "ms" }, ours, peer)];
    } finally {
      await namespaces.remove();
      await memory.remove();
    }
  },
};

/** Makes sure that the links were as wanted, and deletes them. */
async function clear(places: { host: string; router: string }, vnis: number): Promise<void> {
  const links = Array.from({ length: vnis }, (_, n) => linksOf(n)).flat();
  await using pass = await HostPass.open(places, AbortSignal.timeout(300_000));
  const { changed, refused } = await pass.bring(links);
  if (changed > 0 || refused) throw new Error("The links are not as wanted", { cause: refused });
  // All at once: one by one the kernel takes its time.
  for (const [place, namespace] of Object.entries(places)) {
    const own = links.filter((link) => link.place === place && (link.type !== "veth" || place === "host"));
    const group = own.map(({ name }) => `link set dev ${name} group 7017\n`).join("");
    execFileSync("ip", ["-n", namespace, "-batch", "-"], { input: group });
    execFileSync("ip", ["-n", namespace, "link", "del", "group", "7017"]);
  }
}
