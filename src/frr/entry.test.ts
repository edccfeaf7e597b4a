import { expect, test } from "vitest";
import { describe as describeEntry, entriesOf, masked } from "./entry.ts";

const everywhere = () => ["bgpd"];

test.each([
  ["a newline", "hostname a\nrouter bgp 666"],
  ["a carriage return", "hostname a\rno router bgp"],
  ["a NUL", "hostname a\u0000no router bgp"],
  ["an escape", "hostname \u001b[2J"],
  ["a line separator", "hostname a\u2028b"],
  ["a C1 control", "hostname a\u0085b"],
  ["blanks around it", " hostname a"],
  ["nothing in it", ""],
  ["a comment in it", "! hostname"],
  ["an exit of its context", "exit"],
  ["an exit of its address family", "exit-address-family"],
  ["the end", "end"],
])("a line with %s is rejected", (_, line) => {
  expect(() => entriesOf([{ line }], everywhere)).toThrow(TypeError);
  expect(() =>
    entriesOf([{ line: "router bgp 1", inside: [{ line: "address-family ipv4 unicast", inside: [{ line }] }] }], everywhere),
  ).toThrow(TypeError);
});

test("a shared line is one entry per daemon", () => {
  expect(entriesOf([{ line: "hostname a" }], () => ["zebra", "bgpd"]).map(({ key }) => key)).toEqual([
    "zebra\nhostname a",
    "bgpd\nhostname a",
  ]);
});

test("passwords are masked wherever a line is shown", () => {
  expect(describeEntry({ path: ["router bgp 1"], line: "neighbor 10.0.0.1 password s3cret" })).toBe(
    "router bgp 1 / neighbor 10.0.0.1 password ***",
  );
  expect(masked("Unknown command: neighbor 10.0.0.1 password a b")).toBe("Unknown command: neighbor 10.0.0.1 password ***");
  expect(masked("Unknown command: password s3cret")).toBe("Unknown command: password ***");
  expect(masked("router isis a / area-password clear s3cret")).toBe("router isis a / area-password ***");
  expect(masked("password s3cret\nenable password s3cret")).toBe("password ***\nenable password ***");
});

test("a message of FRR about a password stays readable", () => {
  const text = "bgpd: cannot set the TCP MD5 password of 10.0.0.1: protocol not available";
  expect(masked(text)).toBe(text);
});
