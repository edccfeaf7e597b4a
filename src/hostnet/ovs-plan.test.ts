import { describe, expect, test } from "vitest";
import { plan, planRemoval } from "./plan.ts";
import { link, snapshot, typedCommands } from "./testing/fixtures.ts";
import { OVS_MASTER, type DesiredLink } from "./desired-link.ts";

const owner = "L2VNI/red";
const bridge: DesiredLink = { netns: "host", name: "br-hs-100", type: "ovs-bridge", owner };
const unattached: DesiredLink = { netns: "host", name: "host-100", type: "veth", owner, peer: { netns: "router", name: "pe-100" } };
const leg: DesiredLink = { ...unattached, master: `${OVS_MASTER}br-hs-100` };
const farLeg = link("pe-100", "veth", { index: 9, peer: { index: 7 } });
const liveLeg = link("host-100", "veth", { index: 7, peer: { index: 9 }, master: "ovs-system" });
const liveBridge = link("br-hs-100", "openvswitch", { alias: "", group: "default" });
const ours = { name: "br-hs-100", owner, ports: ["br-hs-100", "host-100"] };

describe("a bridge of Open vSwitch", () => {
  test("is created with its owner, and the veth becomes its port", () => {
    const planned = plan([leg, bridge], snapshot({ ovs: [] }));
    expect(typedCommands(planned)).toEqual([
      "host: ovs-vsctl add-br br-hs-100 -- br-set-external-id br-hs-100 plumbline L2VNI/red",
      "host: ip link set dev br-hs-100 up",
      "host: ip link add name host-100 group 7017 type veth peer name pe-100 netns perouter group 7017",
      "host: ovs-vsctl --may-exist add-port br-hs-100 host-100",
      "host: ip link set dev host-100 alias plumbline:L2VNI/red up",
    ]);
  });

  test("that is as wanted is not changed", () => {
    const have = snapshot({ host: [liveBridge, liveLeg], router: [farLeg], ovs: [ours] });
    expect(typedCommands(plan([bridge, leg], have))).toEqual([]);
  });

  test("that is foreign is used, but not set up or deleted", () => {
    const foreign = { ...ours, owner: undefined, ports: [] };
    const have = snapshot({
      host: [{ ...liveBridge, up: false }, { ...liveLeg, master: "br0" }, link("br0", "bridge")],
      router: [farLeg],
      ovs: [foreign],
    });
    expect(typedCommands(plan([bridge, leg], have))).toEqual([
      "host: ip link set dev host-100 nomaster",
      "host: ovs-vsctl --may-exist add-port br-hs-100 host-100",
    ]);
    expect(typedCommands(planRemoval([bridge], have))).toEqual([]);
  });

  test("of ours is deleted, and a veth is removed from it before its deletion", () => {
    const have = snapshot({ host: [liveBridge, liveLeg], router: [farLeg], ovs: [ours] });
    expect(typedCommands(planRemoval([leg, bridge], have))).toEqual([
      "host: ovs-vsctl --if-exists del-port host-100",
      "host: ip link del dev host-100",
      "host: ovs-vsctl --if-exists del-br br-hs-100",
    ]);
  });

  test("does not keep a port whose veth was deleted with its peer", () => {
    const have = snapshot({ host: [liveBridge, liveLeg], router: [farLeg], ovs: [{ ...ours, owner: undefined }] });
    expect(typedCommands(planRemoval([{ netns: "router", name: "pe-100" }, leg], have))).toEqual([
      "host: ovs-vsctl --if-exists del-port host-100",
      "router: ip link del dev pe-100",
    ]);
  });

  test("loses a port that is wanted elsewhere", () => {
    const have = snapshot({ host: [liveBridge, liveLeg, link("br0", "bridge")], router: [farLeg], ovs: [ours] });
    expect(typedCommands(plan([{ ...leg, master: "br0" }], have))).toEqual([
      "host: ovs-vsctl --if-exists del-port host-100",
      "host: ip link set dev host-100 master br0",
    ]);
    expect(typedCommands(plan([unattached], have))).toEqual(["host: ovs-vsctl --if-exists del-port host-100"]);
    expect(typedCommands(plan([{ ...leg, master: `${OVS_MASTER}br-other` }], have))).toEqual([
      "host: ovs-vsctl --if-exists del-port host-100",
      "host: ovs-vsctl --may-exist add-port br-other host-100",
    ]);
  });

  test("that Open vSwitch could not create is rejected", () => {
    expect(plan([bridge], snapshot({ ovs: [ours] })).rejected?.text).toContain("has not created this bridge");
  });

  test("does not replace a link of the same name", () => {
    const have = snapshot({ host: [link("br-hs-100", "bridge", { alias: "", group: "default" })], ovs: [] });
    expect(plan([bridge], have).rejected?.message).toBe(
      "br-hs-100: a link with this name already exists and is not an Open vSwitch bridge",
    );
  });
});
