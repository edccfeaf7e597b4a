import { beforeEach, expect, test } from "vitest";
import { parseAddress } from "../../ip/address.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { speakerAnnounced } from "../metrics.ts";
import { Tidings } from "./events.ts";

const told: string[] = [];
const events: Pick<EventRecorder, "record"> = {
  record: ({ kind, metadata }, { type, reason, message }) => void told.push(`${kind}/${metadata.name} ${type} ${reason}: ${message}`),
};
const vip = parseAddress("10.0.0.1");
const never = () => false;
const state = { metadata: { name: "speaker-a" } };
let tidings: Tidings;

beforeEach(() => {
  told.length = 0;
  speakerAnnounced.reset();
  tidings = new Tidings({ node: "a", events, state: () => state });
});

const announced = async () => (await speakerAnnounced.get()).values.map(({ labels }) => `${labels.protocol} ${labels.ip}`);

test("a beginning is told once, and again only after an end", async () => {
  for (let pass = 0; pass < 3; pass++) tidings.announced("shop/web", "u1", "bgp", [vip], never);
  const beginning = 'Service/web Normal nodeAssigned: announcing from node "a" with protocol "bgp"';
  expect(told).toEqual([beginning]);
  expect(await announced()).toEqual(["bgp 10.0.0.1"]);
  tidings.announced("shop/web", "u1", "bgp", [], never);
  expect(await announced()).toEqual([]);
  tidings.announced("shop/web", "u1", "bgp", [vip], () => true);
  expect(told).toEqual([beginning, beginning]);
});

test("what an earlier run of ours has told is not told again", () => {
  tidings.announced("shop/web", "u1", "layer2", [], () => true);
  tidings.announced("shop/web", "u1", "layer2", [vip], () => true);
  expect(told).toEqual([]);
});

test("of a Service that is gone nothing is kept in mind", () => {
  tidings.announced("shop/web", "u1", "bgp", [vip], never);
  refused("no such device");
  tidings.announced("shop/web", "u1", "bgp", [], never);
  tidings.forget("shop/web");
  told.length = 0;
  // An earlier run of ours may have told of a namesake: whoever asks knows whether that is so.
  tidings.announced("shop/web", "u2", "bgp", [vip], () => true);
  expect(told).toEqual([]);
  refused("no such device");
  expect(told).toHaveLength(1);
});

test("another address is no beginning, and its metric takes the place of the old one", async () => {
  tidings.announced("shop/web", "u1", "bgp", [vip], never);
  tidings.announced("shop/web", "u1", "bgp", [parseAddress("10.0.0.2")], never);
  expect(told).toHaveLength(1);
  expect(await announced()).toEqual(["bgp 10.0.0.2"]);
});

const refused = (...words: string[]) =>
  tidings.refused(
    "shop/web",
    "u1",
    words.map((text) => ({ is: "refused", words: text })),
  );

test("a refusal is told when it comes and when its words change", () => {
  for (let pass = 0; pass < 3; pass++) refused("none of eth7 is here");
  refused();
  refused("no such device");
  expect(told).toEqual([
    'Service/web Warning announceFailed: node "a" cannot announce with protocol "layer2": none of eth7 is here',
    'Service/web Warning announceFailed: node "a" cannot announce with protocol "layer2": no such device',
  ]);
});

test("a memory that cannot be written is told when it begins and when it ends", () => {
  const words = "/var/lib/plumbline/loadbalancer.json cannot be written: EROFS: read-only file system";
  for (const problem of [undefined, words, words, undefined, undefined, words]) tidings.memory(problem);
  const begun = `ConfigurationState/speaker-a Warning StateUnusable: Node a: ${words}; what is announced goes on, but the next agent would not know of it`;
  const over = "ConfigurationState/speaker-a Normal StateUsable: Node a: what the next agent must know is on the disk again";
  expect(told).toEqual([begun, over, begun]);
});

test("what was put right in FRR is told with its first lines", () => {
  tidings.drift([]);
  tidings.drift(["a", "b", "c", "d", "e", "f"]);
  expect(told).toEqual([
    'ConfigurationState/speaker-a Warning DriftRepaired: Node a: FRR had been changed by someone else; put right "a", "b", "c", "d", "e" and 1 more',
  ]);
});

test("candidates that are not heard are told when one more is, and not while it stays so", () => {
  for (const nodes of [[], ["b"], ["b"], ["b", "c"], ["c"], ["c"], ["b", "c"]]) tidings.strangers(nodes);
  const words = "arrives here; whether they live is told by their Leases alone, and taking over from them takes as long.";
  const warning = (nodes: string) =>
    expect.stringMatching(
      new RegExp(`^ConfigurationState/speaker-a Warning CandidateUnheard: Node a: no heartbeat of ${nodes} ${words}`),
    ) as string;
  expect(told).toEqual([warning("b"), warning("b, c"), warning("b, c")]);
});

test("of very many that are not heard some are named", () => {
  tidings.strangers(["b", "c", "d", "e", "f", "g", "h"]);
  expect(told).toEqual([expect.stringContaining("no heartbeat of b, c, d, e, f and 2 more arrives")]);
});
