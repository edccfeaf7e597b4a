import type { ObservedNode } from "../model/observed.ts";
import { readObjects } from "../dialects/read-objects.ts";
import { hostSession, l2vni, l3vni, observed, passthrough, underlay } from "./fixtures.ts";

/** Routers whose FRR configuration is in the files beside. */
export const CASES: Readonly<Record<string, ObservedNode>> = {
  empty: observed({}),

  minimal: observed({ underlays: [underlay()] }),

  "without-evpn": observed({
    underlays: [
      {
        ...underlay(),
        spec: { asn: 64514, routeridcidr: "10.0.0.0/24", neighbors: [{ asn: 64512, address: "192.168.11.2" }], nics: ["eth1"] },
      },
    ],
    passthroughs: [passthrough("host")],
  }),

  "vtep-interface": observed({
    underlays: [underlay("fabric", { evpn: { vtepInterface: "eth1" } })],
    l2vnis: [l2vni("red", { vni: 100 })],
    l3vnis: [l3vni("red", { vni: 200, vrf: "red" })],
  }),

  neighbors: observed(
    {
      underlays: [
        underlay("fabric", {
          neighbors: [
            {
              asn: 64512,
              address: "192.168.11.2",
              port: 1179,
              ebgpMultiHop: true,
              holdTime: "9s",
              keepaliveTime: "3s",
              connectTime: "5s",
              passwordSecret: "tor",
              bfd: {
                receiveInterval: 35,
                transmitInterval: 38,
                detectMultiplier: 37,
                echoInterval: 40,
                echoMode: true,
                passiveMode: true,
                minimumTtl: 10,
              },
            },
            { asn: 64514, address: "192.168.11.3", bfd: {}, ebgpMultiHop: true },
            { asn: 4_200_000_000, address: "2001:DB8:0:0::2", password: `!#$%&"'()*+,-./:;<=>?@[]^_{|}~` },
            { asn: 64514, address: "2001:db8::3" },
          ],
        }),
      ],
    },
    { passwords: new Map([["tor", { password: "geheim" }]]), index: 7 },
  ),

  // All that FRR would not show is left out, and what it shows stands there.
  defaults: observed({
    underlays: [
      underlay("fabric", {
        neighbors: [
          {
            asn: 64512,
            address: "192.168.11.2",
            port: 179,
            holdTime: "3m",
            keepaliveTime: "1m",
            connectTime: "120s",
            bfd: {
              receiveInterval: 300,
              transmitInterval: 300,
              detectMultiplier: 3,
              echoInterval: 50,
              echoMode: false,
              passiveMode: false,
              minimumTtl: 254,
            },
          },
          { asn: 64512, address: "192.168.11.3", port: 0, holdTime: "0", keepaliveTime: "0" },
        ],
      }),
    ],
  }),

  tenants: observed(
    {
      underlays: [underlay()],
      l2vnis: [
        l2vni("red-1", { vni: 110, vrf: "red", l2gatewayips: ["10.1.0.1/24", "2001:db8:1::1/64"] }, { hour: 1 }),
        l2vni("red-2", { vni: 111, vrf: "red", l2gatewayips: ["10.2.0.1/24"] }, { hour: 2 }),
        l2vni("alone", { vni: 112, l2gatewayips: ["10.3.0.1/24"] }, { hour: 3 }),
        l2vni("blue", { vni: 113, hostmaster: { type: "linux-bridge", linuxBridge: { autoCreate: true } } }, { hour: 4 }),
        l2vni("green", { vni: 114, hostmaster: { type: "ovs-bridge", ovsBridge: { name: "br-ex", autoCreate: false } } }, { hour: 5 }),
      ],
      l3vnis: [
        l3vni("red", { vni: 200, vrf: "red" }),
        l3vni("blue", {
          vni: 201,
          vrf: "blue",
          hostsession: { ...hostSession("192.169.10.0/24", "2001:db8:10::/64"), asn: 64520 },
          exportRTs: ["64514:201", "192.0.2.1:7", "4200000000:5"],
          importRTs: ["064520:0201", "64514:201", "0:7"],
        }),
        l3vni("management", { vni: 202, vrf: "mgmt.example", hostsession: hostSession("192.169.11.0/24"), importRTs: ["64514:202"] }),
      ],
      passthroughs: [passthrough("host", { asn: 64599, hostasn: 64515, localcidr: { ipv4: "192.169.20.0/24", ipv6: "2001:db8:20::/64" } })],
    },
    { index: 2 },
  ),

  // The fields of OpenPERouter v0.2: two switches in different ASes without addresses, one internal neighbor, an L2VNI without a VRF.
  "two-switches": observed(
    readObjects({
      underlays: [
        {
          ...underlay(),
          spec: {
            asn: 64514,
            routeridcidr: "10.0.0.0/24",
            interfaces: ["eth1", "eth2"].map((interfaceName) => ({ type: "NetworkDevice", networkDevice: { interfaceName } })),
            tunnelEndpoint: { cidrs: ["100.65.0.0/24"] },
            gracefulRestart: { restartTimeSeconds: 60, stalePathTimeSeconds: 360 },
            neighbors: [
              { type: "external", interface: "eth1", password: "s3cret", bfd: { detectMultiplier: 5 } },
              { asn: 64513, interface: "eth2", holdTimeSeconds: 9, keepaliveTimeSeconds: 3, connectTimeSeconds: 10 },
              { asn: 64520, address: "192.168.11.8", properties: [{ type: "ebgpMultiHop", ebgpMultiHop: { ttl: 3 } }] },
              { asn: 64521, address: "2001:db8::8", properties: [{ type: "ebgpMultiHop", ebgpMultiHop: {} }] },
              { asn: 64522, address: "2001:db8::9", properties: [{ type: "ebgpMultiHop", ebgpMultiHop: { ttl: 1 } }] },
              { type: "internal", address: "192.168.11.9", bfd: { minimumTTL: 10 }, addressFamilies: [{ type: "evpn" }] },
            ],
          },
        },
      ],
      l2vnis: [l2vni("a-name-that-is-too-long-for-a-vrf", { vni: 110, underlayAddressFamily: "ipv4" })],
      l3vnis: [
        l3vni("blue", {
          vni: 201,
          vrf: "blue",
          hostsession: { asn: 64520, hosttype: "internal", localcidr: { ipv4: "192.169.10.0/24" } },
        }),
      ],
      passthroughs: [passthrough("host", { asn: 64514, hosttype: "external", localcidr: { ipv4: "192.169.20.0/24" } })],
      rawConfigs: [],
    }),
    {
      interfaces: {
        host: [
          { name: "eth1", addresses: [] },
          { name: "eth2", addresses: [] },
        ],
        router: [],
      },
    },
  ),

  // Sessions over IPv6 that carry the route to an IPv4 VTEP, and a host with both families behind them.
  "ipv6-fabric": observed(
    readObjects({
      underlays: [
        underlay(
          "fabric",
          {
            neighbors: [
              { asn: 64512, address: "2001:db8::2" },
              { asn: 64514, address: "2001:db8::3" },
              { asn: 64513, address: "192.168.11.2" },
            ],
          },
          { annotations: { "plumbline.dev/api": "v0.2" } },
        ),
      ],
      l2vnis: [],
      l3vnis: [],
      passthroughs: [passthrough("host", hostSession("192.169.20.0/24", "2001:db8:20::/64"))],
      rawConfigs: [],
    }),
  ),
};
