import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseAddress, type Family } from "../../ip/address.ts";
import { Range } from "../../ip/range.ts";
import type { Pool } from "../config/config.ts";
import { SimulatedCluster } from "../testing/allocator-model/simulated-cluster.ts";
import { pool, type RequestTerms } from "../testing/allocator-fixtures.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const RUNS = SOAK_MINUTES > 0 ? { seed: Date.now() % 1_000_000, numRuns: 20_000 } : { seed: 6, numRuns: 200 };
const timeout = SOAK_MINUTES > 0 ? 30 * 60_000 : 60_000;

const UNIVERSE = ["10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1", "10.0.1.2", "fc00::", "fc00::1", "fc00::2"].map(parseAddress);
const POOLS = ["p", "q", "r"];
const SERVICES = Array.from({ length: 8 }, (_, index) => `s${index}`);

function mostly<T>(usual: T, ...others: T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(usual, ...others) });
}

/** Whom each address of the universe belongs to; neighbors may be one range or two, and come in either order. */
const configuration = fc
  .record({
    owners: fc.array(fc.constantFrom(...POOLS, "p", undefined), { minLength: UNIVERSE.length, maxLength: UNIVERSE.length }),
    joined: fc.boolean(),
    reversed: fc.boolean(),
    terms: fc.array(
      fc.record({
        autoAssign: mostly(true, false),
        avoidBuggyIPs: fc.boolean(),
        priority: mostly(undefined, 1, 2),
        namespaces: mostly(undefined, ["default"], ["other"], []),
        serviceSelectors: mostly(undefined, [{ matchLabels: { tier: "web" } }]),
        is: mostly("usable", "broken", "absent"),
      }),
      { minLength: POOLS.length, maxLength: POOLS.length },
    ),
  })
  .map(({ owners, joined, reversed, terms }) => {
    const pools: Pool[] = [];
    const broken: string[] = [];
    for (const [index, name] of POOLS.entries()) {
      const { is = "absent", priority, namespaces, serviceSelectors, ...flags } = terms[index] ?? {};
      if (is === "broken") broken.push(name);
      if (is !== "usable") continue;
      const ranges: Range[] = [];
      for (const [nth, address] of UNIVERSE.entries()) {
        if (owners[nth] !== name) continue;
        const before = ranges.at(-1);
        if (joined && before?.last.plus(1n)?.equals(address)) ranges.splice(-1, 1, new Range(before.first, address));
        else ranges.push(new Range(address, address));
      }
      const texts = ranges.map(String);
      const pinned = { ...(priority && { priority }), ...(namespaces && { namespaces }), ...(serviceSelectors && { serviceSelectors }) };
      pools.push(pool(name, reversed ? texts.reverse() : texts, { ...flags, ...pinned }));
    }
    return { pools, broken };
  });

const requested = fc.constantFrom(...UNIVERSE);

const terms: fc.Arbitrary<RequestTerms> = fc
  .record({
    families: fc.constantFrom<Family[]>([4], [4], [6], [4, 6], [6, 4]),
    prefers: fc.boolean(),
    explicit: fc.option(fc.tuple(requested, requested), { freq: 4, nil: undefined }),
    pool: mostly(undefined, ...POOLS),
    labels: fc.constantFrom({}, { tier: "web" }),
    sharing: fc.record({
      key: fc.constantFrom("", "k", "k", "l"),
      backend: fc.constantFrom("", "", "app=x"),
      ports: fc.subarray(["TCP/80", "TCP/443", "UDP/53"]),
    }),
  })
  .map(({ families, prefers, explicit, pool, labels, sharing }): RequestTerms => {
    const wanted = families.flatMap((family) => explicit?.find((address) => address.family === family) ?? []);
    return {
      families,
      policy: families.length === 1 ? "SingleStack" : prefers ? "PreferDualStack" : "RequireDualStack",
      labels,
      sharing,
      pool,
      addresses: wanted.length === families.length ? wanted : undefined,
    };
  });

const service = fc.constantFrom(...SERVICES);

const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("write" as const), service, terms, isPatched: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("remove" as const), service }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("configure" as const), configuration }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("heed" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("tamper" as const), service, address: requested, pool: fc.constantFrom(...POOLS) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("changeLeader" as const),
      order: fc.shuffledSubarray(
        SERVICES.map((_, index) => index),
        { minLength: SERVICES.length },
      ),
    }),
  },
);

test(
  "for any history the allocator matches a linear search and wakes exactly the Services that could be served",
  () => {
    const property = fc.property(
      fc.boolean(),
      configuration,
      fc.array(step, { maxLength: 60, size: "max" }),
      (isPatient, { pools, broken }, steps) => {
        const cluster = new SimulatedCluster(POOLS, isPatient);
        cluster.configure(pools, broken);
        for (const step of steps) {
          // A Service is as old as its name.
          if (step.do === "write") cluster.write(step.service, { ...step.terms, second: SERVICES.indexOf(step.service) }, step.isPatched);
          else if (step.do === "remove") cluster.remove(step.service);
          else if (step.do === "configure") cluster.configure(step.configuration.pools, step.configuration.broken);
          else if (step.do === "heed") cluster.heed();
          else if (step.do === "tamper") cluster.tamper(step.service, { pool: step.pool, addresses: [step.address] });
          else cluster.changeLeader((key) => step.order[SERVICES.indexOf(key.slice("default/".length))] ?? 0);
        }
        cluster.converge();
      },
    );
    expect(() => fc.assert(property, RUNS)).not.toThrow();
  },
  timeout,
);
