import { expect, test } from "vitest";
import type { LabHost } from "../net/lab-host.ts";
import type { ConnectAttempt } from "../services/connect.ts";
import { Connections } from "./connections.ts";

function client() {
  const inputs: string[] = [];
  const process = {
    onOutput: (_chunk: Buffer) => undefined as void,
    input: (line: string) => void inputs.push(line),
    kill: () => Promise.resolve(),
  };
  const attempts: ConnectAttempt[] = [];
  const host = { start: () => process } as unknown as LabHost;
  const connections = new Connections({ host, everyMs: 100, onAttempt: (attempt) => attempts.push(attempt) });
  return { connections, attempts, inputs, says: (text: string) => process.onOutput(Buffer.from(text)) };
}

const web = { name: "default/web", address: "10.200.0.1", port: 80 };

test("the client gets its targets once, and again when they change", () => {
  const { connections, inputs } = client();
  connections.aim([]);
  connections.aim([web]);
  connections.aim([web]);
  connections.aim([]);
  expect(inputs).toEqual([`[${JSON.stringify(web)}]\n`, "[]\n"]);
});

test("attempts are counted by target, however the output is split", () => {
  const { connections, attempts, says } = client();
  const ok = JSON.stringify({ name: "default/web", at: 1, ms: 2, by: "web-1" });
  const failed = JSON.stringify({ name: "default/web", at: 101, ms: 2500, why: "no answer" });
  says(ok.slice(0, 9));
  says(`${ok.slice(9)}\n${failed}\n`);
  expect(connections.tally("default/web")).toEqual({
    ok: 1,
    failed: 1,
    last: { name: "default/web", at: 101, ms: 2500, why: "no answer" },
  });
  expect(connections.tally("default/wiki")).toEqual({ ok: 0, failed: 0 });
  expect(attempts.map(({ by }) => by)).toEqual(["web-1", undefined]);
});

test("failures count from the first success on", () => {
  const { connections, says } = client();
  const attempt = (result: { by: string } | { why: string }) =>
    says(`${JSON.stringify({ name: "default/web", at: 1, ms: 2, ...result })}\n`);
  attempt({ why: "no route to host" });
  expect(connections.tally("default/web")).toMatchObject({ ok: 0, failed: 0, last: { why: "no route to host" } });
  attempt({ by: "web-1" });
  attempt({ why: "no answer" });
  expect(connections.tally("default/web")).toMatchObject({ ok: 1, failed: 1 });
});
