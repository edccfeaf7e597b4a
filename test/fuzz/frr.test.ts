import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { describeObject } from "../../src/cli/describe/describe-object.ts";
import { clusterStatus, drawStatus } from "../../src/cli/why/draw-status.ts";
import { drawCauses } from "../../src/cli/why/draw-why.ts";
import { plain } from "../../src/cli/print/color.ts";
import { CauseGraph } from "../../src/explain/graph.ts";
import { explainersOf } from "../../src/explain/explainers.ts";
import type { ShowClient } from "../../src/frr/show-json.ts";
import { VtyError } from "../../src/frr/error.ts";
import { bfdCounters, bgpNeighbors } from "../../src/frr/neighbors.ts";
import type { FrrClient } from "../../src/frr/client.ts";
import { withSessionTimes } from "../../src/frr/session-times.ts";
import { bfdPeers } from "../../src/frr/testing/bfd-peers.ts";
import { knownAddresses, originatedTag, sessions, vnis } from "../../src/frr/show.ts";
import { Vty } from "../../src/frr/vty.ts";
import { registry } from "../../src/kube/metrics.ts";
import { print } from "../../src/kube/printable.ts";
import { sessionStatus } from "../../src/loadbalancer/status/bgp-session-status.ts";
import { countBfd, countSessions } from "../../src/loadbalancer/speaker/bgp/sessions.ts";
import { report } from "../../src/router/report.ts";
import { node, modelOf, CONFIG_NAMESPACES } from "../../src/web/testing/fixtures.ts";
import { Node } from "../../src/api/core/node.ts";
import { fuzz } from "./harness.ts";
import { type Json, type Random, runs, TIMEOUT_MS } from "./random.ts";

const never = new AbortController().signal;

/** As FRR answers, with every text that a peer can choose. */
const ANSWERS: Readonly<Record<string, Json>> = {
  "show bgp vrf all neighbors json": {
    default: {
      vrfId: 0,
      vrfName: "default",
      "192.0.2.1": {
        bgpState: "Established",
        hostname: "tor-1",
        nbrDesc: "uplink",
        portForeign: 179,
        bgpTimerUpMsec: 61_000,
        connectionsEstablished: 1,
        connectionsDropped: 1,
        lastResetDueTo: "BGP Notification received",
        lastNotificationReason: "Cease/Administrative Shutdown",
        lastShutdownDescription: "maintenance",
        lastResetTimerMsecs: 5_000,
        peerBfdInfo: { status: "Up" },
        addressFamilyInfo: { ipv4Unicast: { sentPrefixCounter: 3, acceptedPrefixCounter: 4 } },
        messageStats: { opensSent: 1, opensRecv: 1, totalSent: 9, totalRecv: 9 },
      },
    },
  },
  "show bfd peers counters json": [{ vrf: "default", peer: "192.0.2.1", "control-packet-input": 5, "session-up": 1 }],
  "show bgp vrf all summary json": {
    default: {
      ipv4Unicast: {
        peers: {
          "192.0.2.1": {
            hostname: "tor-1",
            desc: "uplink",
            remoteAs: 64512,
            state: "Established",
            peerUptime: "00:01:01",
            peerUptimeMsec: 61_000,
            pfxRcd: 4,
            pfxSnt: 3,
            connectionsDropped: 1,
          },
        },
      },
    },
  },
  "show evpn vni json": {
    "100": { vni: 100, type: "L2", vxlanIf: "vni100", numMacs: 2, numArpNd: 2, tenantVrf: "red", remoteVteps: ["192.0.2.9"] },
  },
  "show vrf vni json": { vrfs: [{ vrf: "red", vni: 200, state: "Up" }] },
  "show interface vrf all brief json": { eth0: { addresses: ["192.0.2.2/24"] } },
  "show bfd peers json": [{ vrf: "default", peer: "192.0.2.1", status: "up", uptime: 9, diagnostic: "ok" }],
  "show bgp ipv4 unicast 192.0.2.0/24 json": { paths: [{ sourced: true, tag: 7, community: { string: "64512:1", list: ["64512:1"] } }] },
};

/** FRR whose answers have something exchanged; often only a text of a peer. */
function hostileFrr(random: Random): ShowClient {
  const run = (line: string) => {
    const answer = ANSWERS[line] ?? {};
    const text = JSON.stringify(random.chance(85) ? random.mutated(random.mutated(answer)) : answer);
    return Promise.resolve({ status: 0, text: random.chance(3) ? random.broken(text).toString() : text });
  };
  return { vty: () => Promise.resolve({ run }) };
}

/** Nothing but a FRR that does not speak JSON may fail. */
async function read<T>(what: Promise<T>): Promise<T | undefined> {
  try {
    return await what;
  } catch (error) {
    if (error instanceof VtyError && error.code === "Malformed") return undefined;
    throw error;
  }
}

