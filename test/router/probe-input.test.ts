import { execFile } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createLog } from "../../src/kube/log.ts";
import { ProbeSocket } from "../../src/router/probes/probe-socket.ts";
import { createNamespaces, ip, type TestNamespaces } from "../support/namespaces.ts";

// A node with index 1 and one peer, node 0. The stranger's namespace is on the same wire, and has the address of the peer and another one.
const OWN = "192.0.2.2";
const PEER = "192.0.2.1";
const OTHER = "192.0.2.66";
const BRIDGE_MAC = "02000000aa01";
const WIRE_MAC = "02000000bb01";
const KEY = randomBytes(32);
const VNI = 110;
const REQUEST = 1;
const REPLY = 2;
const EVENTUALLY = { timeout: 60_000, interval: 100 };

interface Message {
  readonly via: "frame" | "datagram";
  /** The address that a datagram comes from. */
  readonly from?: string;
  readonly data: Buffer;
  readonly times?: number;
}

let namespaces: TestNamespaces;
let socket: ProbeSocket;
let dropped = new Map<string, number>();
const stop = new AbortController();
let running: Promise<void>;

/** As probe-socket.py lays it out. */
function message({ what = REQUEST, vni = 0, sender = 0, receiver = 1, round = 1, number = randomBytes(8), size = 100, key = KEY }): Buffer {
  const body = Buffer.alloc(size - 16);
  body.write("PLMB");
  body.writeUInt8(what, 4);
  for (const [at, value] of [vni, sender, receiver].entries()) body.writeUInt32BE(value, 8 + 4 * at);
  body.writeBigUInt64BE(BigInt(round), 20);
  number.copy(body, 28);
  return Buffer.concat([body, createHmac("sha256", key).update(body).digest().subarray(0, 16)]);
}

/** Sends them one after the other, and returns the sizes of what comes back. */
async function send(...messages: readonly Message[]): Promise<number[]> {
  const script = `
import json, select, socket, sys, time
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88b5))
wire.bind(("wire", 0))
udp = {}
for address in ("${PEER}", "${OTHER}"):
    udp[address] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp[address].bind((address, 47890))
sizes, last = [], time.monotonic()
def receive(seconds):
    for s in select.select([wire, *udp.values()], [], [], seconds)[0]:
        data, source = s.recvfrom(65536)
        if s is not wire or source[2] != 4:
            sizes.append(len(data) - (14 if s is wire else 0))
    return sizes
for line in sys.stdin:
    one = json.loads(line)
    data = bytes.fromhex(one["data"])
    for _ in range(one.get("times", 1)):
        if one["via"] == "frame":
            wire.send(bytes.fromhex("${BRIDGE_MAC}${WIRE_MAC}88b5") + data)
        else:
            udp[one.get("from", "${PEER}")].sendto(data, ("${OWN}", 47890))
        receive(0)
end = time.monotonic() + 2
while time.monotonic() < end:
    receive(0.1)
print(json.dumps(sizes))
`;
  const running = promisify(execFile)("ip", ["netns", "exec", namespaces.names[1] ?? "", "python3", "-I", "-S", "-c", script]);
  const lines = messages.map((one) => JSON.stringify({ ...one, data: one.data.toString("hex") }));
  running.child.stdin?.end(`${lines.join("\n")}\n`);
  return JSON.parse((await running).stdout) as number[];
}

/** What is counted, from now on, for what was not answered. */
async function drops(wanted: Record<string, number>): Promise<void> {
  await vi.waitFor(() => expect(Object.fromEntries(dropped)).toEqual(wanted), EVENTUALLY);
  dropped = new Map();
}

beforeAll(async () => {
  namespaces = createNamespaces(2);
  const [node = "", stranger = ""] = namespaces.names;
  ip(
    node,
    `link add lan type bridge`,
    `link set lan address ${BRIDGE_MAC.replaceAll(/(..)(?=.)/g, "$1:")} addrgenmode none`,
    "link set lan up",
  );
  ip(node, `link add port type veth peer name wire netns ${stranger}`);
  ip(node, "link set port master lan up", `addr add ${OWN}/24 dev lan`);
  ip(stranger, `link set wire address ${WIRE_MAC.replaceAll(/(..)(?=.)/g, "$1:")} up`);
  ip(stranger, `addr add ${PEER}/24 dev wire`, `addr add ${OTHER}/24 dev wire`);
  const started = Promise.withResolvers<void>();
  socket = new ProbeSocket(node, createLog({ level: "silent" }), {
    onStart: () => started.resolve(),
    onUnrouted: () => undefined,
    onDropped: (reason, count) => dropped.set(reason, (dropped.get(reason) ?? 0) + count),
  });
  running = socket.run(stop.signal);
  await started.promise;
  const peer = `peer 0 ${KEY.toString("hex")} ${PEER}`;
  socket.tell([`self 1 ${OWN}`, peer, `vni lan ${VNI} ${BRIDGE_MAC}`, "route lan 0"]);
});

