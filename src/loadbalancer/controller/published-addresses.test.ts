import { expect, test } from "vitest";
import { PublishedAddressIndex } from "./published-addresses.ts";

test("of two writes against one resourceVersion either may arrive, so the addresses of both count as published", () => {
  const gone: string[] = [];
  const visible = new PublishedAddressIndex((key) => gone.push(key));
  visible.send("shop/web", "1", ["192.0.2.0"]);
  visible.send("shop/web", "1", ["192.0.2.1"]);
  expect(visible.others("shop/next", "192.0.2.0")).toEqual(["shop/web"]);
  visible.wait("shop/next", "192.0.2.0");
  visible.observe("shop/web", "2", ["192.0.2.1"]);
  expect(visible.others("shop/next", "192.0.2.0")).toEqual([]);
  expect(gone).toEqual(["shop/next"]);
});

test("a write against an older resourceVersion can no longer arrive", () => {
  const visible = new PublishedAddressIndex(() => undefined);
  visible.send("shop/web", "1", ["192.0.2.0"]);
  visible.send("shop/web", "2", ["192.0.2.1"]);
  expect(visible.others("shop/next", "192.0.2.0")).toEqual([]);
});
