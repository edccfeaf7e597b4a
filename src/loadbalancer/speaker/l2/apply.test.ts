import { expect, test } from "vitest";
import { parseAddress } from "../../../ip/address.ts";
import { l2GratuitousSent, l2RequestsReceived, l2ResponsesSent } from "../../metrics.ts";
import { countRequest, countGratuitous, removeAddressMetrics } from "./apply.ts";

// Of no other test.
const vip = parseAddress("198.51.100.77");
const holding = { is: "holding", since: new Date(0), interfaces: ["eth0"] } as const;
const counts = async () =>
  Promise.all(
    [l2RequestsReceived, l2ResponsesSent, l2GratuitousSent].map(
      async (metric) => (await metric.get()).values.find(({ labels }) => labels["ip"] === String(vip))?.value,
    ),
  );

test("requests for an owned address on its interface count as received and answered until the address is released", async () => {
  countRequest(vip, { is: "probing" }, "eth0", 1);
  countRequest(vip, undefined, "eth0", 1);
  countRequest(vip, holding, "eth1", 1);
  expect(await counts()).toEqual([undefined, undefined, undefined]);
  countRequest(vip, holding, "eth0", 2);
  countRequest(vip, holding, "eth0", 3);
  countGratuitous(vip);
  expect(await counts()).toEqual([5, 5, 1]);
  removeAddressMetrics(vip);
  expect(await counts()).toEqual([undefined, undefined, undefined]);
});
