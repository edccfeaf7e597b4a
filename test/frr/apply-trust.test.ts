import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { FrrPass } from "../../src/frr/apply.ts";
import { parse } from "../../src/frr/config.ts";
import type { Fragment } from "../../src/frr/fragment.ts";
import { FRR_RELEASES, frrInNamespace, type FrrInNamespace } from "../support/frr.ts";

const signal = AbortSignal.timeout(5 * 60_000);
const asIs = { foreign: [], differed: [] };

const instance: Fragment = { owner: "BGPPeer/tor", lines: parse("router bgp 64500\n no bgp network import-check\nexit\n") };
const network = (number: number): Fragment => ({
  owner: `Service/${number}`,
  lines: parse(`router bgp 64500\n address-family ipv4 unicast\n  network 10.0.0.${number}/32\n exit-address-family\nexit\n`),
});

describe.each(FRR_RELEASES)("a pass over FRR %s that does not read the running configuration", (version) => {
  let frr: FrrInNamespace;
  beforeAll(async () => {
    frr = await frrInNamespace({ version });
  });
  afterAll(() => frr.stop());
  beforeEach(async () => {
    const pass = await FrrPass.open(frr.instance, [], signal);
    await pass.apply(instance);
    await pass.apply(network(1));
    await pass.finish();
  });

  const asLeft = () => FrrPass.open(frr.instance, () => [instance, network(1)], signal);
  const running = () => frr.instance.router.runningConfig("bgpd", signal);
  const type = async (...lines: string[]) => {
    const vty = await frr.instance.router.open("bgpd", signal);
    await vty.configure(["router bgp 64500", "address-family ipv4 unicast", ...lines], signal);
    vty.close();
  };

  test("sends its lines to FRR, and the next pass continues from there", async () => {
    for (const number of [2, 3]) {
      const pass = await asLeft();
      expect(await pass.apply(network(number))).toMatchObject({ sent: 1 });
      expect(await pass.finish({ readBack: false })).toEqual(asIs);
    }
    const removing = await asLeft();
    expect(await removing.remove("Service/2")).toMatchObject({ sent: 1 });
    expect(await removing.finish({ readBack: false })).toEqual(asIs);
    expect(await running()).toMatch(/network 10\.0\.0\.1\/32\n {2}network 10\.0\.0\.3\/32\n/);

    const reading = await asLeft();
    expect(await reading.apply(network(3))).toEqual({ sent: 0, lines: [] });
    expect(await reading.finish({ repair: false })).toEqual(asIs);
  });

  test("does not hide manual changes from the next reading pass", async () => {
    await type("no network 10.0.0.1/32", "network 10.9.9.9/32");
    const trusting = await asLeft();
    await trusting.apply(network(2));
    expect(await trusting.finish({ readBack: false })).toEqual(asIs);

    const reading = await asLeft();
    const { foreign, restored } = await reading.finish();
    expect(foreign).toEqual(["router bgp 64500 / address-family ipv4 unicast / network 10.9.9.9/32"]);
    expect(restored).toMatchObject([{ owner: "Service/1" }]);
    expect(await running()).toMatch(/network 10\.0\.0\.1\/32\n {2}network 10\.0\.0\.2\/32\n/);
  });

  test("reads the running configuration after an unfinished pass, and removes lines without an owner", async () => {
    const broken = await asLeft();
    await broken.apply(network(5));
    // It never finished: what it left is not known.
    let calls = 0;
    const applied = () => {
      calls += 1;
      return [instance, network(1)];
    };
    const next = await FrrPass.open(frr.instance, applied, signal);
    expect(calls).toBe(1);
    const { foreign } = await next.finish({ readBack: false });
    expect(foreign).toEqual(["router bgp 64500 / address-family ipv4 unicast / network 10.0.0.5/32"]);
    await (await FrrPass.open(frr.instance, applied, signal)).finish({ readBack: false });
    expect(calls).toBe(1);
  });
});
