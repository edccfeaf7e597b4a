import type { Underlay } from "../../api/openpe/underlay.ts";
import type { Observed, Password } from "../observed.ts";
import { seconds } from "../../util/duration.ts";
import { passwordProblem } from "../../frr/password.ts";
import { quote } from "../../ip/error.ts";
import { AS_NUMBER, type Complaint, complaintIf, numberComplaints } from "./field-error.ts";
import { readAddress, unusable } from "./networks.ts";

export type Neighbor = NonNullable<Underlay["spec"]["neighbors"]>[number];

/** U8, U9 and everything about each neighbor. */
export function neighborComplaints(neighbors: readonly Neighbor[], passwords: Observed["passwords"]): Complaint[] {
  if (neighbors.length === 0) return [{ field: "spec.neighbors", message: "neighbors is empty; the router needs at least one" }];
  const first = new Map<string, number>();
  return neighbors.flatMap((neighbor, nth) => {
    const field = `spec.neighbors[${nth}]`;
    const address = readAddress("Neighbor address", neighbor.address);
    const complaints = "complaint" in address ? [{ field: `${field}.address`, message: address.complaint }] : [];
    if ("value" in address) {
      const text = address.value.toString();
      const why = unusable(address.value);
      const twin = first.get(text);
      if (why) complaints.push({ field: `${field}.address`, message: `Neighbor address ${text} ${why}` });
      if (twin !== undefined) {
        complaints.push({ field: `${field}.address`, message: `Neighbor address ${text} stands in spec.neighbors[${twin}] as well` });
      }
      first.set(text, twin ?? nth);
    }
    return [
      ...complaints,
      ...numberComplaints(`${field}.asn`, "AS number", neighbor.asn, AS_NUMBER.min, AS_NUMBER.max),
      ...(neighbor.port === undefined ? [] : numberComplaints(`${field}.port`, "Port", neighbor.port, 0, 65_535)),
      ...timerComplaints(field, neighbor),
      ...passwordComplaints(field, neighbor, passwords),
      ...bfdComplaints(`${field}.bfd`, neighbor.bfd),
    ];
  });
}

function timerComplaints(field: string, { holdTime, keepaliveTime, connectTime }: Neighbor): Complaint[] {
  const complaints: Complaint[] = [];
  const duration = (name: string, text: string | undefined) => {
    const value = seconds(text);
    if (text !== undefined && value === undefined)
      complaints.push({ field: `${field}.${name}`, message: `${name} ${quote(text)} is no length of time such as 30s` });
    return value;
  };
  const hold = duration("holdTime", holdTime);
  const keepalive = duration("keepaliveTime", keepaliveTime);
  const connect = duration("connectTime", connectTime);
  return [
    ...complaints,
    ...complaintIf(
      (holdTime === undefined) !== (keepaliveTime === undefined),
      `${field}.${holdTime === undefined ? "holdTime" : "keepaliveTime"}`,
      () => "holdTime and keepaliveTime go together; give both or none",
    ),
    ...complaintIf(
      hold !== undefined && hold !== 0 && (hold < 3 || hold >= 65_536),
      `${field}.holdTime`,
      () => `holdTime ${holdTime} is neither 0 nor 3s to 65535s`,
    ),
    ...complaintIf(
      keepalive !== undefined && (keepalive < 0 || keepalive >= 65_536),
      `${field}.keepaliveTime`,
      () => `keepaliveTime ${keepaliveTime} is not 0s to 65535s`,
    ),
    ...complaintIf(
      hold !== undefined && keepalive !== undefined && keepalive > hold,
      `${field}.keepaliveTime`,
      () => `keepaliveTime ${keepaliveTime} is longer than holdTime ${holdTime}`,
    ),
    ...complaintIf(
      connect !== undefined && !(Number.isInteger(connect) && connect >= 1 && connect <= 65_535),
      `${field}.connectTime`,
      () => `connectTime ${connectTime} is not 1s to 65535s in whole seconds`,
    ),
  ];
}

/** The password of the session, where one is asked for and usable. */
export function passwordOf({ password, passwordSecret }: Neighbor, passwords: Observed["passwords"]): string | undefined {
  if (!passwordSecret) return password || undefined;
  const read = passwords.get(passwordSecret);
  return read && "password" in read ? read.password : undefined;
}

const SECRET_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

function passwordComplaints(field: string, { password, passwordSecret }: Neighbor, passwords: Observed["passwords"]): Complaint[] {
  if (password && passwordSecret) return [{ field: `${field}.passwordSecret`, message: "Give password or passwordSecret, not both" }];
  if (password) return textComplaints(`${field}.password`, "Password", password);
  if (!passwordSecret) return [];
  if (!SECRET_NAME.test(passwordSecret)) {
    return [{ field: `${field}.passwordSecret`, message: `passwordSecret ${quote(passwordSecret)} can be no name of a Secret` }];
  }
  const read: Password = passwords.get(passwordSecret) ?? { problem: `Secret ${passwordSecret} has not been read yet` };
  const complaints =
    "problem" in read ? [{ field: "", message: read.problem }] : textComplaints("", `Password in Secret ${passwordSecret}`, read.password);
  return complaints.map(({ message }) => ({ field: `${field}.passwordSecret`, message, transient: true }));
}

function textComplaints(field: string, words: string, password: string): Complaint[] {
  const problem = passwordProblem(password);
  return problem === undefined ? [] : [{ field, message: `${words} ${problem}` }];
}

const BFD: readonly [Exclude<keyof NonNullable<Neighbor["bfd"]>, "echoMode" | "passiveMode">, number, number][] = [
  ["receiveInterval", 10, 60_000],
  ["transmitInterval", 10, 60_000],
  ["echoInterval", 10, 60_000],
  ["detectMultiplier", 2, 255],
  ["minimumTtl", 1, 254],
];

function bfdComplaints(field: string, bfd: Neighbor["bfd"]): Complaint[] {
  if (!bfd) return [];
  return BFD.flatMap(([name, min, max]) =>
    bfd[name] === undefined ? [] : numberComplaints(`${field}.${name}`, name, bfd[name], min, max),
  );
}
