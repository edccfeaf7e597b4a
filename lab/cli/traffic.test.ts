import { expect, test } from "vitest";
import type { LabHost } from "../net/lab-host.ts";
import { Traffic } from "./traffic.ts";

/** Traffic whose ping says what a test has it say. */
function ping(): { traffic: Traffic; says: (text: string) => void; command: readonly string[] } {
  const process = { onOutput: (_chunk: Buffer) => undefined as void, kill: () => Promise.resolve() };
  let command: readonly string[] = [];
  const start = (args: readonly string[]) => {
    command = args;
    return process;
  };
  const traffic = new Traffic({
    label: "shop node1 → node2",
    host: { start } as unknown as LabHost,
    namespace: "shop",
    to: "10.110.0.12",
    everyMs: 100,
  });
  return { traffic, command, says: (text) => process.onOutput(Buffer.from(text)) };
}

const answer = (sequence: number) => `64 bytes from 10.110.0.12: icmp_seq=${sequence} ttl=64 time=0.21 ms\n`;
const silence = (sequence: number) => `no answer yet for icmp_seq=${sequence}\n`;

test("ping runs in the namespace, ten times a second", () => {
  expect(ping().command).toEqual(["ip", "netns", "exec", "shop", "ping", "-n", "-O", "-i", "0.1", "10.110.0.12"]);
});

test("an answered request is not lost, late or not, however the output is split", () => {
  const { traffic, says } = ping();
  says("PING 10.110.0.12 (10.110.0.12) 56(84) bytes of data.\n");
  says(answer(1) + silence(2) + answer(3).slice(0, 20));
  expect(traffic).toMatchObject({ lost: 1, answered: 1, milliseconds: undefined });
  says(answer(3).slice(20) + answer(2));
  expect(traffic).toMatchObject({ lost: 0, answered: 3, milliseconds: 0.21 });
});

test("unanswered requests are counted, also those that ping reports only as a sum", () => {
  const { traffic, says } = ping();
  says(answer(1) + answer(5));
  expect(traffic.lost).toBe(3);
});

test("a duplicate answer counts once", () => {
  const { traffic, says } = ping();
  says(answer(1) + answer(1).replace(" ms", " ms (DUP!)"));
  expect(traffic).toMatchObject({ lost: 0, answered: 1 });
});
