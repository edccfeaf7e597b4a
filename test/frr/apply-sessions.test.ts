import * as fc from "fast-check";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FrrPass } from "../../src/frr/apply.ts";
import { routers } from "../../src/frr/testing/generators.ts";
import { merge, parse } from "../../src/frr/config.ts";
import type { ConfigLine, Fragment } from "../../src/frr/fragment.ts";
import { FRR_RELEASES, frrInNamespace, run, type FrrInNamespace } from "../support/frr.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const signal = AbortSignal.timeout((5 + 10 * SOAK_MINUTES) * 60_000);
const NEAR = "10.255.0.1";
const FAR = "10.255.0.2";

const speaker = (asn: number, routerId: string, peer: string, remote: number): Fragment => ({
  owner: "Underlay/steady",
  lines: parse(`router bgp ${asn}
 bgp router-id ${routerId}
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 no bgp network import-check
 neighbor ${peer} remote-as ${remote}
 neighbor ${peer} timers connect 1
 address-family ipv4 unicast
  network 192.0.2.${asn % 100}/32
  neighbor ${peer} activate
 exit-address-family
 address-family l2vpn evpn
  neighbor ${peer} activate
  advertise-all-vni
 exit-address-family
exit
`),
});

/** What has nothing to do with the session: other neighbors, VRFs, sessions with hosts, names and logs. */
const unrelated = routers
  .filter((fragments) => fragments.some(({ lines }) => lines.some(({ line }) => line === "router bgp 64514")))
  .map((fragments) =>
    fragments.map(({ owner, lines }): Fragment => ({
      owner,
      lines: lines.map((top): ConfigLine =>
        top.line === "router bgp 64514" ? { line: top.line, inside: withoutSessionSettings(top) } : top,
      ),
    })),
  );

/** FRR resets every session of an instance when its router id or its graceful restart changes. */
function withoutSessionSettings({ inside = [] }: ConfigLine): ConfigLine[] {
  return inside.filter(({ line }) => !/^bgp (router-id|graceful-restart)\b/.test(line));
}

interface Neighbors {
  readonly [neighbor: string]: { bgpState: string; connectionsEstablished: number; bgpTimerUpMsec?: number } | undefined;
}

async function session(frr: FrrInNamespace, peer: string): Promise<{ state: string; established: number; upMs: number }> {
  const vty = await frr.instance.router.vty("bgpd", signal);
  const found = (await vty.json<Neighbors>("show bgp neighbors json", signal))[peer];
  return { state: found?.bgpState ?? "gone", established: found?.connectionsEstablished ?? 0, upMs: found?.bgpTimerUpMsec ?? 0 };
}

describe.each(FRR_RELEASES)("a session of FRR %s", (version) => {
  let near: FrrInNamespace;
  let far: FrrInNamespace;
  beforeAll(async () => {
    [near, far] = await Promise.all([frrInNamespace({ version }), frrInNamespace({ version })]);
    await run("ip", "-n", near.netns, "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", far.netns);
    await run("ip", "-n", near.netns, "address", "add", `${NEAR}/30`, "dev", "wire");
    await run("ip", "-n", far.netns, "address", "add", `${FAR}/30`, "dev", "wire");
    for (const { netns } of [near, far]) await run("ip", "-n", netns, "link", "set", "wire", "up");
  });
  afterAll(async () => {
    await Promise.all([near.stop(), far.stop()]);
  });

  test("survives any change of other lines", async () => {
    const steady = speaker(64514, "10.0.0.1", FAR, 64599);
    const other = await FrrPass.open(far.instance, [], signal);
    await other.apply(speaker(64599, "10.0.0.99", NEAR, 64514));
    await other.finish();
    const first = await FrrPass.open(near.instance, [], signal);
    await first.apply(steady);
    await first.finish();
    await expect.poll(async () => (await session(near, FAR)).state, { timeout: 60_000 }).toBe("Established");
    const [here, there] = [await session(near, FAR), await session(far, NEAR)];

    let from: Fragment[] = [];
    for (const to of fc.sample(unrelated, { seed: 7, numRuns: 25 * (1 + SOAK_MINUTES) })) {
      const pass = await FrrPass.open(near.instance, [steady, ...from], signal);
      expect(await pass.apply(steady)).toEqual({ sent: 0, lines: [] });
      for (const { owner } of from.filter(({ owner }) => !to.some((next) => next.owner === owner)).toReversed()) await pass.remove(owner);
      for (const fragment of to) expect((await pass.apply(fragment)).rejected).toBeUndefined();
      expect(await pass.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
      from = to;
    }
    // FRR resets a session soon, not at once.
    await sleep(2_000);

    const [hereStill, thereStill] = [await session(near, FAR), await session(far, NEAR)];
    expect([hereStill, thereStill]).toMatchObject([here, there].map(({ established }) => ({ state: "Established", established })));
    expect(hereStill.upMs).toBeGreaterThan(here.upMs);
    expect(thereStill.upMs).toBeGreaterThan(there.upMs);

    // The same counters tell of a change that is about it.
    const pass = await FrrPass.open(near.instance, [steady, ...from], signal);
    const moved = parse(`router bgp 64514\n neighbor ${FAR} ebgp-multihop 255\nexit\n`);
    await pass.apply({ owner: steady.owner, lines: merge([steady, { owner: steady.owner, lines: moved }]) });
    await pass.finish({ repair: false });
    await expect.poll(async () => (await session(near, FAR)).established, { timeout: 60_000 }).toBe(here.established + 1);
  });
});
