import { expect, test } from "vitest";
import type { KubeObject } from "../../api/kind.ts";
import { loadBalancerRule, loadBalancerWarnings } from "./loadbalancer-rule.ts";
import type { LintContext } from "./rules.ts";

function object(kind: string, name: string, spec: object, more: object = {}): KubeObject {
  const core = ["Node", "Secret", "Namespace"].includes(kind);
  const apiVersion = core ? "v1" : kind === "BGPPeer" ? "metallb.io/v1beta2" : "metallb.io/v1beta1";
  const metadata = { name, ...(kind !== "Node" && { namespace: "metallb-system" }) };
  return { apiVersion, kind, metadata, ...(!core && { spec }), ...more };
}

const pool = (name: string, ...addresses: string[]) => object("IPAddressPool", name, { addresses, autoAssign: true, avoidBuggyIPs: false });
const peer = (name: string, spec: object = {}) => object("BGPPeer", name, { myASN: 1, peerASN: 2, peerAddress: "192.0.2.1", ...spec });
const ad = (name: string, spec: object = {}) =>
  object("BGPAdvertisement", name, { aggregationLength: 32, aggregationLengthV6: 128, ...spec });
const rack = (rack: string) => ({ nodeSelectors: [{ matchLabels: { rack } }] });
const node = (name: string, labels: object) => object("Node", name, {}, { metadata: { name, labels } });
const secret = (fields: object) => object("Secret", "s", {}, fields);

const failures = (objects: readonly KubeObject[], context: LintContext = {}) =>
  loadBalancerRule(objects, context).map(({ kind, name, reason, field, message }) => `${kind}/${name} ${reason} ${field}: ${message}`);

test("a valid configuration has no failures", () => {
  expect(failures([pool("a", "10.0.0.0/24"), peer("p"), ad("ad"), object("L2Advertisement", "l2", {})])).toEqual([]);
});

test("of two overlapping pools the first by name wins, since neither is older", () => {
  expect(failures([pool("b", "10.0.0.0/24"), pool("a", "10.0.0.0/16")])).toEqual([
    'IPAddressPool/b ValidationFailed spec.addresses[0]: CIDR "10.0.0.0/24" in pool "b" overlaps with already defined CIDR "10.0.0.0/16"',
  ]);
});

test("peers for different nodes do not conflict, and those for every node conflict with all", () => {
  const apart = [peer("a", rack("a")), peer("b", rack("b"))];
  expect(failures(apart)).toEqual([]);
  expect(failures([...apart, peer("c", { myASN: 7, peerAddress: "192.0.2.9" })])).toEqual([
    "BGPPeer/c ValidationFailed spec.myASN: peer 192.0.2.9 has myAsn different from 192.0.2.1, in FRR mode all myAsn must be equal",
  ]);
  const nodes = [node("n1", { rack: "a" }), node("n2", { rack: "b", zone: "1" })];
  const zone = { nodeSelectors: [{ matchLabels: { zone: "1" } }] };
  expect(failures([...apart, ...nodes])).toEqual([]);
  expect(failures([...apart, ...nodes, peer("z", zone)])).toHaveLength(1);
});

test("a named node is validated by its own view", () => {
  const objects = [peer("a", { ...rack("a"), myASN: 0 }), peer("b", rack("b")), node("n1", { rack: "a" }), node("n2", { rack: "b" })];
  expect(failures(objects, { node: "n1" })).toEqual(["BGPPeer/a ValidationFailed spec.myASN: parsing peer a missing local ASN"]);
  expect(failures(objects, { node: "n2" })).toEqual([]);
});

const warnedIn = (namespace: string, context: LintContext = {}) =>
  loadBalancerWarnings([{ ...pool("a", "10.0.0.0/24"), metadata: { name: "a", namespace } }], context).map(
    ({ namespace: of, field, message }) => `${of} ${field}: ${message}`,
  );

test("an object in another namespace is a warning", () => {
  expect(warnedIn("shop")).toEqual([
    "shop metadata.namespace: IPAddressPool a in namespace shop has no effect: the load balancer reads only namespace metallb-system",
  ]);
  expect([warnedIn("metallb-system"), warnedIn("shop", { metallbNamespace: "shop" })]).toEqual([[], []]);
  expect(warnedIn("metallb-system", { metallbNamespace: "shop" })).toHaveLength(1);
  // It names none: it goes wherever it is applied.
  expect(warnedIn("default")).toEqual([]);
});

