import { expect, test } from "vitest";
import { idOf, type Thing } from "../../api/health.ts";
import type { Answer, Cause, Verdict } from "../../explain/answer.ts";
import { plain } from "../print/color.ts";
import { clusterStatus, drawStatus } from "./draw-status.ts";
import { drawAnswer, drawCauses } from "../explaining/draw-why.ts";
import { exitCodeFor } from "../explaining/options.ts";

const NOW = Date.parse("2026-11-16T12:02:00Z");
const since = "2026-11-16T12:00:00Z";

function verdict(thing: Thing, more: Partial<Verdict> = {}): Verdict {
  return { id: idOf(thing), thing, domain: "router", health: "Down", since, ...more };
}

const healthy = (thing: Thing) => verdict(thing, { health: "Healthy" });

const link: Verdict = verdict(
  { kind: "Link", name: "eth1", node: "node2" },
  { reason: "NoCarrier", message: "The other end is down", remedy: { text: "see to the cable", command: "ip link show eth1" } },
);
const session: Verdict = verdict({ kind: "Session", name: "192.168.11.2", node: "node2" }, { message: "It is Connect" });
const vni: Verdict = verdict({ kind: "L3VNI", namespace: "router", name: "red" }, { health: "Degraded" });
const cause: Cause = { ...link, symptoms: [session, vni] };

test("an answer goes from the symptom to the cause and ends with what to do", () => {
  const answer: Answer = {
    path: {
      ...vni,
      cause: false,
      needs: [{ ...session, cause: false, needs: [{ ...link, cause: true, needs: [] }] }],
    },
    causes: [cause],
  };
  expect(drawAnswer(answer, NOW, plain)).toEqual([
    "L3VNI router/red is Degraded for 2m",
    "└─ Session 192.168.11.2 on node2 is Down for 2m: It is Connect",
    "   └─ Link eth1 on node2 is Down for 2m: NoCarrier: The other end is down  ← cause",
    "",
    "The cause is Link eth1 on node2.",
    "To mend: see to the cable",
    "Run:     ip link show eth1",
  ]);
});

test("what is well is said to be, and nothing more", () => {
  const path = { ...verdict({ kind: "Node", name: "node1" }, { health: "Healthy" }), cause: false, needs: [] };
  expect(drawAnswer({ path, causes: [] }, NOW, plain)).toEqual(["Node node1 is Healthy for 2m"]);
});

test("causes come with their symptoms under them, many are counted", () => {
  const many = Array.from({ length: 10 }, (_, at) => verdict({ kind: "Service", namespace: "shop", name: `s${at}` }));
  const change = { thing: { kind: "L2VNI", namespace: "router", name: "shop" }, field: "spec.vni" };
  const own = verdict({ kind: "L2VNI", namespace: "router", name: "shop" }, { remedy: { text: "choose another", change } });
  const lines = drawCauses(
    [
      { ...cause, symptoms: many },
      { ...own, symptoms: [] },
    ],
    NOW,
    plain,
  );
  expect(lines.slice(0, 2)).toEqual([
    "Link eth1 on node2 is Down for 2m: NoCarrier: The other end is down",
    "  → Service shop/s0 is Down for 2m",
  ]);
  expect(lines.slice(9)).toEqual([
    "  → and 2 more",
    "  To mend: see to the cable",
    "  Run:     ip link show eth1",
    "",
    "L2VNI router/shop is Down for 2m",
    "  To mend: choose another",
    "  Change:  L2VNI router/shop, spec.vni",
  ]);
  expect(drawCauses([], NOW, plain)).toEqual(["Nothing is wrong."]);
});

test("the status has the domains, the worst nodes first, and what is to blame", () => {
  const all = [link, session, vni, healthy({ kind: "Node", name: "node1" }), healthy({ kind: "Link", name: "eth1", node: "node1" })];
  expect(drawStatus(clusterStatus(all, [cause]), NOW, plain)).toEqual([
    "Router   Down   1 L3VNI (1 not well)",
    "",
    "NODE    ROUTER",
    "node2   Down",
    "node1   Healthy",
    "",
    "Wrong now, what is to blame:",
    "  Link eth1 on node2 is Down for 2m: NoCarrier: The other end is down (and 2 because of it)",
    "",
    "What to do about it: plumbline why",
  ]);
});

test("of 500 nodes one screen shows the worst, and counts the others", () => {
  const nodes = Array.from({ length: 500 }, (_, at) =>
    verdict({ kind: "Link", name: "eth1", node: `n${at}` }, { health: at === 321 ? "Down" : "Healthy" }),
  );
  const vnis = [verdict({ kind: "L3VNI", namespace: "router", name: "red" }, { health: "Degraded" })];
  const lines = drawStatus(clusterStatus([...nodes, ...vnis], []), NOW, plain);
  expect(lines[3]).toBe("n321   Down");
  expect(lines).toContain("and 488 more nodes, all of them healthy");
  expect(lines.length).toBeLessThan(24);
});

test("where not everything could be read, nobody is told that nothing is wrong", () => {
  expect(drawCauses([], NOW, plain)).toEqual(["Nothing is wrong."]);
  expect(drawCauses([], NOW, plain, false)).toEqual(["Nothing is wrong in what could be read."]);
  expect(drawStatus(clusterStatus([healthy({ kind: "L3VNI", name: "red" })], []), NOW, plain, false).at(-1)).toBe(
    "Nothing is wrong in what could be read.",
  );
  const unread = [{ kind: "BGPPeer", why: "forbidden" }];
  expect([exitCodeFor(false, { unread: [] }), exitCodeFor(true, { unread }), exitCodeFor(false, { unread })]).toEqual([0, 1, 3]);
});
