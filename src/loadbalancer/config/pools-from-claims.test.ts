import { describe, expect, test } from "vitest";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { claimsOf } from "./claims.ts";
import type { Loaded, ConfigScope } from "./load.ts";
import { type ObjectAge, CLUSTER, load, pool, states } from "../testing/config-fixtures.ts";

const CONTROLLER: ConfigScope = { of: "controller" };
const ranges = ({ config }: Loaded, name: string) => config.pools.get(name)?.ranges.map(String);
const recorded = (claims: ObjectAge["claims"] = { "range/10.0.0.0-10.0.0.255": 0 }): ObjectAge => ({ generation: 2, claims });
const broken = (spec: Partial<IPAddressPool["spec"]> = {}, born = recorded()) => pool("p", ["10.0.0.0/240"], spec, born);

describe("where nothing is remembered of a pool that is wrong now", () => {
  test.each<ConfigScope>([CONTROLLER, CLUSTER, { of: "node", node: "n1" }])("it goes on with the ranges of its record, for %j", (view) => {
    const loaded = load({ pools: [broken({ autoAssign: false })] }, view);
    expect(states(loaded)).toEqual({ "IPAddressPool/p": "KeptPrevious" });
    expect(ranges(loaded, "p")).toEqual(["10.0.0.0-10.0.0.255"]);
    expect(loaded.config.pools.get("p")?.autoAssign).toBe(false);
    expect(loaded.failures).toMatchObject([{ rule: "A2", generation: 2 }]);
  });

  test("it goes on so, whatever is recorded afterwards", () => {
    const first = load({ pools: [broken()] }, CONTROLLER);
    const more = broken({}, recorded({ "range/10.0.0.0-10.0.0.255": 0, "range/10.0.7.0-10.0.7.255": 7 }));
    expect(ranges(load({ pools: [more] }, CONTROLLER, first.lastGood), "p")).toEqual(["10.0.0.0-10.0.0.255"]);
  });

  test("parts of different age are one range again, and what is wrong with whom it is for leaves it out", () => {
    const claims = { "range/10.0.0.0-10.0.0.127": 0, "range/10.0.0.128-10.0.0.255": 3, "range/2001:db8::-2001:db8::f": 3 };
    expect(ranges(load({ pools: [broken({}, recorded(claims))] }), "p")).toEqual(["10.0.0.0-10.0.0.255", "2001:db8::-2001:db8::f"]);
    const everyone = broken({ serviceAllocation: { namespaces: ["shop", "shop"] } });
    expect(states(load({ pools: [everyone] }))).toEqual({ "IPAddressPool/p": "Failed" });
  });

  test("an edit onto the addresses of another leaves both with what they had", () => {
    const claims = { "range/10.0.0.0-10.0.0.255": 0, "range/10.0.1.0-10.0.1.255": 5, "range/10.0.9.0-10.0.9.255": 5 };
    const pools = [
      pool("p", ["10.0.0.0/24", "10.0.1.0/24", "10.0.9.0/24"], {}, recorded(claims)),
      pool("q", ["10.0.1.0/24"], {}, { hour: 1, claims: { "range/10.0.1.0-10.0.1.255": 1 } }),
    ];
    const loaded = load({ pools }, CONTROLLER);
    expect(states(loaded)).toEqual({ "IPAddressPool/p": "KeptPrevious", "IPAddressPool/q": "Applied" });
    expect([ranges(loaded, "p"), ranges(loaded, "q")]).toEqual([["10.0.0.0-10.0.0.255"], ["10.0.1.0/24"]]);
  });

  test("it does not go on with what was never its own", () => {
    const never = { "range/10.0.1.0-10.0.1.255": 3, "range/10.0.9.0-10.0.9.255": 3 };
    const q = pool("q", ["10.0.1.0/24"], {}, { hour: 1, claims: { "range/10.0.1.0-10.0.1.255": 1 } });
    expect(states(load({ pools: [broken({}, recorded(never)), q] }))["IPAddressPool/p"]).toBe("Failed");
    const conditions = [
      { type: "Exhausted", status: "Unknown" as const, reason: "PoolInvalid", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ];
    const gaveNothing = { ...broken(), status: { ...broken().status, conditions } };
    expect(states(load({ pools: [gaveNothing] }))).toEqual({ "IPAddressPool/p": "Failed" });
    // What is wrong as a whole asks for nothing, so that none of it is recorded.
    expect(claimsOf({ kind: "IPAddressPool", object: pool("p", ["10.0.0.0/24", "nonsense"]) })).toEqual([]);
  });
});
