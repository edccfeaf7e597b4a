import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FrrPass } from "../../src/frr/apply.ts";
import type { Fragment } from "../../src/frr/fragment.ts";
import { act } from "../../src/router/act.ts";
import type { FrrBackend } from "../../src/router/backends.ts";
import { MemoryBackends } from "../../src/router/testing/memory-backends.ts";
import type { LastGoodResource } from "../../src/router/model/rendered.ts";
import type { Reading } from "../../src/router/model/specs.ts";
import { baseFragment } from "../../src/router/render/frr.ts";
import type { RouterObjects } from "../../src/router/model/observed.ts";
import { plan } from "../../src/router/plan.ts";
import { hostSession, l2vni, l3vni, observed, passthrough, underlay } from "../../src/router/testing/fixtures.ts";
import type { ResourceStep } from "../../src/router/model/step.ts";
import { applyOrder } from "../../src/router/apply-order.ts";
import { FRR_RELEASES, frrInNamespace, type FrrInNamespace } from "../support/frr.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const COURSE = SOAK_MINUTES > 0 ? { seed: Date.now() % 1_000_000, numRuns: 1000 * SOAK_MINUTES } : { seed: 21, numRuns: 150 };
const timeout = 300_000 * (1 + SOAK_MINUTES);
const signal = AbortSignal.timeout(2 * timeout);

const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 1 });
/** Without the fields that are undefined, as an object that was read has none. */
const given = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof T]: NonNullable<T[K]> };

const neighbor = fc
  .record({
    asn: fc.constantFrom(64512, 64514, 4_200_000_000),
    address: fc.constantFrom("192.168.11.2", "192.168.11.3", "2001:db8::2", "2001:db8::3"),
    port: some(fc.constantFrom(179, 1179)),
    password: some(fc.constantFrom("geheim", `!"$%&/()=?|`)),
    times: some(fc.constantFrom(["9s", "3s"], ["3m", "1m"], ["0", "0"])),
    connectTime: some(fc.constantFrom("5s", "2m")),
    ebgpMultiHop: some(fc.boolean()),
    bfd: some(
      fc
        .record({
          receiveInterval: some(fc.constantFrom(35, 300)),
          detectMultiplier: some(fc.constantFrom(3, 7)),
          echoMode: some(fc.boolean()),
        })
        .map(given),
    ),
  })
  .map(({ times, ...more }) => given({ ...more, holdTime: times?.[0], keepaliveTime: times?.[1], multiHopTtl: more.bfd && 2 }));

const sessions = fc
  .tuple(fc.constantFrom(64514, 64520), fc.integer({ min: 10, max: 13 }), fc.boolean())
  .map(([asn, net, dual]) => Object.assign(hostSession(`192.169.${net}.0/24`, dual ? `2001:db8:${net}::/64` : undefined), { asn }));
const vrfs = fc.constantFrom("red", "blue", "green");
const vnis = fc.integer({ min: 100, max: 107 });
const targets = fc.uniqueArray(fc.constantFrom("64514:100", "64514:101", "192.0.2.1:7", "70000:5"), { maxLength: 2 });

/** Routers that have much in common, so that the way from one to the next takes values from one resource to another. */
const routers = fc.record({
  underlay: fc.record({
    asn: fc.constantFrom(64514, 64514, 64514, 64514, 64600),
    neighbors: fc.uniqueArray(neighbor, { minLength: 1, maxLength: 3, selector: ({ address }) => address }),
    evpn: fc.boolean(),
    api: fc.constantFrom<Reading["api"]>("v0.1", "v0.2"),
  }),
  index: fc.integer({ min: 0, max: 1 }),
  l2vnis: fc.uniqueArray(fc.tuple(vnis, vrfs, some(fc.integer({ min: 0, max: 9 }))), { maxLength: 4, selector: ([vni]) => vni }),
  l3vnis: fc.uniqueArray(fc.tuple(fc.constantFrom("a", "b", "c"), vnis, vrfs, some(sessions), targets, targets), {
    maxLength: 3,
    selector: ([name]) => name,
  }),
  passthrough: some(sessions),
});

type Router = typeof routers extends fc.Arbitrary<infer T> ? T : never;

function observedOf(
  { underlay: { asn, neighbors, evpn, api }, index, l2vnis, l3vnis, passthrough: host }: Router,
  generation: number,
  lastGood: Map<string, LastGoodResource>,
) {
  const reading: Reading = { api, problems: [], writtenAs: new Map() };
  const root = { ...underlay("fabric", { asn, neighbors }, { generation }), reading };
  if (!evpn) delete root.spec.evpn;
  return observed(
    {
      underlays: [root],
      l2vnis: l2vnis.map(([vni, vrf, net]) =>
        l2vni(
          `n${vni}`,
          { vni, vrf, ...(net !== undefined && { l2gatewayips: [`10.${net}.0.1/24`, `2001:db8:a${net}::1/64`] }) },
          { generation },
        ),
      ),
      l3vnis: l3vnis.map(([name, vni, vrf, hostsession, exportRTs, importRTs]) =>
        l3vni(name, { vni, vrf, exportRTs, importRTs, ...(hostsession && { hostsession }) }, { generation }),
      ),
      passthroughs: host ? [passthrough("host", host, { generation })] : [],
    },
    { index, lastGood },
  );
}

