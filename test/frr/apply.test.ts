import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { FrrPass } from "../../src/frr/apply.ts";
import { parse, print } from "../../src/frr/config.ts";
import type { Fragment } from "../../src/frr/fragment.ts";
import { FrrInstance } from "../../src/frr/instance.ts";
import { reloadDifference } from "../../src/frr/testing/reload-difference.ts";
import { FRR_RELEASES, frrInNamespace, type FrrInNamespace } from "../support/frr.ts";

const fragment = (owner: string, text: string): Fragment => ({ owner, lines: parse(text) });

const underlay = (asn = 64514, more = "") =>
  fragment(
    "Underlay/u",
    `route-map allowall permit 1
exit
router bgp ${asn}
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor 192.168.11.2 remote-as 64512
 neighbor 192.168.11.2 timers 3 9
${more} address-family ipv4 unicast
  neighbor 192.168.11.2 activate
 exit-address-family
 address-family l2vpn evpn
  neighbor 192.168.11.2 activate
  advertise-all-vni
 exit-address-family
exit
`,
  );

const l3vni = (name: string, vni: number, { asn = 64514, more = "" } = {}) =>
  fragment(
    `L3VNI/${name}`,
    `route-map allowall permit 1
exit
vrf ${name}
 vni ${vni}
exit-vrf
router bgp ${asn} vrf ${name}
 bgp router-id 10.0.0.1
 no bgp default ipv4-unicast
${more} address-family l2vpn evpn
  advertise ipv4 unicast
 exit-address-family
exit
`,
  );

const announced = (net: string) => ` address-family ipv4 unicast\n  network ${net}\n exit-address-family\n`;
const raw = (name: string, text: string) => fragment(`RawFRRConfig/${name}`, text);

