import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseAddress } from "../../ip/address.ts";
import { createLog } from "../../kube/log.ts";
import { StateError } from "../../resilience/state-file.ts";
import { SpeakerStateStore } from "./stored-decisions.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "plumbline-memory-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = () => new SpeakerStateStore(directory, createLog({ level: "silent" }));
const lastGood = new Map([["BGPPeer/tor", { uid: "u1", generation: 2, spec: { password: "s3cret" } }]]);
const applied = [{ owner: "BGPPeer/tor", lines: [{ line: "router bgp 64513", inside: [{ line: "neighbor 192.0.2.1 remote-as 64512" }] }] }];
const addresses = [{ address: parseAddress("10.0.0.1"), service: "shop/web", candidates: ["a", "b"], interfaces: ["eth0"] }];
const heartbeats = new Map([
  ["b", "silent"],
  ["c", "heard"],
] as const);

test("a new node has no stored state", async () => {
  expect([await open().lastGood(), await open().applied(), await open().addresses()]).toEqual([new Map(), [], []]);
});

test("the next agent reads the state of the previous one", async () => {
  const state = open();
  await state.keep({ lastGood, applied });
  await state.keep({ addresses });
  await state.keep({ pulses: heartbeats });
  expect([await open().lastGood(), await open().applied(), await open().addresses()]).toEqual([lastGood, applied, addresses]);
  expect(await open().pulses()).toEqual(heartbeats);
  expect(statSync(join(directory, "loadbalancer.json")).mode & 0o777).toBe(0o600);
});

test("unchanged state is not written again", async () => {
  const state = open();
  await state.keep({ lastGood, applied, addresses });
  const { ino } = statSync(join(directory, "loadbalancer.json"));
  await state.keep({ lastGood: new Map(lastGood), addresses: [...addresses] });
  expect(statSync(join(directory, "loadbalancer.json")).ino).toBe(ino);
});

test("concurrent writes are all kept", async () => {
  const state = open();
  await Promise.all([state.keep({ lastGood }), state.keep({ applied }), state.keep({ addresses })]);
  expect([await open().lastGood(), await open().applied(), await open().addresses()]).toEqual([lastGood, applied, addresses]);
});

test("a directory that cannot be written is an error with its path, and the write is retried", async () => {
  const state = open();
  mkdirSync(join(directory, "loadbalancer.json.new", "in-the-way"), { recursive: true });
  expect(state.problem).toBeUndefined();
  await expect(state.keep({ lastGood })).rejects.toBeInstanceOf(StateError);
  expect(state.problem).toContain(`${join(directory, "loadbalancer.json")} cannot be written: `);
  rmSync(join(directory, "loadbalancer.json.new"), { recursive: true });
  await state.keep({ addresses });
  expect(state.problem).toBeUndefined();
  expect(readFileSync(join(directory, "loadbalancer.json"), "utf8")).toContain("BGPPeer/tor");
});

test("a file that cannot be read is a problem until it can be", async () => {
  const state = open();
  mkdirSync(join(directory, "loadbalancer.json"), { recursive: true });
  await expect(state.lastGood()).rejects.toBeInstanceOf(StateError);
  expect(state.problem).toContain("cannot be read");
  rmSync(join(directory, "loadbalancer.json"), { recursive: true });
  await state.lastGood();
  expect(state.problem).toBeUndefined();
});
