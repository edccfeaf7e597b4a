import { afterAll, beforeAll, expect, test } from "vitest";
import { changeAll } from "../../src/hostnet/change-all.ts";
import { nft } from "../../src/hostnet/nft.ts";
import { createNamespaces, ip, ipJson, type TestNamespaces } from "../support/namespaces.ts";

let namespaces: TestNamespaces;
let namespace: string;

beforeAll(() => {
  namespaces = createNamespaces(1);
  [namespace = ""] = namespaces.names;
  ip(namespace, "link add b0 type bridge", "link set b0 up");
});

afterAll(() => namespaces.remove());

const never = new AbortController().signal;
const args = (line: string) => line.split(" ");
const addresses = () =>
  (ipJson(namespace, "-4 addr show dev b0") as { addr_info?: { local: string }[] }[]).flatMap(({ addr_info: list = [] }) =>
    list.map(({ local }) => local),
  );

test("a rejected line does not affect the others, and each rejection has the kernel's message", async () => {
  const lines = [
    "addr add 192.0.2.1/32 dev b0",
    "addr add 192.0.2.2/32 dev b7",
    "addr del 192.0.2.3/32 dev b0",
    "addr add 192.0.2.4/32 dev b0",
  ];
  expect(await changeAll(lines.map(args), { signal: never, namespace })).toEqual(
    new Map([
      [1, 'Cannot find device "b7"'],
      [2, expect.stringMatching(/not found|Cannot assign/) as string],
    ]),
  );
  expect(addresses()).toEqual(["192.0.2.1", "192.0.2.4"]);
});

test("a thousand lines are one process, and no lines are none", async () => {
  const lines = Array.from({ length: 1_000 }, (_, at) => args(`addr add 198.18.${at >> 8}.${at & 255}/32 dev b0`));
  expect(await changeAll(lines, { signal: never, namespace })).toEqual(new Map());
  expect(addresses().filter((address) => address.startsWith("198.18.")).length).toBe(1_000);
  expect(await changeAll([], { signal: never, namespace: "plt-not-there" })).toEqual(new Map());
});

test("a line that ip cannot parse is an error, since the lines after it were not run", async () => {
  await expect(changeAll([args("addr add 192.0.2.300/32 dev b0")], { signal: never, namespace })).rejects.toMatchObject({
    name: "KernelError",
    code: "Rejected",
  });
});

test("distinguishes a missing namespace, a timeout and an abort", async () => {
  const line = [args("addr add 192.0.2.9/32 dev b0")];
  await expect(changeAll(line, { signal: never, namespace: "plt-not-there" })).rejects.toMatchObject({ code: "Unreachable" });
  await expect(changeAll([args("monitor link")], { signal: never, namespace, deadlineMs: 100 })).rejects.toMatchObject({
    code: "Timeout",
  });
  await expect(changeAll(line, { signal: AbortSignal.abort(new Error("enough")), namespace })).rejects.toThrow("enough");
});

test("nftables applies a ruleset as a whole or not at all, and reports the error", async () => {
  await nft("table inet one { chain c { }; }", { signal: never, namespace });
  await expect(nft("table inet two { }\nadd rule inet three c drop\n", { signal: never, namespace })).rejects.toMatchObject({
    code: "Rejected",
    text: expect.stringContaining("No such file or directory") as string,
  });
  await nft("delete table inet one", { signal: never, namespace });
  await expect(nft("delete table inet two", { signal: never, namespace })).rejects.toMatchObject({ code: "Rejected" });
  await expect(nft("", { signal: never, namespace: "plt-not-there" })).rejects.toThrow("plt-not-there");
});
