/** Of a failed check: how far the probe got. */
export const probeFailures = {
  ConnectError: "no connection, as for TCP",
  TLSError: "connected, but no TLS: a wrong, unknown or expired certificate, or a server without TLS",
  HTTPError: "no complete answer: the connection was closed, nothing came in time, or what came is not HTTP",
  UnexpectedStatus: "an answer with another status code",
  BodyMismatch: "the expected status code, but not the expected text",
};
export type ProbeFailure = keyof typeof probeFailures;

/** Of condition Reachable with status Unknown, with the program that sets it. */
export const unknownReasons = {
  NoResultYet: ["the source", "it has just started, or could not check so far"],
  InvalidTarget: ["the source", "the target is not a `host:port`"],
  InvalidProbe: ["the source", "annotation `plumbline.dev/probe` is not valid"],
  TargetRefused: ["the source", "an address that is allowed only with `--allow-target`"],
  SourceFault: ["the source", "it could not check three times in a row: out of descriptors, ports, threads or time"],
  NotObserved: ["the source", "its node's router has no path to observe: it does not run, has no such VRF, or see the message"],
  Retired: ["the source", "its mesh no longer requests it"],
  Stale: ["the controller", "the source does not report"],
};
export type UnknownReason = keyof typeof unknownReasons;

/** Of condition Ready of a mesh. */
export const meshReasons = {
  Complete: "every check exists",
  Creating: "checks are being created, twenty a second",
  Incomplete:
    "a part of the mesh has no checks: the Service does not exist or does not allow it, no pod matches, or a limit of the mesh or namespace is exceeded. The rest is in effect",
  NameTaken: "another object has the name of a check. It is not changed; delete or rename it",
  Unreadable: "(status Unknown) a namespace of the mesh cannot be read: access denied, or no answer. Its checks stay as they are",
  Refused: "the API server rejected a write, see the message; retried within a minute at first, later within five",
};
export type MeshReason = keyof typeof meshReasons;
