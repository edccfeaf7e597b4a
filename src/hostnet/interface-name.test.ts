import { expect, test } from "vitest";
import { interfaceNameProblem } from "./interface-name.ts";

test.each(["e", "eth0", "eth0.100", "br-shop", "enp1s0f0np0_a-b", "x".repeat(15)])("%s can be the name of an interface", (name) => {
  expect(interfaceNameProblem(name)).toBeUndefined();
});

test.each(["", "0eth", "-h", "eth 0", "eth0\n", "a/b", "a:b", ".", "é", "eth0;reboot", "x".repeat(16)])("%j cannot", (name) => {
  expect(interfaceNameProblem(name)).toMatch(/^(must start with a letter|has more than 15 characters)/);
});
