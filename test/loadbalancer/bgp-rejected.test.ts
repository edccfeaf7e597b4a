import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePrefix } from "../../src/ip/prefix.ts";
import type { Advertised } from "../../src/loadbalancer/announcement/decision.ts";
import { config, peer } from "../../src/loadbalancer/testing/announcement-fixtures.ts";
import type { Config } from "../../src/loadbalancer/config/config.ts";
import { speakerOn } from "../support/bgp-speaker.ts";
import { FRR_RELEASES, frrInNamespace, type FrrInNamespace } from "../support/frr.ts";

const signal = AbortSignal.timeout(5 * 60_000);
const NODE = { name: "node-a", internalIPv4: "192.0.2.10" };
const WEB: Advertised = { prefix: parsePrefix("10.0.0.1/32"), advertisement: "ad", created: 0, communities: [] };
const GOOD = peer("good", { address: "192.168.11.2" });
const bad = (password: string) => peer("bad", { address: "192.168.11.3", password });

describe.each(FRR_RELEASES)("a rejection of FRR %s", (version) => {
  let frr: FrrInNamespace;
  beforeAll(async () => {
    frr = await frrInNamespace({ version, bgpPort: 0 });
  });
  afterAll(() => frr.stop());

  const running = (daemon = "bgpd") => frr.instance.router.runningConfig(daemon, signal);
  const newSpeaker = () => {
    const { speaker } = speakerOn(frr);
    return (config: Config) => speaker.apply({ config, node: NODE, services: new Map([["shop/web", [WEB]]]) }, signal);
  };

  test("fails its peer with FRR's message, and the other peer and the Service are applied", async () => {
    const { failures } = await newSpeaker()(config({ peers: [bad("two words"), GOOD] }));
    expect(failures).toEqual([
      {
        kind: "BGPPeer",
        name: "bad",
        namespace: "metallb-system",
        reason: "ApplicationFailed",
        field: "",
        message: expect.stringMatching(
          /^bgpd rejected "router bgp 64500 \/ neighbor 192\.168\.11\.3 password \*\*\*": .*Unknown command/,
        ) as string,
        class: "Permanent",
      },
    ]);
    expect(await running()).toMatch(/neighbor 192\.168\.11\.2 remote-as 64501\n/);
    expect(await running()).toMatch(/network 10\.0\.0\.1\/32 route-map class-/);
    expect(await running()).not.toContain("neighbor 192.168.11.3");
  });

  test("of a new version keeps the old one, also over a restart of the speaker", async () => {
    const first = speakerOn(frr);
    const apply = (speaker: typeof first, config: Config) => speaker.speaker.apply({ config, node: NODE, services: new Map() }, signal);
    expect((await apply(first, config({ peers: [bad("word"), GOOD] }))).failures).toEqual([]);
    const edited = config({ peers: [bad("two words"), GOOD] });
    expect((await apply(first, edited)).failures).toHaveLength(1);
    expect(await running()).toContain("neighbor 192.168.11.3 password word\n");

    const second = speakerOn(frr, first.speaker.applied);
    expect(await apply(second, edited)).toMatchObject({ failures: [{ kind: "BGPPeer", name: "bad" }], drift: [] });
    expect(await running()).toContain("neighbor 192.168.11.3 password word\n");
  });

  test.each(["a\nrouter bgp 666", "tail ", "\u0007"])(
    "is avoided for a password with more than a word, which is never sent: %j",
    async (password) => {
      const { failures } = await newSpeaker()(config({ peers: [bad(password), GOOD] }));
      expect(failures).toMatchObject([
        { kind: "BGPPeer", name: "bad", message: expect.stringMatching(/^FRR rejected it: a line for FRR/) as string },
      ]);
      expect(failures[0]?.message).not.toContain("666");
      expect(await running()).not.toMatch(/666|neighbor 192\.168\.11\.3/);
    },
  );

  describe("of raw lines", () => {
    test("does not occur if they permit inbound routes instead of the default deny", async () => {
      const apply = newSpeaker();
      await apply(config({ peers: [GOOD] }));
      const extras =
        "route-map 192.168.11.2-in permit 20\n match ip address prefix-list nets\nexit\nip prefix-list nets seq 5 permit 10.9.0.0/16\n";
      expect(await apply(config({ peers: [GOOD], extras }))).toMatchObject({ failures: [], drift: [] });
      expect(await running()).toMatch(/route-map 192\.168\.11\.2-in permit 20\n match ip address prefix-list nets\n/);
      expect(await apply(config({ peers: [GOOD], extras }))).toMatchObject({ changed: 0, failures: [], drift: [] });
      expect(await apply(config({ peers: [GOOD] }))).toMatchObject({ failures: [], drift: [] });
      expect(await running()).toMatch(/route-map 192\.168\.11\.2-in deny 20\n/);
      expect(await running()).not.toContain("prefix-list nets");
    });

    test("in one line removes all of them, and other lines stay", async () => {
      const { failures } = await newSpeaker()(config({ peers: [GOOD], extras: "route-map x permit 10\nexit\nno such line\n" }));
      expect(failures).toMatchObject([{ kind: "ConfigMap", name: "bgpextras", namespace: "metallb-system", reason: "ApplicationFailed" }]);
      expect(await running()).not.toContain("route-map x ");
      expect(await running()).toMatch(/neighbor 192\.168\.11\.2 remote-as 64501\n/);
    });
  });
});
