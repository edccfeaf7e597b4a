import { expect, test } from "vitest";
import { noAddress, triedPools } from "./no-address.ts";

const tried = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ pool: `pool-${at}`, why: "all 4 IPv4 addresses are in use; none can be shared" }));

test.each([0, 1, 2, 8, 9, 200])("the text about %i pools names the first ones with their reasons", (count) => {
  const { noAddress: text } = noAddress("no available IPs in pool small for ipv4 IPFamily", tried(count));
  expect(triedPools(`No address: ${text}`)).toEqual(tried(Math.min(count, 8)));
});
