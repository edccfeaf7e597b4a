import { parsePrefix } from "../../src/ip/prefix.ts";
import { Allocator } from "../../src/loadbalancer/allocator/allocator.ts";
import type { AddressRequest } from "../../src/loadbalancer/services/address-request.ts";
import { RANGES, reportOn } from "./filling.ts";

const allocator = new Allocator({ onWake: () => {} });
const ranges = [parsePrefix(RANGES[4]), parsePrefix(RANGES[6])];
allocator.setPools([{ name: "edge", generation: 1, labels: {}, ranges, autoAssign: true, avoidBuggyIPs: false }], new Set());

const since = 0;
const request = (service: number): AddressRequest => ({
  key: `shop/service-${service}`,
  uid: String(service),
  since,
  namespace: "shop",
  labels: {},
  families: [4, 6],
  policy: "RequireDualStack",
  sharing: { key: "", backend: "", ports: ["TCP/80"] },
});

function allocate(service: number): string {
  const allocation = allocator.allocate(request(service));
  if ("noAddress" in allocation) throw new Error(allocation.noAddress);
  return allocation.addresses.join(" ");
}

reportOn(
  { allocate, release: (service) => allocator.release(`shop/service-${service}`), fill: (service) => void allocate(service) },
  1_000,
);
