import type { NeighborSpec, UnderlaySpec } from "../model/specs.ts";
import type { ObservedNode, Password } from "../model/observed.ts";
import { seconds } from "../../util/duration.ts";
import { passwordProblem } from "../../frr/render-neighbor.ts";
import { quote } from "../../ip/error.ts";
import { AS_NUMBER, type FieldProblem, nameIn, problemIf, numberProblems, type WrittenAs } from "./field-error.ts";
import { nameProblems } from "./names.ts";
import { readAddress, unusable } from "./networks.ts";

/** U8, U9 and everything about each neighbor. */
export function neighborProblems(
  { neighbors = [], nics = [] }: UnderlaySpec,
  writtenAs: WrittenAs,
  passwords: ObservedNode["passwords"],
): FieldProblem[] {
  if (neighbors.length === 0) return [{ field: "spec.neighbors", message: "neighbors is empty; the router requires at least one" }];
  const first = new Map<string, number>();
  return neighbors.flatMap((neighbor, nth) => {
    const field = `spec.neighbors[${nth}]`;
    const { peer, problems } =
      neighbor.interface === undefined ? addressOf(field, neighbor) : interfaceOf(field, neighbor, { nics, writtenAs });
    const twin = peer && first.get(peer.key);
    if (twin !== undefined)
      problems.push({ field: peer?.field ?? field, message: `${peer?.text} is a duplicate of spec.neighbors[${twin}]` });
    if (peer) first.set(peer.key, twin ?? nth);
    return [
      ...problems,
      ...remoteAsProblems(field, neighbor),
      ...(neighbor.multiHopTtl === undefined ? [] : numberProblems(`${field}.multiHopTtl`, "ttl", neighbor.multiHopTtl, 1, 255)),
      ...(neighbor.port === undefined ? [] : numberProblems(`${field}.port`, "Port", neighbor.port, 0, 65_535)),
      ...timerProblems(field, neighbor, writtenAs),
      ...passwordProblems(field, neighbor, passwords),
      ...bfdProblems(`${field}.bfd`, neighbor.bfd, writtenAs),
    ];
  });
}

interface PeerReading {
  /** How FRR names the neighbor; missing where it is not usable at all. */
  readonly peer?: { readonly key: string; readonly field: string; readonly text: string };
  readonly problems: FieldProblem[];
}

function addressOf(at: string, { address }: NeighborSpec): PeerReading {
  const field = `${at}.address`;
  const reading = readAddress("Neighbor address", address);
  if ("problem" in reading) return { problems: [{ field, message: reading.problem }] };
  const key = reading.value.toString();
  const text = `Neighbor address ${key}`;
  const why = unusable(reading.value);
  return { peer: { key, field, text }, problems: why ? [{ field, message: `${text} ${why}` }] : [] };
}

/** FRR would wait for ever for an interface that the router does not get. */
function interfaceOf(
  at: string,
  { interface: name = "", address, ebgpMultiHop }: NeighborSpec,
  { nics, writtenAs }: { nics: readonly string[]; writtenAs: WrittenAs },
): PeerReading {
  const field = `${at}.interface`;
  const text = `Neighbor interface ${name}`;
  const problems = nameProblems(field, "Interface", name);
  if (problems.length > 0) return { problems };
  return {
    peer: { key: name, field, text },
    problems: [
      ...problemIf(address !== undefined, field, () => "Set address or interface, not both"),
      ...problemIf(
        ebgpMultiHop === true,
        `${at}.ebgpMultiHop`,
        () => `${text} is directly connected; remove ${nameIn(writtenAs, `${at}.ebgpMultiHop`)}`,
      ),
      ...problemIf(!nics.includes(name), field, () => `${text} is not an interface of the Underlay`),
    ],
  };
}

function remoteAsProblems(field: string, { asn, type }: NeighborSpec): FieldProblem[] {
  if (type === undefined) return numberProblems(`${field}.asn`, "AS number", asn, AS_NUMBER.min, AS_NUMBER.max);
  return problemIf(asn !== undefined, `${field}.type`, () => "Set asn or type, not both");
}

