import { expect, test } from "vitest";
import { parseAddress } from "../../../ip/address.ts";
import { deleteArgs, addOrRefreshArgs } from "./ip-address-commands.ts";

test("an address is added to the link of service addresses as deprecated source with a lifetime", () => {
  expect(addOrRefreshArgs(parseAddress("192.0.2.100")).join(" ")).toBe(
    "addr replace 192.0.2.100/32 dev plumbline-vip scope host valid_lft 25 preferred_lft 0 metric 26740",
  );
  expect(addOrRefreshArgs(parseAddress("2001:db8::100"), 120).join(" ")).toBe(
    "addr replace 2001:db8::100/128 dev plumbline-vip nodad noprefixroute valid_lft 120 preferred_lft 0 metric 26740",
  );
  expect(deleteArgs(parseAddress("192.0.2.100")).join(" ")).toBe("addr del 192.0.2.100/32 dev plumbline-vip");
  expect(deleteArgs(parseAddress("2001:db8::100"), "eth0").join(" ")).toBe("addr del 2001:db8::100/128 dev eth0");
});
