import * as fc from "fast-check";
import { expect, test } from "vitest";
import { validValue } from "../../../test/api/generate.ts";
import { CUSTOM_KINDS } from "../crds/kinds.ts";
import { IPAddressPool } from "../metallb/ip-address-pool.ts";
import { L3VNI } from "../openpe/l3vni.ts";
import { admit } from "./validation.ts";

const meta = { apiVersion: "metallb.io/v1beta1", kind: "IPAddressPool", metadata: { name: "a" } };
const spec = { addresses: ["192.0.2.0/24"], autoAssign: true, avoidBuggyIPs: false };

test("a created object has its defaults, no status and no unknown fields", () => {
  expect(admit(IPAddressPool, { ...meta, spec: { addresses: ["192.0.2.0/24"], adresses: [] }, status: { services: 3 } })).toEqual({
    object: { ...meta, spec },
    errors: [],
    unknownFields: ["spec.adresses"],
  });
});

test("an L3VNI uses the default VXLAN port unless it sets one", () => {
  expect(admit(L3VNI, { spec: { vrf: "red", vni: 100 } }).object.spec.vxlanport).toBe(4789);
});

test("an update of the main resource keeps the existing status", () => {
  const old = { ...meta, spec, status: { services: 3 } };
  expect(admit(IPAddressPool, { ...meta, spec: { ...spec, autoAssign: false }, status: { services: 9 } }, { old }).object).toEqual({
    ...meta,
    spec: { ...spec, autoAssign: false },
    status: { services: 3 },
  });
});

test("a status update changes only the status", () => {
  const old = { ...meta, spec, status: { services: 3 } };
  const write = { old, subresource: "status" } as const;
  expect(admit(IPAddressPool, { ...meta, spec: { addresses: 5 }, status: { services: 9 } }, write)).toEqual({
    object: { ...meta, spec, status: { services: 9 } },
    errors: [],
    unknownFields: [],
  });
  expect(admit(IPAddressPool, { ...meta, spec }, write).object).toEqual({ ...meta, spec });
});

test.each(CUSTOM_KINDS.map((kind) => [kind.kind, kind] as const))("an admitted %s is admitted again unchanged", (_, kind) => {
  fc.assert(
    fc.property(validValue(kind.schema), (parts) => {
      const { object, errors } = admit(kind, parts as object);
      fc.pre(errors.length === 0);
      expect(admit(kind, object, { old: object })).toEqual({ object, errors: [], unknownFields: [] });
    }),
    { seed: 3, numRuns: 100 },
  );
});
