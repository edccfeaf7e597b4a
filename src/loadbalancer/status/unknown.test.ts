import { expect, test } from "vitest";
import { nodeOfReport, unknownConfigurationState, unknownServiceBGP, unknownServiceL2, unknownSession } from "./unknown.ts";

const silence = { node: "worker0", since: new Date("2026-11-15T10:30:00Z") };
const now = new Date("2026-11-15T10:31:00Z");
const metadata = { name: "x", annotations: { "plumbline.dev/node": "worker0" } };
const condition = (type: string) => ({
  type,
  status: "True" as const,
  reason: "Fine",
  message: "",
  lastTransitionTime: "2026-11-15T09:00:00Z",
});
const unknown = (type: string) => ({ type, status: "Unknown", reason: "AgentNotReporting", lastTransitionTime: "2026-11-15T10:31:00Z" });

test("the node of a status comes from its annotation, and the controller's has no node", () => {
  expect(nodeOfReport({ metadata })).toBe("worker0");
  expect(nodeOfReport({ metadata: { name: "controller" } })).toBeUndefined();
});

test("a ConfigurationState becomes Unknown and keeps its errors", () => {
  const marked = unknownConfigurationState(
    { metadata, status: { result: "Invalid", lastError: "x", conditions: [condition("Valid")] } },
    silence,
    now,
  );
  expect(marked).toMatchObject({ result: "Unknown", conditions: [unknown("Valid")] });
  expect(marked).not.toHaveProperty("lastError");
  expect(unknownConfigurationState({ metadata, status: marked as never }, silence, now)).toBeUndefined();
});

test("a session becomes Unknown, and its BFD state too if it has one", () => {
  const session = (bfdStatus: string) =>
    unknownSession({ metadata, status: { bgpStatus: "Established", bfdStatus, conditions: [condition("Reported")] } }, silence, now);
  expect(session("Up")).toMatchObject({ bgpStatus: "Unknown", bfdStatus: "Unknown", conditions: [unknown("Reported")] });
  expect(session("N/A")).toMatchObject({ bgpStatus: "Unknown", bfdStatus: "N/A" });
  expect(unknownSession({ metadata, status: session("N/A") as never }, silence, now)).toBeUndefined();
});

test("the announcements of a speaker that does not report become Unknown", () => {
  const bgp = unknownServiceBGP({ metadata, status: { bgpPeers: ["a"], conditions: [condition("Reported")] } }, silence, now);
  expect(bgp).toMatchObject({ conditions: [unknown("Reported")] });
  expect(unknownServiceBGP({ metadata, status: bgp as never }, silence, now)).toBeUndefined();
  const l2 = unknownServiceL2({ metadata, status: { node: "worker0", conditions: [condition("Announced")] } }, silence, now);
  expect(l2).toMatchObject({ conditions: [unknown("Announced"), unknown("HostProtected")] });
  expect(unknownServiceL2({ metadata, status: l2 as never }, silence, now)).toBeUndefined();
});
