import { Address } from "../../src/ip/address.ts";
import { parsePrefix } from "../../src/ip/prefix.ts";
import { RANGES, reportOn } from "./filling.ts";

// Each address of a range is looked up from the first on, as MetalLB's controller does it, until one is not in use. What that one formats as text
// for each look is a number here.

const ranges = [parsePrefix(RANGES[4]), parsePrefix(RANGES[6])];
const used4 = new Set<number>();
const used6 = new Set<bigint>();
const services = new Map<number, { four: number; six: bigint }>();

const first = { four: Number(ranges[0]?.first.value), six: ranges[1]?.first.value ?? 0n };
const last = { four: Number(ranges[0]?.last.value), six: ranges[1]?.last.value ?? 0n };

function give(service: number, four: number, six: bigint): void {
  if (four > last.four || six > last.six) throw new Error("no available IPs");
  used4.add(four);
  used6.add(six);
  services.set(service, { four, six });
}

reportOn(
  {
    allocate(service) {
      let { four, six } = first;
      while (used4.has(four)) four += 1;
      while (used6.has(six)) six += 1n;
      give(service, four, six);
      return [new Address(4, BigInt(four)), new Address(6, six)].join(" ");
    },
    release(service) {
      const given = services.get(service);
      if (!given) return;
      used4.delete(given.four);
      used6.delete(given.six);
      services.delete(service);
    },
    fill: (service) => give(service, first.four + service, first.six + BigInt(service)),
  },
  20,
);
