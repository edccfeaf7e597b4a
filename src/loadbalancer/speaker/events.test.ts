import { beforeEach, expect, test } from "vitest";
import { parseAddress } from "../../ip/address.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { speakerAnnounced } from "../metrics.ts";
import { SpeakerEvents } from "./events.ts";

const told: string[] = [];
const events: Pick<EventRecorder, "record"> = {
  record: ({ kind, metadata }, { type, reason, message }) => void told.push(`${kind}/${metadata.name} ${type} ${reason}: ${message}`),
};
const vip = parseAddress("10.0.0.1");
const never = () => false;
const state = { metadata: { name: "speaker-a" } };
let tidings: SpeakerEvents;

beforeEach(() => {
  told.length = 0;
  speakerAnnounced.reset();
  tidings = new SpeakerEvents({ node: "a", events, state: () => state });
});

const announced = async () => (await speakerAnnounced.get()).values.map(({ labels }) => `${labels.protocol} ${labels.ip}`);

test("the start of an announcement is recorded once, and again only after an end", async () => {
  for (let pass = 0; pass < 3; pass++) tidings.announced("shop/web", "u1", "bgp", [vip], never);
  const beginning = 'Service/web Normal nodeAssigned: announcing from node "a" with protocol "bgp"';
  expect(told).toEqual([beginning]);
  expect(await announced()).toEqual(["bgp 10.0.0.1"]);
  tidings.announced("shop/web", "u1", "bgp", [], never);
  expect(await announced()).toEqual([]);
  tidings.announced("shop/web", "u1", "bgp", [vip], () => true);
  expect(told).toEqual([beginning, beginning]);
});

test("Events of an earlier run are not recorded again", () => {
  tidings.announced("shop/web", "u1", "layer2", [], () => true);
  tidings.announced("shop/web", "u1", "layer2", [vip], () => true);
  expect(told).toEqual([]);
});

test("of a Service that is gone nothing is kept in mind", () => {
  tidings.announced("shop/web", "u1", "bgp", [vip], never);
  rejected("no such device");
  tidings.announced("shop/web", "u1", "bgp", [], never);
  tidings.forget("shop/web");
  told.length = 0;
  // An earlier run of ours may have told of a namesake: whoever asks knows whether that is so.
  tidings.announced("shop/web", "u2", "bgp", [vip], () => true);
  expect(told).toEqual([]);
  rejected("no such device");
  expect(told).toHaveLength(1);
});

test("another address is no beginning, and its metric takes the place of the old one", async () => {
  tidings.announced("shop/web", "u1", "bgp", [vip], never);
  tidings.announced("shop/web", "u1", "bgp", [parseAddress("10.0.0.2")], never);
  expect(told).toHaveLength(1);
  expect(await announced()).toEqual(["bgp 10.0.0.2"]);
});

const rejected = (...words: string[]) =>
  tidings.refused(
    "shop/web",
    "u1",
    words.map((text) => ({ is: "refused", words: text })),
  );

test("a failure is recorded when it starts and when its message changes", () => {
  for (let pass = 0; pass < 3; pass++) rejected("none of eth7 is here");
  rejected();
  rejected("no such device");
  expect(told).toEqual([
    'Service/web Warning announceFailed: node "a" cannot announce with protocol "layer2": none of eth7 is here',
    'Service/web Warning announceFailed: node "a" cannot announce with protocol "layer2": no such device',
  ]);
});

test("a state file that cannot be written is recorded when that starts and when it ends", () => {
  const words = "/var/lib/plumbline/loadbalancer.json cannot be written: EROFS: read-only file system";
  for (const problem of [undefined, words, words, undefined, undefined, words]) tidings.memory(problem);
  const begun = `ConfigurationState/speaker-a Warning StateFileError: Node a: ${words}; announcements continue, but the next agent starts without this state`;
  const over = "ConfigurationState/speaker-a Normal StateUsable: Node a: the state file can be written again";
  expect(told).toEqual([begun, over, begun]);
});

test("repaired drift in FRR is recorded with its first lines", () => {
  tidings.drift([]);
  tidings.drift(["a", "b", "c", "d", "e", "f"]);
  expect(told).toEqual([
    'ConfigurationState/speaker-a Warning DriftRepaired: Node a: FRR configuration drift repaired: "a", "b", "c", "d", "e" and 1 more',
  ]);
});

test("candidates without heartbeats are recorded when there is a new one, and not repeated", () => {
  for (const nodes of [[], ["b"], ["b"], ["b", "c"], ["c"], ["c"], ["b", "c"]]) tidings.strangers(nodes);
  const words = "failover falls back to Leases and is slower. Open UDP port 7947 between nodes";
  const warning = (nodes: string) =>
    expect.stringMatching(
      new RegExp(`^ConfigurationState/speaker-a Warning HeartbeatsMissing: Node a: no heartbeats from ${nodes}; ${words}$`),
    ) as string;
  expect(told).toEqual([warning("b"), warning("b, c"), warning("b, c")]);
});

test("of many candidates without heartbeats the first are named", () => {
  tidings.strangers(["b", "c", "d", "e", "f", "g", "h"]);
  expect(told).toEqual([expect.stringContaining("no heartbeats from b, c, d, e, f and 2 more; ")]);
});
