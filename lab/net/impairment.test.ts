import { expect, test } from "vitest";
import { type EndState, stateText, statesIn } from "./impairment.ts";
import { DEFAULT_TOPOLOGY } from "./topology.ts";

const link = (ifname: string, { mtu = 1500, flags = ["UP"] } = {}) => ({ ifname, mtu, flags });
const netem = (dev: string, options: object) => ({ kind: "netem", dev, root: true, options: { limit: 1000, ...options } });
const printed = (...parts: object[][]) => parts.map((part) => `${JSON.stringify(part)}\n`).join("");

test("reads loss, delay, jitter, reordering and MTU from the output of ip and tc", () => {
  const all = netem("node1", {
    delay: { delay: 0.02, jitter: 0.005, correlation: 0 },
    "loss-random": { loss: 0.0499999, correlation: 0 },
    reorder: { reorder: 0.1, correlation: 0 },
  });
  const found = statesIn(printed([link("node1", { mtu: 1280 }), link("node2")], [all]));
  expect(found.get("node1")).toEqual({ lossPercent: 5, delayMs: 20, jitterMs: 5, reorderPercent: 10, mtu: 1280 });
  expect(found.get("node2")).toEqual({});
});

test("finds the NICs that a router took over in the router's namespace", () => {
  const text = printed([link("eth0")], [], [link("eth1", { flags: [] })], [netem("eth1", { "loss-random": { loss: 1 } })]);
  expect(statesIn(text).get("eth1")).toEqual({ lossPercent: 100, down: true });
});

test.each<[string, EndState, EndState]>([
  ["", {}, {}],
  ["loss 5%, mtu 1280", { lossPercent: 5, mtu: 1280 }, { lossPercent: 5, mtu: 1280 }],
  ["delay 20ms ± 5ms, reorder 10%", ...both({ delayMs: 20, jitterMs: 5, reorderPercent: 10 })],
  ["node1: good; tor: delay 20ms", {}, { delayMs: 20 }],
  ["down", { lossPercent: 5 }, { down: true }],
])("a link is shown as %j", (text, ...states) => {
  const found = DEFAULT_TOPOLOGY.links.find(({ name }) => name === "node1-tor");
  expect(found && stateText({ ...found, states })).toBe(text);
});

function both(state: EndState): [EndState, EndState] {
  return [state, state];
}