/** Everything that reaches a terminal, apart from line feeds. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;
/** A line of Prometheus' text form. */
const SAMPLE = /^(#.*|[a-zA-Z_:][\w:]*(\{([a-zA-Z_]\w*="(\\[\\n"]|[^"\\\n])*",?)*\})? \S+|)$/;

const described = { paint: plain, now: Date.now(), yaml: (value: unknown) => JSON.stringify(value) };

const write = process.stdout.write.bind(process.stdout);

/** As `plumbline describe` prints it. Without a spy: Vitest remembers every one, which would count as memory that is left. */
function printed(text: string): string {
  let printed = "";
  process.stdout.write = (chunk) => {
    printed += String(chunk);
    return true;
  };
  try {
    print(text);
  } finally {
    process.stdout.write = write;
  }
  return printed;
}

const graph = new CauseGraph(explainersOf(CONFIG_NAMESPACES));
const picture = modelOf();

test(
  "any text of peers and FRR is printable in statuses, metrics, the page and the terminal",
  async () => {
    picture.put(Node, node("n1"));
    await fuzz("BGP strings", runs(8_000), 1, async (random, nth) => {
      const frr = hostileFrr(random);
      const router = frr as unknown as FrrClient;
      const neighbors = (await read(bgpNeighbors(frr, never))) ?? [];
      countSessions(neighbors);
      countBfd(neighbors, (await read(bfdCounters(frr, never))) ?? []);
      const now = new Date();
      const spoken = {
        sessions: withSessionTimes((await read(sessions(router, never))) ?? [], [], now),
        vnis: ((await read(vnis(router, never))) ?? []).map(({ vni, type, vrf, state, macs, vteps }) => ({
          vni,
          type,
          state,
          macs,
          vteps: vteps.length,
          vrf: vrf ?? "",
        })),
      };
      await read(knownAddresses(router, never));
      await read(bfdPeers(router, never));
      await read(originatedTag(router, "", "192.0.2.0/24", never));

      const conditions = [
        { type: "Ready", status: "True", reason: "ConfigurationSuccessful", message: "", lastTransitionTime: now.toISOString() },
      ];
      const metadata = { name: "n1", namespace: CONFIG_NAMESPACES.routerNamespace };
      const status = { ...report({ selected: [], failures: [], live: new Map() }, spoken), conditions };
      const routerStatus = {
        apiVersion: "openpe.openperouter.github.io/v1alpha1",
        kind: "RouterNodeConfigurationStatus",
        metadata,
        status,
      } as unknown as RouterNodeConfigurationStatus;
      const [observed] = withSessionTimes(neighbors, [], now);
      const sessionState = observed
        ? {
            state: observed.state,
            bfd: observed.bfd ?? "N/A",
            lastResetReason: random.text(),
            ...(observed.since !== undefined && { since: observed.since }),
          }
        : "not-answering";
      const peer = { name: "tor", vrf: "", address: undefined, interface: "eth1", bfdProfile: undefined } as unknown as Parameters<
        typeof sessionStatus
      >[0];
      const { status: statusOf } = sessionStatus(peer, { name: "n1", uid: undefined }, sessionState);
      const session = {
        metadata: { name: "n1-tor", namespace: CONFIG_NAMESPACES.metallbNamespace },
        status: { ...(typeof statusOf === "function" ? statusOf(undefined) : statusOf), conditions },
      } as unknown as BGPSessionStatus;
      for (const target of [graph, picture]) {
        target.put(RouterNodeConfigurationStatus, routerStatus);
        target.put(BGPSessionStatus, session);
      }
      picture.refresh();
      for (const view of ["overview", "router", "loadbalancer"] as const) JSON.parse(picture.rows.snapshot(view, ({ text }) => text));

      if (nth % 8 !== 0) return;
      const causes = [...graph.causes()];
      const output = [
        ...drawStatus(clusterStatus(graph.verdicts(), causes), now.getTime(), plain),
        ...drawCauses(causes, now.getTime(), plain),
      ].join("\n");
      expect(CONTROL.exec(output)?.[0]).toBeUndefined();
      expect(CONTROL.exec(printed(describeObject({ object: routerStatus, events: [] }, described)))?.[0]).toBeUndefined();
      const wrong = (await registry.metrics()).split("\n").find((line) => !SAMPLE.test(line));
      expect(wrong).toBeUndefined();
    });
  },
  TIMEOUT_MS,
);

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-fuzz-"));
});
afterAll(() => rm(directory, { recursive: true }));

test(
  "for any bytes of a daemon a request has an answer or an error, and the next connection works",
  async () => {
    const path = join(directory, "bgpd.vty");
    let reply: Buffer[] = [];
    let hangsUp = false;
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
      socket.on("data", (chunk) => {
        const isEnable = chunk.toString() === "enable\0";
        for (const piece of isEnable ? [Buffer.of(0, 0, 0, 0)] : reply) socket.write(piece);
        if (hangsUp && !isEnable) socket.end();
      });
    });
    server.listen(path);
    await once(server, "listening");
    let vty = await Vty.connect(path, { daemon: "bgpd", signal: never });
    await fuzz("vty answers", runs(8_000), 1, async (random) => {
      if (!vty.open) vty = await Vty.connect(path, { daemon: "bgpd", signal: never });
      const text = random.chance(50)
        ? Buffer.from(JSON.stringify(random.json()))
        : random.chance(50)
          ? Buffer.from(random.text())
          : random.bytes(60);
      const end = random.chance(70) ? Buffer.of(0, 0, 0, random.int(256)) : random.bytes(6);
      const all = Buffer.concat([text, end]);
      const cut = random.int(all.length + 1);
      reply = [all.subarray(0, cut), all.subarray(cut)];
      // A silent daemon is given up at the deadline; here it disconnects instead, so that the test does not wait.
      hangsUp =
        random.chance(10) || all.length < 4 || !(all[all.length - 2] === 0 && all[all.length - 3] === 0 && all[all.length - 4] === 0);
      const outcome = await (random.chance(50) ? vty.json("show", never) : vty.run("show", never)).catch((error: unknown) => error);
      if (outcome instanceof Error && !(outcome instanceof VtyError)) throw outcome;
    });
    hangsUp = false;
    reply = [Buffer.from("fine"), Buffer.of(0, 0, 0, 0)];
    vty.close();
    vty = await Vty.connect(path, { daemon: "bgpd", signal: never });
    expect(await vty.must("show", never)).toBe("fine");
    vty.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  },
  TIMEOUT_MS,
);
