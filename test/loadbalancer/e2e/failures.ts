import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { NodeAddresses, ServiceLab } from "../../support/service-lab.ts";
import { type ObservedHeartbeat, type ObservedFrame, PacketCapture } from "../../support/packet-capture.ts";
import { NODES } from "../../support/nodes.ts";

/** A node that was suspended for longer does not count the silence of the others. */
const AWAY_MS = 2_000;

/** What breaks without warning: how much is lost is printed; that it is lost only until someone noticed is asserted. */
export function lossTests(lab: () => ServiceLab): void {
  test("a node that loses power breaks connections only until BFD notifies the ToR and another node takes over after three heartbeats and one probe", async () => {
    const lost = lab().holder();
    const address = lab().address("wiki");
    const nodes = await Promise.all(NODES.map(async (name) => [name, await lab().addressesOf(name)] as const));
    const addresses = new Map<string, NodeAddresses>(nodes);
    const before = await lab().torSessions();
    const tap = new PacketCapture(lab().lab);
    await lab().eventually("every node sends heartbeats", () => nodes.every(([, { ip }]) => tap.beats.some(({ from }) => from === ip)));

    const began = Date.now();
    await lab().fault("node-lost", lost);
    await lab().eventually("the tor goes round it", async () => !(await lab().towards(lab().address("web"))).includes(lost));
    const noticed = Date.now();
    // Only the session with that node fell, and because of BFD: the tor's own link is up, and the hold time is not over.
    const after = await lab().torSessions();
    expect(after.get(lost)?.lastReset).toMatch(/BFD/);
    for (const node of NODES.filter((name) => name !== lost)) expect(after.get(node)).toEqual(before.get(node));

    const another = () =>
      lab()
        .addressHistory.holders(address)
        .find((node) => node !== lost);
    await lab().eventually("another node has the address", () => another() !== undefined);
    const taker = another() ?? "";
    const taken = lab().addressHistory.turns.findLast(({ has, address: of }) => has && of === address)?.at ?? 0;
    const mac = addresses.get(taker)?.mac ?? "";
    const framesOf = (what: ObservedFrame["what"]) =>
      tap.frames.filter((one) => one.what === what && one.address === address && one.mac === mac);
    await lab().eventually("it has told the segment", () => framesOf("claim").length > 0);
    await tap.stop();

    const lastBeat = tap.beats.findLast(({ from }) => from === addresses.get(lost)?.ip)?.at ?? 0;
    const firstClaim = framesOf("claim")[0]?.at ?? 0;
    const probes = framesOf("probe").flatMap(({ at }) => (at > lastBeat && at <= firstClaim ? [at] : []));
    const [firstProbe = 0] = probes;
    const missed = beatsMissed(tap.beats, { since: lastBeat, until: firstProbe, from: addresses.get(taker)?.ip ?? "" });
    expect(lastBeat).toBeGreaterThan(0);
    expect(firstProbe).toBeGreaterThan(lastBeat);
    expect(firstClaim).toBeGreaterThan(firstProbe);
    // The test sees the address shortly after the node has it.
    expect(taken).toBeGreaterThan(firstProbe);
    // Checked once per own heartbeat: three missing ones and half a second of delay end with the fourth or fifth.
    expect(missed).toBeGreaterThanOrEqual(4);
    expect(missed).toBeLessThanOrEqual(5);
    // One probe sends three requests, two send six. With the address acquired, it sends a request now and then.
    expect(probes.length).toBeGreaterThanOrEqual(3);
    expect(probes.length).toBeLessThan(6);

    const web = await lab().since(began, "web");
    const wiki = await lab().since(began, "wiki");
    const went = ({ ok, failed, late }: typeof web) =>
      `of ${ok.length + failed.length} connections ${failed.length} failed, ${late.length} came late`;
    say(`BGP: the tor noticed ${noticed - began} ms after the loss (${after.get(lost)?.lastReset}); ${went(web)}`);
    say(
      `L2: ${taker} missed ${missed} heartbeats, probed ${firstProbe - lastBeat} ms after the last one, had the address ${taken - began} ms after the loss; ${went(wiki)}`,
    );
    for (const { at } of web.failed) expect(at).toBeLessThanOrEqual(noticed);
    for (const { at } of wiki.failed) expect(at).toBeLessThanOrEqual(Math.max(taken, firstClaim));
    expect(web.ok.some(({ at }) => at > noticed)).toBe(true);
    expect(wiki.ok.some(({ at }) => at > firstClaim)).toBe(true);

    const back = Date.now();
    await lab().fault("node-lost", lost, "fix");
    await lab().whole();
    say(`back: ${went(await lab().since(back, "web"))}`);
  });

  test("a node that is cut off from the API alone continues and keeps its address", async () => {
    const cut = lab().holder();
    const address = lab().address("wiki");
    const began = Date.now();
    await lab().fault("api-cut", cut);
    const turns = lab().addressHistory.turns.length;
    // Until the others know that it is gone, and longer than the lifetime of an address without a refresh.
    await sleep(30_000);
    expect(lab().addressHistory.holders(address)).toEqual([cut]);
    expect(lab().addressHistory.turns.slice(turns)).toEqual([]);
    await lab().fault("api-cut", cut, "fix");
    await lab().whole();
    expect((await lab().since(began, "web", "wiki")).failed).toEqual([]);
  });

  test("a suspended agent loses its address only after its lifetime, and probes before it takes it back", async () => {
    const frozen = lab().holder();
    const address = lab().address("wiki");
    const began = Date.now();
    await lab().fault("agent-frozen", frozen);
    await lab().eventually("another node has the address", () =>
      lab()
        .addressHistory.holders(address)
        .some((node) => node !== frozen),
    );
    const turns = lab().addressHistory.turns.filter((turn) => turn.at >= began && turn.address === address);
    expect(turns.map(({ node, has }) => `${node === frozen ? "frozen" : "other"} ${has ? "has" : "has not"}`)).toEqual([
      "frozen has not",
      "other has",
    ]);
    say(`${turns[0] ? turns[0].at - began : 0} ms until the address lapsed, ${turns[1] ? turns[1].at - began : 0} ms until another had it`);
    await lab().fault("agent-frozen", frozen, "fix");
    await lab().whole();
    await sleep(3_000);
    expect(lab().addressHistory.overlaps).toEqual([]);
    const { failed, ok } = await lab().since(began, "wiki");
    say(`of ${ok.length + failed.length} connections ${failed.length} failed`);
    // Only between the one that lapsed and the one that took over; of those that began just before, the first packet may have come too late.
    for (const { at, ms } of failed) {
      expect(at + ms).toBeGreaterThanOrEqual(turns[0]?.at ?? 0);
    }
  });
}

/** How many heartbeats a node has sent since then without hearing one, since it was last away itself. */
function beatsMissed(beats: readonly ObservedHeartbeat[], { since, until, from }: { since: number; until: number; from: string }): number {
  const own = beats.filter((beat) => beat.from === from && beat.at <= until);
  // To one of those who listen: each beat goes to all of them.
  const listener = own.at(-1)?.to;
  const times = own.filter((beat) => beat.to === listener).map(({ at }) => at);
  const woke = times.findLast((at, index) => at - (times[index - 1] ?? at) > AWAY_MS) ?? 0;
  return times.filter((at) => at > Math.max(since, woke)).length;
}

function say(text: string): void {
  process.stdout.write(`  ${text}\n`);
}