/** The L3VNI that is not to arrive in its new VRF. */
const rejects = ({ owner, lines }: Fragment) => owner === "L3VNI/y" && lines.some(({ line }) => line === "vrf red");

describe.each(FRR_RELEASES)("FRR %s", (version) => {
  let frr: FrrInNamespace;
  beforeAll(async () => {
    frr = await frrInNamespace({ version });
  });
  afterAll(() => frr.stop());

  const base = baseFragment();
  const applied = new Map<string, ResourceStep>();
  const live = (): Fragment[] => [base, ...[...applied.values()].map(({ rendered }) => rendered.fragment)];

  /** Brings the router to a plan without rejections. */
  async function apply(router: Router, generation: number): Promise<{ sent: number; wrong: unknown[] }> {
    const lastGood = new Map(
      [...applied].map(([owner, { uid, spec, rendered, generation }]) => [owner, { uid, spec, rendered, generation }]),
    );
    const planned = plan(observedOf(router, generation, lastGood));
    const pass = await FrrPass.open(frr.instance, live(), signal);
    const wrong: unknown[] = planned.stopped ? [planned.stopped] : [];
    let sent = 0;
    const apply = async (fragment: Fragment) => {
      const outcome = await pass.apply(fragment);
      const done = outcome.rebuild ? await pass.rebuild([base, fragment]) : outcome;
      sent += done.sent;
      if (done.rejected) wrong.push({ fragment, ...done.rejected });
    };
    const walk = applyOrder(planned);
    const wanted = new Set([planned.underlay, ...planned.steps, ...(planned.ousted ?? [])].map((step) => step?.owner));
    let next = walk.next();
    await apply(base);
    while (!next.done) {
      for (const step of next.value) {
        if (step.leaves) {
          sent += (await pass.remove(step.owner)).sent;
          applied.delete(step.owner);
          continue;
        }
        await apply(step.rendered.fragment);
        if (step.kind === "Underlay") {
          for (const owner of [...applied.keys()].filter((one) => !wanted.has(one))) {
            sent += (await pass.remove(owner)).sent;
            applied.delete(owner);
          }
        }
        applied.set(step.owner, step);
      }
      next = walk.next("applied");
    }
    for (const { kind, name } of next.value) {
      sent += (await pass.remove(`${kind}/${name}`)).sent;
      applied.delete(`${kind}/${name}`);
    }
    const { foreign, differed } = await pass.finish({ repair: false });
    return { sent, wrong: [...wrong, ...foreign, ...differed] };
  }

  const configuration = () => Promise.all(["zebra", "bgpd"].map((daemon) => frr.instance.router.runningConfig(daemon, signal)));

  test("keeps two L3VNIs that swap their VRFs unchanged when it rejects one of them", { timeout }, async () => {
    const { kernel } = new MemoryBackends();
    const lastGood = new Map<string, LastGoodResource>();
    const carryOut = async (objects: Partial<RouterObjects>) => {
      const pass = await FrrPass.open(frr.instance, [base, ...[...lastGood.values()].map(({ rendered }) => rendered.fragment)], signal);
      const daemons: FrrBackend = {
        apply: (fragment) =>
          pass.apply(rejects(fragment) ? { ...fragment, lines: [...fragment.lines, { line: "this is not for FRR" }] } : fragment),
        applyRaw: (fragment) => pass.applyRaw(fragment),
        remove: (owner) => pass.remove(owner),
        rebuild: (fragments) => pass.rebuild(fragments),
        finish: (options) => pass.finish(options),
      };
      const backends = { kernel, daemons, base, apiAnswers: () => Promise.resolve(true), onRebuild: () => undefined };
      return await act(plan(observed(objects, { lastGood })), lastGood, backends);
    };
    const fabric = { underlays: [underlay()], l2vnis: [l2vni("red", { vni: 100 }), l2vni("blue", { vni: 101 })] };
    const desired = (x: string, y: string, generation: number) => ({
      ...fabric,
      l3vnis: [l3vni("x", { vni: 200, vrf: x }, { generation }), l3vni("y", { vni: 201, vrf: y }, { generation, hour: 1 })],
    });

    expect((await carryOut(desired("red", "blue", 1))).failures).toEqual([]);
    const before = await configuration();
    const { failures, live } = await carryOut(desired("blue", "red", 2));
    expect(failures.map(({ name, reason }) => `${name} ${reason}`)).toEqual(["y ApplicationFailed", "x ValidationFailed"]);
    expect([live.get("L3VNI/x"), live.get("L3VNI/y")]).toEqual([1, 1]);
    expect(await configuration()).toEqual(before);
    await carryOut({});
  });

  test("applies every step between random routers, prints the rendered lines, and needs no second pass", { timeout }, async () => {
    let sent = 0;
    for (const [generation, router] of fc.sample(routers, COURSE).entries()) {
      const first = await apply(router, generation);
      const second = await apply(router, generation);
      expect({ router, wrong: first.wrong, second }).toEqual({ router, wrong: [], second: { sent: 0, wrong: [] } });
      sent += first.sent;
    }
    expect(sent).toBeGreaterThan(10 * COURSE.numRuns);
  });
});