afterAll(async () => {
  stop.abort();
  await running;
  await namespaces.remove();
});

test("requests of the peer are answered once, with as many bytes", async () => {
  const frame: Message = { via: "frame", data: message({ vni: VNI, size: 64 }) };
  const datagram: Message = { via: "datagram", data: message({ size: 1_400 }) };
  expect((await send(frame, datagram)).toSorted((a, b) => a - b)).toEqual([64, 1_400]);
  await drops({});
});

test.each<[string, string, (via: Message["via"]) => Partial<Parameters<typeof message>[0]>]>([
  ["of a node that is not known", "stranger", () => ({ sender: 9 })],
  ["for another node", "stranger", () => ({ receiver: 5 })],
  ["with another key", "forged", () => ({ key: randomBytes(32) })],
  ["without a question", "unexpected", () => ({ what: REPLY })],
  ["of a size that no probe has", "forged", (via) => ({ key: randomBytes(32), size: via === "frame" ? 1_500 : 60_000 })],
])("messages %s are dropped as %s", async (_, reason, change) => {
  const messages = (["frame", "datagram"] as const).map((via) => ({
    via,
    data: message({ ...(via === "frame" && { vni: VNI }), ...change(via) }),
  }));
  expect(await send(...messages)).toEqual([]);
  await drops({ [reason]: 2 });
});

test("bytes that are no message are dropped", async () => {
  const data = randomBytes(100);
  expect(await send({ via: "frame", data }, { via: "datagram", data }, { via: "datagram", data: Buffer.from("PLMB") })).toEqual([]);
  await drops({ malformed: 3 });
});

test("a frame in the wrong VNI is dropped", async () => {
  expect(await send({ via: "frame", data: message({ vni: 111 }) })).toEqual([]);
  await drops({ "wrong-vni": 1 });
});

test("a datagram from another address than the VTEP of its sender is dropped: its answer would go to somebody who did not ask", async () => {
  const messages = [REQUEST, REPLY].map((what): Message => ({ via: "datagram", from: OTHER, data: message({ what }) }));
  expect(await send(...messages)).toEqual([]);
  await drops({ "wrong-source": 2 });
});

test("a request that is sent again is not answered again", async () => {
  const frame: Message = { via: "frame", data: message({ vni: VNI }), times: 3 };
  const datagram: Message = { via: "datagram", data: message({}), times: 3 };
  expect(await send(frame, datagram, frame, datagram)).toEqual([100, 100]);
  await drops({ replayed: 10 });
});

test("a flood has no more answers than requests, and the next request is answered", async () => {
  const flood = Array.from({ length: 6_000 }, (_, at): Message =>
    at % 2 === 0 ? { via: "frame", data: message({ vni: VNI }) } : { via: "datagram", data: message({}) },
  );
  const answers = await send(...flood);
  expect(answers.length).toBeLessThanOrEqual(flood.length);
  expect(new Set(answers)).toEqual(new Set([100]));
  await vi.waitFor(async () => expect(await send({ via: "datagram", data: message({}) })).toEqual([100]), EVENTUALLY);
  expect([...dropped.keys()].filter((reason) => reason !== "rate" && reason !== "not-sent")).toEqual([]);
  dropped = new Map();
});

test("an answer that is forged, or not from the peer's address, is none", async () => {
  const round = socket.round([(round) => `datagram ${round} 0 ${PEER} 100`], 0, 6_000, stop.signal);
  const replies = [1, 2, 3].flatMap((round): Message[] => [
    { via: "datagram", data: message({ what: REPLY, round, key: randomBytes(32) }) },
    { via: "datagram", from: OTHER, data: message({ what: REPLY, round }) },
    { via: "datagram", data: message({ what: REPLY, round }) },
  ]);
  await send(...replies);
  expect(await round).toEqual([{ peer: 0, where: "udp", size: 100, at: 0, answered: false }]);
  await drops({ forged: 3, "wrong-source": 3, unexpected: 3 });
});
