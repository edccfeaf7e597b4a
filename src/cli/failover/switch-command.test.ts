import { expect, test } from "vitest";
import { policy } from "../testing/failover-fixtures.ts";
import { switchCommand } from "./switch-command.ts";

const shop = policy({});

test("the command has the same cluster options", () => {
  expect(switchCommand(shop, "secondary", {})).toBe("plumbline failover switch web -n shop --to secondary --wait");
  expect(switchCommand(shop, "primary", { kubeconfig: "/etc/sites", context: "east" })).toBe(
    "plumbline failover switch web -n shop --to primary --wait --kubeconfig /etc/sites --context east",
  );
  expect(switchCommand(shop, "primary", { dir: "here" })).toBe("plumbline failover switch web -n shop --to primary --wait --dir here");
});

test("arguments are quoted for a shell", () => {
  expect(switchCommand(shop, "primary", { context: "arn:aws:eks:eu/east" })).toMatch(/ --context arn:aws:eks:eu\/east$/);
  expect(switchCommand(shop, "primary", { context: "the east's" })).toMatch(/ --context 'the east'\\''s'$/);
});

test("the command of a forced switch keeps --force", () => {
  expect(switchCommand(shop, "primary", { force: true, reason: "no power" })).toBe(
    "plumbline failover switch web -n shop --to primary --force --reason 'no power' --wait",
  );
});
