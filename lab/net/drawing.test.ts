import { expect, test } from "vitest";
import { drawTopology } from "./drawing.ts";
import { topologyOf } from "./topology.ts";

test("draws switches, segments, links, addresses, AS numbers and what is set on links", () => {
  const topology = topologyOf({ nodes: 1, tors: 2 });
  const links = topology.links.map((link) => {
    const state = ["node1-tor2", "client-tor2"].includes(link.name) ? { lossPercent: 5 } : {};
    return { ...link, states: [state, state] as const };
  });
  expect(drawTopology(topology, links, { routers: true })).toBe(
    `
tor  AS 64512
├─ leaf  192.168.11.2/24
│  └─ node1-tor         node1 eth1      192.168.11.11/24   AS 64514
├─ access  layer 2 only
│  ├─ node1-lan         node1 lan0      10.30.0.11/24
│  ├─ client-lan        client lan0     10.30.0.2/24
│  └─ client2-lan       client2 lan0    10.30.0.3/24
├─ client  10.20.0.1/24
│  └─ client-tor        client eth0     10.20.0.2/24
└─ client-blue  10.22.0.1/24  VRF blue
   └─ client-tor-blue   client blue0    10.22.0.2/24

tor2  AS 64513
├─ leaf  192.168.12.2/24
│  └─ node1-tor2        node1 eth2      192.168.12.11/24   AS 64514   loss 5%
├─ client  10.21.0.1/24
│  └─ client-tor2       client eth1     10.21.0.2/24                  loss 5%
└─ client-blue  10.22.1.1/24  VRF blue
   └─ client-tor2-blue  client blue1    10.22.1.2/24

management
└─ mgmt
   └─ node1-mgmt        node1 eth0`.trimStart(),
  );
});

test("without routers the nodes' AS number is their load balancers'", () => {
  const topology = topologyOf({ nodes: 1, tors: 1 });
  const links = topology.links.map((link) => ({ ...link, states: [{}, {}] as const }));
  expect(drawTopology(topology, links, { routers: false })).toContain("192.168.11.11/24   AS 64515");
});