describe.each(FRR_RELEASES)("a pass over FRR %s", (version) => {
  const signal = AbortSignal.timeout(10 * 60_000);
  let frr: FrrInNamespace;
  beforeAll(async () => {
    frr = await frrInNamespace({ version });
  });
  afterAll(() => frr.stop());
  afterEach(async () => {
    const pass = await FrrPass.open(frr.instance, [], signal);
    await pass.finish({ repair: false });
  });

  const open = (...applied: Fragment[]) => FrrPass.open(frr.instance, applied, signal);
  const bgpd = () => frr.instance.router.runningConfig("bgpd", signal);
  const typed = async (...lines: string[]) => {
    const vty = await frr.instance.router.open("bgpd", signal);
    await vty.configure(lines, signal);
    vty.close();
  };
  /** The router as these fragments ask, and nothing else. */
  async function configured(...fragments: Fragment[]): Promise<void> {
    const pass = await open();
    for (const one of fragments) expect(await pass.apply(one)).not.toHaveProperty("refused");
    expect((await pass.finish()).differed).toEqual([]);
  }

  test("a rejection has the line, the daemon and FRR's message, and the other fragments stay applied", async () => {
    const pass = await open();
    await pass.apply(underlay());
    await pass.apply(l3vni("red", 100));
    const outcome = await pass.apply(l3vni("blue", 200, { more: " neighbor 10.1.1.2 timers 3 9\n" }));
    await pass.apply(l3vni("green", 300));

    expect(outcome.rejected).toEqual({
      line: "router bgp 64514 vrf blue / neighbor 10.1.1.2 timers 3 9",
      daemon: "bgpd",
      text: "Specify remote-as or peer-group commands first",
    });
    expect(await pass.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
    const running = await bgpd();
    expect(running).toContain("router bgp 64514 vrf red\n");
    expect(running).not.toContain("router bgp 64514 vrf blue\n");
    expect(running).toContain("router bgp 64514 vrf green\n");
  });

  test("a rejected edit restores the previous lines, replaced values included", async () => {
    const red = l3vni("red", 100, { more: " neighbor 10.1.1.2 remote-as 64515\n neighbor 10.1.1.2 timers 3 9\n" });
    await configured(underlay(), red);
    const before = await bgpd();

    const pass = await open(underlay(), red);
    const edited = " neighbor 10.1.1.2 remote-as 64516\n neighbor 10.1.1.2 timers 10 30\n neighbor 10.9.9.9 port 1\n";
    const outcome = await pass.apply(l3vni("red", 101, { more: edited }));
    expect(outcome.rejected?.line).toBe("router bgp 64514 vrf red / neighbor 10.9.9.9 port 1");
    expect(await pass.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
    expect(await bgpd()).toBe(before);
  });

  test("no message contains a password", async () => {
    const pass = await open();
    const { rejected, lines } = await pass.apply(
      underlay(64514, " neighbor 192.168.11.2 password s3cret\n neighbor 192.168.11.2 password two words\n"),
    );
    expect(rejected?.line).toBe("router bgp 64514 / neighbor 192.168.11.2 password ***");
    expect(JSON.stringify([rejected, lines])).not.toMatch(/s3cret|two/);
    await pass.finish();
  });

  test("a line is removed with its last owner", async () => {
    const one = l3vni("red", 100, { more: announced("10.1.0.0/24") });
    const other = fragment(
      "L2VNI/red-1",
      `router bgp 64514 vrf red\n bgp router-id 10.0.0.1\n no bgp default ipv4-unicast\n${announced("10.2.0.0/24")}exit\n`,
    );
    await configured(underlay(), one, other);

    const pass = await open(underlay(), one, other);
    expect((await pass.remove("L3VNI/red")).lines).toEqual([
      "vrf red / no vni 100",
      "router bgp 64514 vrf red / address-family l2vpn evpn / no advertise ipv4 unicast",
      "router bgp 64514 vrf red / address-family ipv4 unicast / no network 10.1.0.0/24",
    ]);
    expect((await pass.remove("L2VNI/red-1")).lines).toEqual(["no router bgp 64514 vrf red"]);
    expect(await pass.remove("L2VNI/red-1")).toEqual({ sent: 0, lines: [] });
    expect(await pass.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
    expect(await bgpd()).toContain("route-map allowall permit 1\n");
  });

  test("an unchanged router needs no line and no connection", async () => {
    await configured(underlay(), l3vni("red", 100));
    const pass = await open(underlay(), l3vni("red", 100));
    const connecting = vi.spyOn(frr.instance.router, "open");
    for (const one of [underlay(), l3vni("red", 100)]) expect(await pass.apply(one)).toEqual({ sent: 0, lines: [] });
    expect(await pass.finish()).toEqual({ foreign: [], differed: [] });
    expect(connecting).not.toHaveBeenCalled();
    connecting.mockRestore();
  });

  test("a router that lost its lines gets exactly these again", async () => {
    await configured(underlay(), l3vni("red", 100));
    await typed("router bgp 64514", "no neighbor 192.168.11.2 timers 3 9");
    const pass = await open(underlay(), l3vni("red", 100));
    for (const one of [underlay(), l3vni("red", 100)]) expect(await pass.apply(one)).toEqual({ sent: 0, lines: [] });
    expect(await pass.finish()).toEqual({
      foreign: [],
      restored: [{ owner: "Underlay/u", line: "router bgp 64514 / neighbor 192.168.11.2 timers 3 9" }],
      differed: [],
    });
    expect(await bgpd()).toContain("neighbor 192.168.11.2 timers 3 9\n");
  });

  describe("another AS number of the default instance", () => {
    test("is not sent, but requires a rebuild", async () => {
      await configured(underlay(), l3vni("red", 100), l3vni("blue", 200, { asn: 64600 }));
      const pass = await open(underlay(), l3vni("red", 100), l3vni("blue", 200, { asn: 64600 }));
      expect(await pass.apply(underlay(64520))).toEqual({ sent: 0, lines: [], rebuild: true });

      const rebuilt = await pass.rebuild([underlay(64520)]);
      expect(rebuilt.rejected).toBeUndefined();
      expect(rebuilt.lines.filter((line) => /^(no )?router bgp [^/]*$|vni/.test(line))).toEqual([
        "vrf red / no vni 100",
        "vrf blue / no vni 200",
        "no router bgp 64600 vrf blue",
        "no router bgp 64514 vrf red",
        "no router bgp 64514",
        "router bgp 64520",
        "router bgp 64520 / address-family l2vpn evpn / advertise-all-vni",
      ]);
      for (const one of [l3vni("red", 100, { asn: 64520 }), l3vni("blue", 200, { asn: 64600 })])
        expect(await pass.apply(one)).not.toHaveProperty("refused");
      expect(await pass.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
    });

    test("rejected in the rebuild can be reverted by another rebuild", async () => {
      await configured(underlay(), l3vni("red", 100));
      const before = await bgpd();
      const pass = await open(underlay(), l3vni("red", 100));
      expect((await pass.rebuild([underlay(64520, " neighbor 10.9.9.9 port 1\n")])).rejected?.text).toBe(
        "Specify remote-as or peer-group commands first",
      );
      expect((await pass.rebuild([underlay(), l3vni("red", 100)])).rejected).toBeUndefined();
      expect(await pass.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
      expect(await bgpd()).toBe(before);
    });
  });

  describe("a manual change", () => {
    test("is removed and reported, and our lines stay", async () => {
      await configured(underlay());
      await typed(
        "router bgp 64514",
        "neighbor 10.7.7.7 remote-as 64700",
        "neighbor 10.7.7.7 password hidden",
        "exit",
        "ip prefix-list mine seq 5 permit any",
      );
      const pass = await open(underlay());
      expect(await pass.apply(underlay())).toEqual({ sent: 0, lines: [] });
      expect(await pass.finish({ repair: false })).toEqual({
        foreign: expect.arrayContaining([
          "ip prefix-list mine seq 5 permit any",
          "router bgp 64514 / neighbor 10.7.7.7 remote-as 64700",
          "router bgp 64514 / neighbor 10.7.7.7 password ***",
        ]) as string[],
        differed: [],
      });
      expect(await bgpd()).not.toMatch(/10\.7\.7\.7|prefix-list/);
      expect(await bgpd()).toContain("neighbor 192.168.11.2 timers 3 9\n");
    });

    test("over one of our values is replaced by ours and reported", async () => {
      await configured(underlay());
      await typed("router bgp 64514", "bgp router-id 10.6.6.6");
      const pass = await open(underlay());
      expect(await pass.apply(underlay())).toEqual({ sent: 0, lines: [] });
      expect(await pass.finish({ repair: false })).toEqual({
        foreign: ["router bgp 64514 / bgp router-id 10.6.6.6"],
        restored: [{ owner: "Underlay/u", line: "router bgp 64514 / bgp router-id 10.0.0.1" }],
        differed: [],
      });
    });

    test("during the pass is found when the configuration is read back", async () => {
      const pass = await open();
      await pass.apply(underlay());
      await typed("router bgp 64514", "no neighbor 192.168.11.2 timers 3 9", "neighbor 10.7.7.7 remote-as 64700");
      expect(await pass.finish()).toEqual({
        foreign: ["router bgp 64514 / neighbor 10.7.7.7 remote-as 64700"],
        restored: [{ owner: "Underlay/u", line: "router bgp 64514 / neighbor 192.168.11.2 timers 3 9" }],
        differed: [],
      });
    });

    test("does not fail a conflicting resource", async () => {
      await configured(underlay());
      await typed("router bgp 64514", "no neighbor 192.168.11.2 remote-as 64512");
      const pass = await open(underlay());
      const edited = parse(print(underlay().lines).replace("timers 3 9", "timers 10 30"));
      expect((await pass.apply({ owner: "Underlay/u", lines: edited })).rejected).toBeUndefined();
      expect(await pass.finish()).toEqual({ foreign: [], differed: [] });
      expect(await bgpd()).toContain("neighbor 192.168.11.2 timers 10 30\n");
    });

    test("of the whole router requires a rebuild", async () => {
      await configured(underlay());
      await typed("no router bgp 64514", "router bgp 64999");
      const pass = await open(underlay());
      expect(await pass.apply(underlay())).toEqual({ sent: 0, lines: [] });
      expect((await pass.apply(underlay(64514, " neighbor 192.168.11.2 timers connect 5\n"))).rebuild).toBe(true);
      expect((await pass.rebuild([underlay()])).rejected).toBeUndefined();
      expect(await pass.finish()).toMatchObject({ foreign: ["router bgp 64999"], differed: [] });
    });
  });

  test("a copy of a line in another daemon is ignored", async () => {
    const kernel = version === "10" ? "mgmtd" : "zebra";
    const type = async (line: string) => {
      const vty = await frr.instance.router.open(kernel, signal);
      await vty.configure([line], signal);
      vty.close();
    };
    await configured(underlay());
    await type("route-map allowall permit 1");
    expect(await (await open(underlay())).finish()).toEqual({ foreign: [], differed: [] });
    await type("no route-map allowall permit 1");
    expect(await (await open(underlay())).finish()).toEqual({ foreign: [], differed: [] });
    expect(await frr.instance.router.runningConfig(kernel, signal)).not.toContain("route-map");
  });

  test("reads restarted daemons before it sends anything", async () => {
    await configured(underlay());
    const instance = new FrrInstance(frr.options);
    const first = await FrrPass.open(instance, [underlay()], signal);
    await first.apply(underlay());
    await first.finish();
    await instance.stop();
    await instance.start(signal);
    const pass = await FrrPass.open(instance, [underlay()], signal);
    expect((await pass.apply(underlay())).sent).toBeGreaterThan(5);
    expect(await pass.finish()).toEqual({ foreign: [], differed: [] });
    instance.router.close();
  });

  test("a line that FRR accepts but does not keep is reported with its owner, also when frr-reload.py cannot repair it", async () => {
    const pass = await open();
    await pass.apply(underlay());
    await pass.apply(fragment("L3Passthrough/p", "router bgp 64514\n neighbor 192.168.11.2 port 179\nexit\n"));
    const hidden = "router bgp 64514 / neighbor 192.168.11.2 port 179";
    const lost = [{ owner: "L3Passthrough/p", line: hidden }];
    expect(await pass.finish()).toEqual({ foreign: [], differed: [hidden], lost });

    const script = vi.spyOn(frr.instance.exec, "run");
    const again = await open(underlay(), fragment("L3Passthrough/p", "router bgp 64514\n neighbor 192.168.11.2 port 179\nexit\n"));
    expect(await again.apply(underlay())).toEqual({ sent: 0, lines: [] });
    expect(await again.finish()).toEqual({ foreign: [], differed: [hidden], lost });
    expect(script).not.toHaveBeenCalled();
    script.mockRestore();
  });

  describe("free text", () => {
    // FRR prints none of these lines the way they are written here.
    const extra = raw(
      "extra",
      "router bgp 64514\n neighbor 10.5.5.5 remote-as 64700\n neighbor 10.5.5.5 ebgp-multihop\n neighbor 10.5.5.5 timers connect 0005\nexit\nip prefix-list mine permit 10.0.0.0/8\n",
    );

    test("is applied with frr-reload.py and recognized in the form that FRR prints", async () => {
      await configured(underlay());
      const pass = await open(underlay());
      expect((await pass.applyRaw(extra)).sent).toBeGreaterThan(3);
      expect(await pass.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
      expect(await bgpd()).toContain("ip prefix-list mine seq 5 permit 10.0.0.0/8\n");

      const next = await open(underlay(), extra);
      expect(await next.apply(underlay())).toEqual({ sent: 0, lines: [] });
      expect(await next.applyRaw(extra)).toEqual({ sent: 0, lines: [] });
      expect(await next.finish({ repair: false })).toEqual({ foreign: [], differed: [] });

      const last = await open(underlay(), extra);
      await last.remove(extra.owner);
      expect(await last.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
      expect(await bgpd()).not.toMatch(/10\.5\.5\.5|prefix-list/);
      expect(await reloadDifference(frr.instance, last.configuration, signal)).toEqual([]);
    });

    test("is recognized by a restarted agent, and one text can be removed while another stays", async () => {
      const more = raw("more", "ip prefix-list other permit 192.0.2.0/24\n");
      await configured(underlay());
      const pass = await open(underlay());
      await pass.applyRaw(extra);
      await pass.applyRaw(more);
      await pass.finish({ repair: false });

      // Another instance of the same daemons: it has seen none of this.
      const restarted = new FrrInstance(frr.options);
      const next = await FrrPass.open(restarted, [underlay(), extra, more], signal);
      await next.applyRaw(extra);
      await next.applyRaw(more);
      expect(await next.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
      const last = await FrrPass.open(restarted, [underlay(), extra, more], signal);
      await last.remove(extra.owner);
      expect(await last.applyRaw(more)).toEqual({ sent: 0, lines: [] });
      expect(await last.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
      expect(await bgpd()).toContain("ip prefix-list other seq 5 permit 192.0.2.0/24\n");
      expect(await bgpd()).not.toContain("10.5.5.5");
      restarted.router.close();
    });

    test("that FRR rejects fails alone and changes nothing", async () => {
      await configured(underlay(), l3vni("red", 100));
      const before = await bgpd();
      const pass = await open(underlay(), l3vni("red", 100));
      const outcome = await pass.applyRaw(
        raw("bad", "router bgp 64514\n neighbor 10.5.5.5 remote-as 64700\n neighbor 10.5.5.5 password s3cret\n frobnicate\nexit\n"),
      );
      expect(outcome.rejected?.text).toContain("frobnicate");
      expect(outcome.rejected?.text).not.toContain("s3cret");
      expect(await pass.apply(l3vni("red", 100))).toEqual({ sent: 0, lines: [] });
      expect(await pass.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
      expect(await bgpd()).toBe(before);
    });

    test("that removes lines of a resource is rejected", async () => {
      await configured(underlay());
      const before = await bgpd();
      const pass = await open(underlay());
      const outcome = await pass.applyRaw(raw("bad", "router bgp 64514\n bgp router-id 10.6.6.6\nexit\n"));
      expect(outcome.rejected?.text).toBe("it removes configuration that other resources need: router bgp 64514 / bgp router-id 10.0.0.1");
      expect(await pass.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
      expect(await bgpd()).toBe(before);
    });

    test("with a control character is rejected before anything is sent to FRR", async () => {
      const pass = await open();
      const smuggled: Fragment = { owner: "RawFRRConfig/bad", lines: [{ line: "hostname a\rrouter bgp 666" }] };
      expect((await pass.applyRaw(smuggled)).rejected?.text).toContain("control characters");
      await pass.finish();
    });
  });

  test("a fragment with a newline in a line is rejected and not sent", async () => {
    const pass = await open();
    const smuggled: Fragment = { owner: "L3VNI/evil", lines: [{ line: "hostname fine" }, { line: "hostname a\nrouter bgp 666" }] };
    expect((await pass.apply(smuggled)).rejected?.text).toContain("control characters");
    expect(await pass.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
    expect(await bgpd()).not.toMatch(/fine|666/);
  });
});
