import { beforeEach, expect, test } from "vitest";
import { parseAddress } from "../../ip/address.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import { speakerAnnounced } from "../metrics.ts";
import { SpeakerEvents } from "./events.ts";

const recorded: string[] = [];
const events: Pick<EventRecorder, "record"> = {
  record: ({ kind, metadata }, { type, reason, message }) => void recorded.push(`${kind}/${metadata.name} ${type} ${reason}: ${message}`),
};
const vip = parseAddress("10.0.0.1");
const never = () => false;
const state = { metadata: { name: "speaker-a" } };
let speakerEvents: SpeakerEvents;

beforeEach(() => {
  recorded.length = 0;
  speakerAnnounced.reset();
  speakerEvents = new SpeakerEvents({ node: "a", events, state: () => state });
});

const announced = async () => (await speakerAnnounced.get()).values.map(({ labels }) => `${labels.protocol} ${labels.ip}`);

test("the start of an announcement is recorded once, and again only after an end", async () => {
  for (let pass = 0; pass < 3; pass++) speakerEvents.announced("shop/web", "u1", "bgp", [vip], never);
  const beginning = 'Service/web Normal nodeAssigned: announcing from node "a" with protocol "bgp"';
  expect(recorded).toEqual([beginning]);
  expect(await announced()).toEqual(["bgp 10.0.0.1"]);
  speakerEvents.announced("shop/web", "u1", "bgp", [], never);
  expect(await announced()).toEqual([]);
  speakerEvents.announced("shop/web", "u1", "bgp", [vip], () => true);
  expect(recorded).toEqual([beginning, beginning]);
});

test("Events of an earlier run are not recorded again", () => {
  speakerEvents.announced("shop/web", "u1", "layer2", [], () => true);
  speakerEvents.announced("shop/web", "u1", "layer2", [vip], () => true);
  expect(recorded).toEqual([]);
});

test("a deleted Service leaves no state", () => {
  speakerEvents.announced("shop/web", "u1", "bgp", [vip], never);
  rejected("no such device");
  speakerEvents.announced("shop/web", "u1", "bgp", [], never);
  speakerEvents.forget("shop/web");
  recorded.length = 0;
  // An earlier run may have recorded it for a Service of the same name: the caller knows.
  speakerEvents.announced("shop/web", "u2", "bgp", [vip], () => true);
  expect(recorded).toEqual([]);
  rejected("no such device");
  expect(recorded).toHaveLength(1);
});

test("another address is no new start, and its metric replaces the old one", async () => {
  speakerEvents.announced("shop/web", "u1", "bgp", [vip], never);
  speakerEvents.announced("shop/web", "u1", "bgp", [parseAddress("10.0.0.2")], never);
  expect(recorded).toHaveLength(1);
  expect(await announced()).toEqual(["bgp 10.0.0.2"]);
});

const rejected = (...messages: string[]) =>
  speakerEvents.announceFailed(
    "shop/web",
    "u1",
    messages.map((text) => ({ is: "failed", message: text })),
  );

test("a failure is recorded when it starts and when its message changes", () => {
  for (let pass = 0; pass < 3; pass++) rejected("none of eth7 is here");
  rejected();
  rejected("no such device");
  expect(recorded).toEqual([
    'Service/web Warning announceFailed: node "a" cannot announce with protocol "layer2": none of eth7 is here',
    'Service/web Warning announceFailed: node "a" cannot announce with protocol "layer2": no such device',
  ]);
});

test("a state file that cannot be written is recorded when that starts and when it ends", () => {
  const readOnly = "/var/lib/plumbline/loadbalancer.json cannot be written: EROFS: read-only file system";
  for (const problem of [undefined, readOnly, readOnly, undefined, undefined, readOnly]) speakerEvents.memory(problem);
  const begun = `ConfigurationState/speaker-a Warning StateFileError: Node a: ${readOnly}; announcements continue, but the next agent starts without this state`;
  const over = "ConfigurationState/speaker-a Normal StateUsable: Node a: the state file can be written again";
  expect(recorded).toEqual([begun, over, begun]);
});

test("repaired drift in FRR is recorded with its first lines", () => {
  speakerEvents.drift([]);
  speakerEvents.drift(["a", "b", "c", "d", "e", "f"]);
  expect(recorded).toEqual([
    'ConfigurationState/speaker-a Warning DriftRepaired: Node a: FRR configuration drift repaired: "a", "b", "c", "d", "e" and 1 more',
  ]);
});

test("candidates without heartbeats are recorded when there is a new one, and not repeated", () => {
  for (const nodes of [[], ["b"], ["b"], ["b", "c"], ["c"], ["c"], ["b", "c"]]) speakerEvents.strangers(nodes);
  const advice = "failover falls back to Leases and is slower. Open UDP port 7947 between nodes";
  const warning = (nodes: string) =>
    expect.stringMatching(
      new RegExp(`^ConfigurationState/speaker-a Warning HeartbeatsMissing: Node a: no heartbeats from ${nodes}; ${advice}$`),
    ) as string;
  expect(recorded).toEqual([warning("b"), warning("b, c"), warning("b, c")]);
});

test("names the first of many candidates without heartbeats", () => {
  speakerEvents.strangers(["b", "c", "d", "e", "f", "g", "h"]);
  expect(recorded).toEqual([expect.stringContaining("no heartbeats from b, c, d, e, f and 2 more; ")]);
});
