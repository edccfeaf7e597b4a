import { expect, test } from "vitest";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { L2VNI } from "../../api/openpe/l2vni.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../../api/openpe/underlay.ts";
import type { StoredRow } from "../model/row-store.ts";
import { modelOf, routerStatus, session, SINCE } from "../testing/fixtures.ts";
import type { Rows } from "../api.ts";

const vni = (number: number, state = "Up") => ({ vni: number, type: "L2", vrf: "shop", state });
const named = (name: string, vni: number) => ({ metadata: { ...router, name }, spec: { vni, vrf: name } });
const router = { namespace: "openperouter-system" };

function rows(...objects: readonly (readonly [Kind, object])[]): Rows["topology"][] {
  const model = modelOf();
  for (const [kind, object] of objects) model.put(kind, object as KubeObject);
  model.refresh();
  return JSON.parse(model.rows.snapshot("topology", (stored: StoredRow) => stored.text)) as Rows["topology"][];
}

test("a node has its fabric sessions, its VNIs as ranges, and its probe results with times", () => {
  const report = routerStatus("n1", "Active");
  const failing = [{ node: "n2", reason: "NoAnswerInVNI", vnis: "110", message: "VNI 110: no answer from n2" }];
  const status = {
    ...report.status,
    conditions: [
      ...(report.status?.conditions ?? []),
      { type: "OverlayReachable", status: "False", reason: "PathsFailing", message: "", lastTransitionTime: SINCE },
    ],
    sessions: [
      { vrf: "default", neighbor: "192.168.11.1", state: "Active", since: SINCE },
      { vrf: "default", neighbor: "192.168.200.2", state: "Established", since: SINCE },
      { vrf: "red", neighbor: "192.168.201.2", state: "Established", since: SINCE },
    ],
    vnis: [vni(110, "Down"), vni(101), vni(100)],
    overlay: { vtep: "100.65.0.1", probed: 6, failing },
  };
  const underlay = { metadata: { ...router, name: "fabric" }, spec: { asn: 64514, neighbors: [{ asn: 64512, address: "192.168.11.1" }] } };
  expect(rows([Underlay, underlay], [RouterNodeConfigurationStatus, { ...report, status }])).toEqual([
    {
      type: "router",
      key: "router/openperouter-system/n1",
      id: "RouterNodeConfigurationStatus/openperouter-system/n1",
      node: "n1",
      health: "Down",
      since: SINCE,
      vtep: "100.65.0.1",
      sessions: [{ id: "Session/192.168.11.1@n1", neighbor: "192.168.11.1", state: "Active", health: "Down", since: SINCE }],
      vnis: "100-101,110",
      vnisDown: "110",
      overlay: { health: "Down", probed: 6, since: SINCE, failing },
    },
  ]);
});

test("the sessions of an unnumbered Underlay have the names of its interfaces", () => {
  const report = routerStatus("n1", "Established");
  const sessions = [
    { vrf: "default", neighbor: "eth1", state: "Established" },
    { vrf: "default", neighbor: "192.168.200.2", state: "Established" },
  ];
  const underlay = { metadata: { ...router, name: "fabric" }, spec: { asn: 64514, neighbors: [{ type: "external", interface: "eth1" }] } };
  const [row] = rows([Underlay, underlay], [RouterNodeConfigurationStatus, { ...report, status: { ...report.status, sessions } }]);
  expect(row?.type === "router" && row.sessions.map(({ neighbor }) => neighbor)).toEqual(["eth1"]);
});

test("a node without a router has the sessions of the load balancer, by the address of the peer", () => {
  const peer = { metadata: { name: "tor", namespace: "metallb-system" }, spec: { peerAddress: "192.168.11.2" } };
  expect(rows([BGPPeer, peer], [BGPSessionStatus, session("n1")])).toEqual([
    {
      type: "peers",
      key: "peers/metallb-system/n1",
      node: "n1",
      sessions: [{ id: "BGPPeer/metallb-system/tor@n1", neighbor: "192.168.11.2", state: "Established", health: "Healthy", since: SINCE }],
    },
  ]);
});

test("each VNI can be chosen by its number and name", () => {
  expect(rows([L2VNI, named("web", 110)], [L3VNI, named("red", 100)])).toEqual([
    { type: "vni", key: "vni/L2VNI/openperouter-system/web", vni: 110, layer: "L2", name: "web" },
    { type: "vni", key: "vni/L3VNI/openperouter-system/red", vni: 100, layer: "L3", name: "red" },
  ]);
});
