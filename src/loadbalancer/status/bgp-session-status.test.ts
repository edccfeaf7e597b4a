import { expect, test } from "vitest";
import { parseAddress } from "../../ip/address.ts";
import { sessionStatus, sessionStatusName, type SessionStateOrReason } from "./bgp-session-status.ts";

const peer = { name: "peer1", address: parseAddress("192.0.2.1"), vrf: "" };
const node = { name: "worker0", uid: "u1" };
const rendered = (
  { status, create }: ReturnType<typeof sessionStatus>,
  existing?: Parameters<Extract<typeof status, (...args: never) => unknown>>[0],
) => ({
  status: typeof status === "function" ? status(existing) : status,
  create,
});
const statusOf = (spoken: SessionStateOrReason, more = {}) => rendered(sessionStatus({ ...peer, ...more }, node, spoken)).status;

test("a BGPSessionStatus has the states of FRR and the Node as its owner", () => {
  const session = { state: "Established", bfd: "Up", since: "2026-11-15T10:00:00Z", lastResetReason: "Peer closed the session" };
  expect(sessionStatusName("worker0", "peer1", () => false)).toBe("worker0-peer1");
  expect(rendered(sessionStatus({ ...peer, bfdProfile: "fast" }, node, session))).toEqual({
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

test("a session in a VRF has the VRF, and an unnumbered one its interface", () => {
  expect(statusOf({ state: "Active", bfd: "N/A" }, { vrf: "red" })).toMatchObject({ vrf: "red" });
  expect(statusOf({ state: "Active", bfd: "N/A" }, { address: undefined, interface: "eth0" })).toMatchObject({ address: "eth0" });
});

test("the state is Unknown with a reason while FRR does not answer or lacks the neighbor", () => {
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

const sinceOf = (since: string, existing: { bgpStatus: string; since?: string }) =>
  rendered(sessionStatus(peer, node, { state: "Established", bfd: "N/A", since }), existing).status.since;

test("the start time is stable over an agent restart, although FRR counts whole seconds", () => {
  const existing = { bgpStatus: "Established", since: "2026-11-15T10:00:00Z" };
  for (const since of ["2026-11-15T09:59:59Z", "2026-11-15T10:00:00Z", "2026-11-15T10:00:01Z"])
    expect(sinceOf(since, existing)).toBe(existing.since);
  expect(sinceOf("2026-11-15T10:00:02Z", existing)).toBe("2026-11-15T10:00:02Z");
  expect(sinceOf("2026-11-15T10:00:01Z", { ...existing, bgpStatus: "Active" })).toBe("2026-11-15T10:00:01Z");
  expect(sinceOf("2026-11-15T10:00:01Z", { bgpStatus: "Established" })).toBe("2026-11-15T10:00:01Z");
});

const stateAfter = (existing: string, state: string) =>
  rendered(sessionStatus(peer, node, { state, bfd: "N/A" }), { bgpStatus: existing }).status.bgpStatus;

test("a session that cycles without Established keeps its state", () => {
  expect(stateAfter("Active", "Connect")).toBe("Active");
  expect(stateAfter("Established", "Connect")).toBe("Connect");
  expect(stateAfter("Active", "Established")).toBe("Established");
  expect(stateAfter("Active", "Idle (Admin)")).toBe("Idle (Admin)");
});
