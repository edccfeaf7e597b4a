import { execFileSync, spawnSync } from "node:child_process";
import { expect, test, vi } from "vitest";
import { parseAddress } from "../../src/ip/address.ts";
import { createLog } from "../../src/kube/log.ts";
import { PacketSocket, type PacketSocketEvents } from "../../src/loadbalancer/speaker/l2/packet-socket.ts";
import { l2PacketErrors } from "../../src/loadbalancer/metrics.ts";
import { createNamespaces, ip } from "../support/namespaces.ts";

const nothing = () => {};
const VIPS = ["192.0.2.100", "2001:db8::100"];

function socketIn(netns: string, events: Partial<PacketSocketEvents>): PacketSocket {
  const deaf = {
    onStart: nothing,
    onEnd: nothing,
    onLapse: nothing,
    onMessage: nothing,
    onDatagram: nothing,
    onFailed: nothing,
    onRequests: nothing,
  };
  return new PacketSocket({ netns, port: 7947, log: createLog({ level: "silent" }), ...deaf, ...events });
}

test("requests for a watched address are counted by interface in both families, others are not", async () => {
  const namespaces = createNamespaces(2);
  const [node = "", client = ""] = namespaces.names;
  ip(node, `link add eth0 type veth peer name eth0 netns ${client}`, "link set eth0 up");
  ip(node, ...VIPS.map((vip) => `addr add ${vip} dev eth0${vip.includes(":") ? " nodad" : ""}`));
  ip(client, "link set eth0 up", "addr add 192.0.2.1/24 dev eth0", "addr add 2001:db8::1/64 dev eth0 nodad");
  const requests = new Map<string, number>();
  const packetSocket = socketIn(node, {
    onRequests(address, device, times) {
      const key = `${device} ${String(address)}`;
      requests.set(key, (requests.get(key) ?? 0) + times);
    },
  });
  const stop = new AbortController();
  const running = packetSocket.run(stop.signal);
  try {
    await vi.waitUntil(() => packetSocket.isUp, { timeout: 60_000 });
    packetSocket.watch(VIPS.map(parseAddress));
    expect(await packetSocket.sync()).toBe(true);
    await vi.waitFor(
      () => {
        for (const address of [...VIPS, "192.0.2.101"]) {
          ip(client, "neigh flush dev eth0");
          spawnSync("ip", ["netns", "exec", client, "ping", "-c", "1", "-W", "1", address]);
        }
        expect([...requests.keys()].sort()).toEqual(["eth0 192.0.2.100", "eth0 2001:db8::100"]);
      },
      { timeout: 60_000, interval: 500 },
    );
  } finally {
    stop.abort();
    await running;
    await namespaces.remove();
  }
});

/** Frames without an Ethernet header, as those of IPoIB: their bytes are the ARP message alone, which the kernel tells by the protocol beside it. */
const BARE_FRAMES = `
import fcntl, os, struct, subprocess
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22s", b"bare0", 1, b""))
subprocess.run(["ip", "link", "set", "bare0", "up"], check=True)
for length in range(0, 80):
    os.write(tun, struct.pack(">HH", 0, 0x0806) + bytes(range(1, 1 + length)))
`;

test("frames of a link that is not Ethernet, however short, do not end the receiving process", async () => {
  const namespaces = createNamespaces(1);
  const [node = ""] = namespaces.names;
  const ends: string[] = [];
  const packetSocket = socketIn(node, { onEnd: () => ends.push(packetSocket.fault ?? "") });
  const stop = new AbortController();
  const running = packetSocket.run(stop.signal);
  try {
    await vi.waitUntil(() => packetSocket.isUp, { timeout: 60_000 });
    packetSocket.watch(VIPS.map(parseAddress));
    execFileSync("ip", ["netns", "exec", node, "python3", "-c", BARE_FRAMES]);
    expect([await packetSocket.sync(), ends]).toEqual([true, []]);
  } finally {
    stop.abort();
    await running;
    await namespaces.remove();
  }
});

const errors = async () => (await l2PacketErrors.get()).values[0]?.value ?? 0;

test("an error while handling a line is caught and counted", async () => {
  const namespaces = createNamespaces(1);
  const [node = ""] = namespaces.names;
  const before = await errors();
  const packetSocket = socketIn(node, {
    onStart() {
      throw new Error("a defect");
    },
  });
  const stop = new AbortController();
  const running = packetSocket.run(stop.signal);
  try {
    await vi.waitUntil(() => packetSocket.isUp, { timeout: 60_000 });
    expect([await packetSocket.sync(), await errors()]).toEqual([true, before + 1]);
  } finally {
    stop.abort();
    await running;
    await namespaces.remove();
  }
});