function timerProblems(field: string, { holdTime, keepaliveTime, connectTime }: NeighborSpec, writtenAs: WrittenAs): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const name = (timer: string) => nameIn(writtenAs, `${field}.${timer}`);
  // v0.2 counts seconds.
  const unit = (timer: string) => (name(timer).endsWith("Seconds") ? "" : "s");
  const written = (timer: string, text = "") => `${name(timer)} ${unit(timer) === "" ? seconds(text) : text}`;
  const duration = (timer: string, text: string | undefined) => {
    const value = seconds(text);
    if (text !== undefined && value === undefined)
      problems.push({ field: `${field}.${timer}`, message: `${timer} ${quote(text)} is not a duration such as 30s` });
    return value;
  };
  const hold = duration("holdTime", holdTime);
  const keepalive = duration("keepaliveTime", keepaliveTime);
  const connect = duration("connectTime", connectTime);
  return [
    ...problems,
    ...problemIf(
      (holdTime === undefined) !== (keepaliveTime === undefined),
      `${field}.${holdTime === undefined ? "holdTime" : "keepaliveTime"}`,
      () => `set both ${name("holdTime")} and ${name("keepaliveTime")}, or neither`,
    ),
    ...problemIf(
      hold !== undefined && hold !== 0 && (hold < 3 || hold >= 65_536),
      `${field}.holdTime`,
      () => `${written("holdTime", holdTime)} must be 0 or 3${unit("holdTime")} to 65535${unit("holdTime")}`,
    ),
    ...problemIf(
      keepalive !== undefined && (keepalive < 0 || keepalive >= 65_536),
      `${field}.keepaliveTime`,
      () => `${written("keepaliveTime", keepaliveTime)} must be 0${unit("keepaliveTime")} to 65535${unit("keepaliveTime")}`,
    ),
    ...problemIf(
      hold !== undefined && keepalive !== undefined && keepalive > hold,
      `${field}.keepaliveTime`,
      () => `${written("keepaliveTime", keepaliveTime)} is longer than ${written("holdTime", holdTime)}`,
    ),
    ...problemIf(connect !== undefined && !(Number.isInteger(connect) && connect >= 1 && connect <= 65_535), `${field}.connectTime`, () =>
      unit("connectTime") === ""
        ? `${written("connectTime", connectTime)} must be 1 to 65535`
        : `connectTime ${connectTime} must be 1s to 65535s in whole seconds`,
    ),
  ];
}

/** The password of the session, where one is asked for and usable. */
export function passwordOf({ password, passwordSecret }: NeighborSpec, passwords: ObservedNode["passwords"]): string | undefined {
  if (!passwordSecret) return password || undefined;
  const read = passwords.get(passwordSecret);
  return read && "password" in read ? read.password : undefined;
}

const SECRET_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

function passwordProblems(field: string, { password, passwordSecret }: NeighborSpec, passwords: ObservedNode["passwords"]): FieldProblem[] {
  if (password && passwordSecret) return [{ field: `${field}.passwordSecret`, message: "Set password or passwordSecret, not both" }];
  if (password) return textProblems(`${field}.password`, "Password", password);
  if (!passwordSecret) return [];
  if (!SECRET_NAME.test(passwordSecret)) {
    return [{ field: `${field}.passwordSecret`, message: `passwordSecret ${quote(passwordSecret)} is not a valid Secret name` }];
  }
  const read: Password = passwords.get(passwordSecret) ?? { problem: `Secret ${passwordSecret} has not been read yet` };
  const problems =
    "problem" in read ? [{ field: "", message: read.problem }] : textProblems("", `Password in Secret ${passwordSecret}`, read.password);
  return problems.map(({ message }) => ({ field: `${field}.passwordSecret`, message, transient: true }));
}

function textProblems(field: string, label: string, password: string): FieldProblem[] {
  const problem = passwordProblem(password);
  return problem === undefined ? [] : [{ field, message: `${label} ${problem}` }];
}

const BFD: readonly [Exclude<keyof NonNullable<NeighborSpec["bfd"]>, "echoMode" | "passiveMode">, number, number][] = [
  ["receiveInterval", 10, 60_000],
  ["transmitInterval", 10, 60_000],
  ["echoInterval", 10, 60_000],
  ["detectMultiplier", 2, 255],
  ["minimumTtl", 1, 254],
];

function bfdProblems(field: string, bfd: NeighborSpec["bfd"], writtenAs: WrittenAs): FieldProblem[] {
  if (!bfd) return [];
  return BFD.flatMap(([name, min, max]) => {
    const at = `${field}.${name}`;
    return bfd[name] === undefined ? [] : numberProblems(at, nameIn(writtenAs, at), bfd[name], min, max);
  });
}