const referring = [
  peer("p", { bfdProfile: "fast", passwordSecret: { name: "s" } }),
  ad("ad", { communities: ["alias", "65000:1", "other"], ipAddressPools: ["a"], peers: ["q"] }),
];
const references = (...objects: KubeObject[]) => loadBalancerWarnings(objects).map(({ field, message }) => `${field}: ${message}`);

test("a reference to an object of a kind that is not given is a warning, not a failure", () => {
  expect(failures(referring)).toEqual([]);
  expect(references(...referring)).toEqual([
    "spec.communities[0]: BGPAdvertisement ad refers to community alias alias, and no Community is in the given files",
    "spec.communities[2]: BGPAdvertisement ad refers to community alias other, and no Community is in the given files",
    "spec.bfdProfile: BGPPeer p refers to BFDProfile fast, which is not in the given files",
    "spec.passwordSecret.name: BGPPeer p refers to Secret s, which is not in the given files",
    "spec.ipAddressPools[0]: BGPAdvertisement ad refers to IPAddressPool a, which is not in the given files",
    "spec.peers[0]: BGPAdvertisement ad names BGPPeer q, which does not exist",
  ]);
});

test("an advertisement may refer to missing peers if no peer is given", () => {
  expect(references(ad("ad", { peers: ["q"] }))).toEqual([
    "spec.peers[0]: BGPAdvertisement ad refers to BGPPeer q, which is not in the given files",
  ]);
});

test("a missing reference is a failure if others of the kind are given", () => {
  expect(failures([...referring, object("BFDProfile", "slow", {}), object("Community", "c", { communities: [] })])).toEqual([
    'BGPAdvertisement/ad DependencyFailed spec.communities[0]: invalid community format: alias\ninvalid community "alias" in BGP advertisement',
    'BGPAdvertisement/ad DependencyFailed spec.communities[2]: invalid community format: other\ninvalid community "other" in BGP advertisement',
    "BGPPeer/p DependencyFailed spec.bfdProfile: peer p referencing non existing bfd profile fast",
  ]);
});

test("an object with a missing reference is still compared with the others", () => {
  expect(failures([peer("a", { bfdProfile: "fast" }), peer("b", { myASN: 7, peerAddress: "192.0.2.9" })])).toEqual([
    "BGPPeer/b ValidationFailed spec.myASN: peer 192.0.2.9 has myAsn different from 192.0.2.1, in FRR mode all myAsn must be equal",
  ]);
});

test("an advertisement whose community alias is missing covers its pool", () => {
  expect(references(pool("a", "10.0.0.0/24"), ad("ad", { communities: ["alias"] }))).toEqual([
    "spec.communities[0]: BGPAdvertisement ad refers to community alias alias, and no Community is in the given files",
  ]);
});

test("a Secret in the manifests must have the right type and a password, and others are not checked", () => {
  const peers = [peer("p", { passwordSecret: { name: "s" } })];
  expect(failures([...peers, secret({ type: "kubernetes.io/basic-auth", stringData: { password: "geheim" } })])).toEqual([]);
  expect(failures([...peers, secret({ type: "Opaque", stringData: { password: "geheim" } })])).toEqual([
    'BGPPeer/p ValidationFailed spec.passwordSecret.name: parsing peer p secret type mismatch on "metallb-system"/"s", type "kubernetes.io/basic-auth" is expected \nfailed to parse peer p password secret',
  ]);
});

test("each namespace is a separate load balancer", () => {
  const elsewhere = pool("a", "10.0.0.0/24");
  elsewhere.metadata.namespace = "other";
  expect(failures([pool("b", "10.0.0.0/24"), elsewhere])).toEqual([]);
});

const warned = (...objects: KubeObject[]) =>
  loadBalancerWarnings(objects).map(({ kind, name, namespace, field }) => [kind, namespace, name, field].join(" "));

test("likely mistakes are warnings if the rest of the configuration is given", () => {
  const narrow = ad("ad", { ipAddressPools: ["a", "gone"], peers: ["nobody"] });
  expect(warned(pool("a", "10.0.0.0/24"), pool("b", "10.0.1.0/24"), narrow, peer("p"))).toEqual([
    "BGPAdvertisement metallb-system ad spec.ipAddressPools[1]",
    "BGPAdvertisement metallb-system ad spec.peers[0]",
    "IPAddressPool metallb-system b ",
  ]);
  expect(warned(pool("a", "10.0.0.0/24"))).toEqual([]);
  expect(warned(narrow)).toEqual([
    "BGPAdvertisement metallb-system ad spec.ipAddressPools[0]",
    "BGPAdvertisement metallb-system ad spec.ipAddressPools[1]",
    "BGPAdvertisement metallb-system ad spec.peers[0]",
  ]);
});
