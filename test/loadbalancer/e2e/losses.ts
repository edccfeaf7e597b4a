import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ServiceLab } from "../../support/service-lab.ts";

/** What breaks without warning: how much is lost is printed; that it is lost only until someone noticed is asserted. */
export function lossTests(lab: () => ServiceLab): void {
  test("a node that loses its power costs connections only until the tor and the other nodes noticed", async () => {
    const lost = lab().holder();
    const address = lab().address("wiki");
    const began = Date.now();
    await lab().fault("node-lost", lost);
    await lab().eventually("the tor goes round it", async () => !(await lab().towards(lab().address("web"))).includes(lost));
    const noticed = Date.now();
    await lab().eventually("another node has the address", () =>
      lab()
        .held.holders(address)
        .some((node) => node !== lost),
    );
    const taken = lab().held.turns.findLast(({ has, address: of }) => has && of === address);
    const web = await lab().since(began, "web");
    const wiki = await lab().since(began, "wiki");
    const went = ({ ok, failed, late }: typeof web) =>
      `of ${ok.length + failed.length} connections ${failed.length} failed, ${late.length} came late`;
    say(`BGP: the tor noticed ${noticed - began} ms after the loss; ${went(web)}`);
    say(`L2: ${taken?.node} had the address ${(taken?.at ?? 0) - began} ms after the loss; ${went(wiki)}`);
    for (const { at } of web.failed) expect(at).toBeLessThanOrEqual(noticed);
    for (const { at } of wiki.failed) expect(at).toBeLessThanOrEqual(taken?.at ?? 0);
    expect(web.ok.some(({ at }) => at > noticed)).toBe(true);
    expect(wiki.ok.some(({ at }) => at > (taken?.at ?? 0))).toBe(true);

    const back = Date.now();
    await lab().fault("node-lost", lost, "mend");
    await lab().whole();
    say(`back: ${went(await lab().since(back, "web"))}`);
  });

  test("a node that is cut off from the API alone goes on, and nobody takes its address from it", async () => {
    const cut = lab().holder();
    const address = lab().address("wiki");
    const began = Date.now();
    await lab().fault("api-cut", cut);
    const turns = lab().held.turns.length;
    // Until the others have been told that it is gone, and longer than an address lives that nobody refreshes.
    await sleep(30_000);
    expect(lab().held.holders(address)).toEqual([cut]);
    expect(lab().held.turns.slice(turns)).toEqual([]);
    await lab().fault("api-cut", cut, "mend");
    await lab().whole();
    expect((await lab().since(began, "web", "wiki")).failed).toEqual([]);
  });

  test("an agent that is frozen loses its address only when its time is over, and does not take it back by surprise when it wakes", async () => {
    const frozen = lab().holder();
    const address = lab().address("wiki");
    const began = Date.now();
    await lab().fault("agent-frozen", frozen);
    await lab().eventually("another node has the address", () =>
      lab()
        .held.holders(address)
        .some((node) => node !== frozen),
    );
    const turns = lab().held.turns.filter((turn) => turn.at >= began && turn.address === address);
    expect(turns.map(({ node, has }) => `${node === frozen ? "frozen" : "other"} ${has ? "has" : "has not"}`)).toEqual([
      "frozen has not",
      "other has",
    ]);
    say(`${turns[0] ? turns[0].at - began : 0} ms until the address lapsed, ${turns[1] ? turns[1].at - began : 0} ms until another had it`);
    await lab().fault("agent-frozen", frozen, "mend");
    await lab().whole();
    await sleep(3_000);
    expect(lab().held.overlaps).toEqual([]);
    const { failed, ok } = await lab().since(began, "wiki");
    say(`of ${ok.length + failed.length} connections ${failed.length} failed`);
    // Only between the one that lapsed and the one that took over; of those that began just before, the first packet may have come too late.
    for (const { at, ms } of failed) {
      expect(at + ms).toBeGreaterThanOrEqual(turns[0]?.at ?? 0);
    }
  });
}

function say(text: string): void {
  process.stdout.write(`  ${text}\n`);
}
