import { expect, test } from "vitest";
import { parseAddress } from "../../ip/address.ts";
import { sessionStatus, sessionStatusName, type SessionStateOrReason } from "./bgp-session-status.ts";

const peer = { name: "peer1", address: parseAddress("192.0.2.1"), vrf: "" };
const node = { name: "worker0", uid: "u1" };
const shown = (
  { status, create }: ReturnType<typeof sessionStatus>,
  held?: Parameters<Extract<typeof status, (...args: never) => unknown>>[0],
) => ({
  status: typeof status === "function" ? status(held) : status,
  create,
});
const statusOf = (spoken: SessionStateOrReason, more = {}) => shown(sessionStatus({ ...peer, ...more }, node, spoken)).status;

test("a BGPSessionStatus has FRR's words, and belongs to the Node", () => {
  const words = { state: "Established", bfd: "Up", since: "2026-11-15T10:00:00Z", lastResetReason: "Peer closed the session" };
  expect(sessionStatusName("worker0", "peer1", () => false)).toBe("worker0-peer1");
  expect(shown(sessionStatus({ ...peer, bfdProfile: "fast" }, node, words))).toEqual({
    status: {
      bgpStatus: "Established",
      bfdStatus: "Up",
      node: "worker0",
      peer: "peer1",
      address: "192.0.2.1",
      since: "2026-11-15T10:00:00Z",
      lastResetReason: "Peer closed the session",
      conditions: [{ type: "Reported", status: "True", reason: "AgentReports", message: "As reported by FRR" }],
    },
    create: {
      metadata: {
        labels: { "metallb.io/node": "worker0", "metallb.io/peer": "peer1" },
        annotations: { "plumbline.dev/node": "worker0" },
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "worker0", uid: "u1" }],
      },
    },
  });
});

test("a session in a VRF says which, and an unnumbered one its interface", () => {
  expect(statusOf({ state: "Active", bfd: "N/A" }, { vrf: "red" })).toMatchObject({ vrf: "red" });
  expect(statusOf({ state: "Active", bfd: "N/A" }, { address: undefined, interface: "eth0" })).toMatchObject({ address: "eth0" });
});

test("while FRR does not answer, or does not have it, the state is Unknown and the condition says why", () => {
  expect(statusOf("not-answering")).toMatchObject({
    bgpStatus: "Unknown",
    bfdStatus: "N/A",
    conditions: [{ status: "False", reason: "FRRUnavailable" }],
  });
  expect(statusOf("not-configured", { bfdProfile: "fast" })).toMatchObject({
    bgpStatus: "Unknown",
    bfdStatus: "Unknown",
    conditions: [{ status: "False", reason: "NotConfigured" }],
  });
});

const sinceOf = (said: string, held: { bgpStatus: string; since?: string }) =>
  shown(sessionStatus(peer, node, { state: "Established", bfd: "N/A", since: said }), held).status.since;

test("the moment it began stands still over a restart of ours, although FRR tells it in whole seconds", () => {
  const held = { bgpStatus: "Established", since: "2026-11-15T10:00:00Z" };
  for (const said of ["2026-11-15T09:59:59Z", "2026-11-15T10:00:00Z", "2026-11-15T10:00:01Z"]) expect(sinceOf(said, held)).toBe(held.since);
  expect(sinceOf("2026-11-15T10:00:02Z", held)).toBe("2026-11-15T10:00:02Z");
  expect(sinceOf("2026-11-15T10:00:01Z", { ...held, bgpStatus: "Active" })).toBe("2026-11-15T10:00:01Z");
  expect(sinceOf("2026-11-15T10:00:01Z", { bgpStatus: "Established" })).toBe("2026-11-15T10:00:01Z");
});

const word = (held: string, state: string) => shown(sessionStatus(peer, node, { state, bfd: "N/A" }), { bgpStatus: held }).status.bgpStatus;

test("a session that still does not come up keeps its word", () => {
  expect(word("Active", "Connect")).toBe("Active");
  expect(word("Established", "Connect")).toBe("Connect");
  expect(word("Active", "Established")).toBe("Established");
  expect(word("Active", "Idle (Admin)")).toBe("Idle (Admin)");
});
