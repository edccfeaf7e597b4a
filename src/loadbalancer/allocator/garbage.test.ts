import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Service } from "../../api/core/service.ts";
import { parseAddress } from "../../ip/address.ts";
import { addressRequestOf } from "../services/address-request.ts";
import { addresses, allocatorWith, pool, outcomeText, addressRequest } from "../testing/allocator-fixtures.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const RUNS = SOAK_MINUTES > 0 ? { seed: Date.now() % 1_000_000, numRuns: 1_000_000 } : { seed: 6, numRuns: 20_000 };
const timeout = SOAK_MINUTES > 0 ? 30 * 60_000 : 120_000;

const text = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    ",",
    "a",
    "b",
    "k",
    "None",
    "__proto__",
    "constructor",
    "10.0.0.1",
    "10.0.0.1,fc00::1",
    "10.0.0.255",
    "::ffff:10.0.0.9",
  ),
  fc.constantFrom(
    "10.0.0.1,10.0.0.1",
    "10.0.0.1/32",
    "10.0.0.1-10.0.0.2",
    "010.0.0.1",
    "fe80::1%eth0",
    "\n",
    "\u0000",
    "\u001b[2J",
    "١٢٣",
    "😀",
  ),
  fc.constantFrom("x".repeat(10_000), ",".repeat(10_000), "10.0.0.1,".repeat(1_000), "a\nb", "$(reboot)"),
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.ipV4(),
  fc.ipV6(),
);
const sometimes = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

/** Generates valid and invalid Services: each field is valid, missing or random. */
const services = fc.record({
  name: fc.constantFrom("s", "t", "u", "__proto__", "healthy-not"),
  annotations: fc.dictionary(
    fc.constantFrom(
      ...["metallb.io/", "metallb.universe.tf/"].flatMap((prefix) =>
        ["address-pool", "loadBalancerIPs", "allow-shared-ip", "ip-allocated-from-pool"].map((name) => prefix + name),
      ),
    ),
    text,
  ),
  created: fc.oneof(fc.constant("2026-01-01T00:00:00Z"), text),
  clusterIP: sometimes(fc.oneof(fc.constantFrom("10.96.0.1", "fd00::1"), text)),
  clusterIPs: sometimes(fc.oneof(fc.constant(["10.96.0.1", "fd00::1"]), fc.array(text, { maxLength: 3 }))),
  policy: sometimes(fc.oneof(fc.constantFrom("PreferDualStack", "RequireDualStack", "SingleStack"), text)),
  loadBalancerIP: sometimes(text),
  etp: sometimes(fc.constantFrom("Local", "Cluster")),
  selector: sometimes(fc.dictionary(text, text, { maxKeys: 2 })),
  ports: sometimes(fc.array(fc.record({ protocol: fc.oneof(fc.constant("TCP"), text), port: fc.double() }), { maxLength: 3 })),
  labels: sometimes(fc.dictionary(text, text, { maxKeys: 2 })),
  has: fc.array(fc.constantFrom("10.0.0.1", "10.0.0.7", "fc00::1", "192.0.2.1"), { maxLength: 2 }),
});

test(
  "a Service with random field values is served or rejected with a message, and no other Service is affected",
  () => {
    const { allocator } = allocatorWith(
      pool("a", ["10.0.0.0/28", "fc00::/126"], { avoidBuggyIPs: true }),
      pool("b", ["10.0.1.0/24"], { serviceSelectors: [{ matchLabels: { a: "b" } }] }),
    );
    const healthy = addressRequest("healthy", { families: [4, 6], policy: "RequireDualStack", since: -8.64e15 });
    const given = outcomeText(allocator.allocate(healthy));
    expect(given).toBe("a: 10.0.0.1 fc00::");

    let [served, rejected, unreadable] = [0, 0, 0];
    const property = fc.property(services, fc.boolean(), ({ name, has, ...written }, isGone) => {
      const service = {
        metadata: {
          name,
          namespace: "default",
          annotations: written.annotations,
          creationTimestamp: written.created,
          labels: written.labels,
        },
        spec: {
          type: "LoadBalancer",
          clusterIP: written.clusterIP,
          clusterIPs: written.clusterIPs,
          ipFamilyPolicy: written.policy,
          loadBalancerIP: written.loadBalancerIP,
          externalTrafficPolicy: written.etp,
          selector: written.selector,
          ports: written.ports,
        },
      } as unknown as Service;
      if (isGone) allocator.release(`default/${name}`);
      const read = addressRequestOf(service);
      if ("invalid" in read) {
        unreadable += 1;
        return /^(.|\n){1,600}$/.test(read.invalid.message) && read.invalid.reason !== "";
      }
      const claimed = has.length > 0 ? allocator.claim(read.request, addresses(...has)) : undefined;
      const outcome = claimed && !("noAddress" in claimed) ? claimed : allocator.allocate(read.request);
      if ("noAddress" in outcome) rejected += 1;
      else served += 1;
      return "noAddress" in outcome
        ? /^.{1,1000}$/.test(outcome.noAddress)
        : outcome.addresses.every((address) => parseAddress(address.toString()));
    });
    expect(() => fc.assert(property, RUNS)).not.toThrow();
    expect(outcomeText(allocator.allocationOf(healthy.key))).toBe(given);
    // The run reached each of the three outcomes.
    expect(Math.min(served, rejected, unreadable)).toBeGreaterThan(RUNS.numRuns / 100);
  },
  timeout,
);
