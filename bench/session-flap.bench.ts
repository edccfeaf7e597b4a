import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { installIdentities } from "../lab/kube/identities.ts";
import { installCrds } from "../lab/kube/install-crds.ts";
import { CUSTOM_KINDS } from "../src/api/crds/kinds.ts";
import { BGPPeer } from "../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../src/api/metallb/bgp-session-status.ts";
import { bgpNeighbors } from "../src/frr/neighbors.ts";
import { accessFromKubeconfig } from "../src/kube/client/access.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { frrInNamespace, run as command, type FrrInNamespace } from "../test/support/frr.ts";
import { SpeakerNode } from "../test/support/speaker-node.ts";
import { type Arena, inArena } from "./bench-api-server.ts";
import { compare, defineBench, mustBeZero } from "./measure.ts";

/** Between two flaps. */
const BETWEEN_MS = 20;
const STABLE_WITHIN_MS = 120_000;
const METALLB = "metallb-system";
/** What the whole agent may write: transitions and refreshes in a second, and the bursts of both. */
const BUDGET = { perSecond: 50 + 5, burst: 10 + 20 };

const { signal } = new AbortController();

export const bench = defineBench({
  full: { runs: 5, peers: 50, flapMs: 10_000 },
  tiny: { runs: 1, peers: 4, flapMs: 1_000 },
  run: ({ runs, peers, flapMs }, say) =>
    inArena({ audit: true }, async (arena) => {
      await using ending = new AsyncDisposableStack();
      const access = await accessFromKubeconfig({ path: arena.kubeconfig });
      const client = new KubeClient(access);
      ending.defer(() => client.close());
      await installCrds(client, CUSTOM_KINDS, signal);
      await installIdentities(client, signal);
      const tor = await frrInNamespace({ version: "8.4" });
      ending.defer(() => tor.stop());
      const node = await SpeakerNode.create("worker0", access, { address: "10.51.0.254/8", segment: tor.netns });
      ending.defer(() => node.remove());
      await connect(tor, node, peers);
      node.startAgent({ sessionPollInterval: 1_000 });
      for (let peer = 1; peer <= peers; peer++) await createPeer(client, peer);
      const isDown = new Set<number>();
      const differing = await untilQuiet(client, node, peers, isDown);
      if (differing > 0)
        throw new Error(`${differing} of ${peers} sessions have no status, or one that differs from FRR, before any of them flaps`);
      say(`${peers} sessions are up`);

      const figures: { writes: number; allowed: number; wrong: number }[] = [];
      for (let run = 0; run < runs; run++) {
        const [before, begin] = [await written(arena), performance.now()];
        const flaps = await flap(tor, isDown, { peers, flapMs });
        const wrong = await untilQuiet(client, node, peers, isDown);
        const seconds = (performance.now() - begin) / 1_000;
        const writes = (await written(arena)) - before;
        const allowed = BUDGET.perSecond * seconds + BUDGET.burst;
        figures.push({ writes, allowed, wrong });
        say(
          `${flaps} flaps in ${seconds.toFixed(1)} s: ${writes} writes, ${Math.round(allowed)} allowed; ${wrong} statuses differ from FRR`,
        );
      }
      const about = { bench: "session-flap", unit: "writes" };
      return [
        compare(
          { ...about, what: `${peers} peers flap (the peer: what the budget allows in the same time)`, goal: 1 },
          figures.map(({ writes }) => writes),
          figures.map(({ allowed }) => allowed),
        ),
        mustBeZero(
          { ...about, what: "sessions whose status differs from FRR when they are quiet again", unit: "sessions" },
          figures.map(({ wrong }) => wrong),
          figures.map(() => 0),
        ),
      ];
    }),
});

const ours = (peer: number) => `10.51.0.${peer}`;
const theirs = (peer: number) => `10.52.0.${peer}`;

async function connect(tor: FrrInNamespace, node: SpeakerNode, peers: number): Promise<void> {
  const lines = ["router bgp 64512", "no bgp ebgp-requires-policy"];
  for (let peer = 1; peer <= peers; peer++) {
    await node.ip("addr", "add", `${ours(peer)}/8`, "dev", "eth0");
    await command("ip", "-n", tor.netns, "addr", "add", `${theirs(peer)}/8`, "dev", node.netns);
    lines.push(`neighbor ${ours(peer)} remote-as 64513`, `neighbor ${ours(peer)} timers connect 1`);
  }
  await configure(tor, lines);
}

async function createPeer(client: KubeClient, peer: number): Promise<void> {
  const spec = { myASN: 64513, peerASN: 64512, peerAddress: theirs(peer), sourceAddress: ours(peer), connectTime: "1s" };
  await client.resource(BGPPeer).create({ metadata: { name: `tor${peer}`, namespace: METALLB }, spec }, { signal });
}

/** Shuts sessions down and opens them again, one after the other, and leaves every third one down. */
async function flap(tor: FrrInNamespace, isDown: Set<number>, { peers, flapMs }: { peers: number; flapMs: number }): Promise<number> {
  let flaps = 0;
  const toggle = async (peer: number) => {
    const no = isDown.has(peer) ? "no " : "";
    await configure(tor, ["router bgp 64512", `${no}neighbor ${ours(peer)} shutdown`]);
    if (!isDown.delete(peer)) isDown.add(peer);
    flaps += 1;
  };
  // Seven and the number of peers have no common divisor: each has its turn.
  for (const end = performance.now() + flapMs; performance.now() < end; await sleep(BETWEEN_MS)) await toggle(1 + ((flaps * 7) % peers));
  for (let peer = 1; peer <= peers; peer++) if (isDown.has(peer) !== (peer % 3 === 0)) await toggle(peer);
  return flaps;
}

/** Waits until FRR's sessions are as they were left and every status is what FRR says. Returns how many statuses still differ when there is no more time. */
async function untilQuiet(client: KubeClient, node: SpeakerNode, peers: number, isDown: ReadonlySet<number>): Promise<number> {
  let wrong = peers;
  let isQuiet = false;
  for (const end = performance.now() + STABLE_WITHIN_MS; performance.now() < end && (wrong > 0 || !isQuiet); await sleep(500)) {
    // FRR may not run yet.
    const neighbors = await bgpNeighbors(node.frr.router, signal).catch(() => []);
    const frrStates = new Map(neighbors.map(({ neighbor, state }) => [neighbor, state === "Established"]));
    const { items } = await client.resource(BGPSessionStatus).list({ namespace: METALLB, signal });
    const reported = new Map(items.map(({ status }) => [status?.address ?? "", status?.bgpStatus === "Established"]));
    const all = Array.from({ length: peers }, (_, index) => index + 1);
    isQuiet = all.every((peer) => frrStates.get(theirs(peer)) === !isDown.has(peer));
    wrong = all.filter(
      (peer) => reported.get(theirs(peer)) === undefined || reported.get(theirs(peer)) !== frrStates.get(theirs(peer)),
    ).length;
  }
  if (!isQuiet) throw new Error(`FRR's sessions are not as they were left after ${STABLE_WITHIN_MS / 1_000} s`);
  return wrong;
}

async function written({ server }: Arena): Promise<number> {
  const lines = (await readFile(server.auditLog, "utf8")).split("\n");
  return lines.filter(
    (line) => /"verb":"(create|update|patch|delete)"/.test(line) && line.includes('"userAgent":"agent-of-') && !line.includes('"leases"'),
  ).length;
}

async function configure({ instance }: FrrInNamespace, lines: readonly string[]): Promise<void> {
  const bgpd = await instance.router.open("bgpd", signal);
  await bgpd.configure(lines, signal);
  bgpd.close();
}
