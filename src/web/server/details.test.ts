import { expect, test } from "vitest";
import { Service } from "../../api/core/service.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import type { KindInNamespace } from "../rows/row-builder.ts";
import { announcement, modelOf, CONFIG_NAMESPACES, service, session } from "../testing/fixtures.ts";
import { AccessFilter } from "../access/access-filter.ts";
import { unrestrictedViewer, type Viewer } from "../access/viewer.ts";
import { DetailBuilder } from "./details.ts";

const { signal } = new AbortController();
const WEB = "Service/shop/web";

const refText = ({ kind, namespace }: KindInNamespace) => `${kind.plural} in ${namespace}`;

/** Someone who may list these, once it was found out: `services in shop`. */
function viewer(...allowed: string[]): Viewer {
  const known = new Set<string>();
  return {
    user: "someone",
    login: true,
    seesAll: false,
    version: 0,
    isIncomplete: false,
    learn: (refs) => {
      for (const ref of refs) known.add(refText(ref));
      return Promise.resolve();
    },
    may: (ref) => known.has(refText(ref)) && allowed.includes(refText(ref)),
  };
}

function ask(id: string, by: Viewer) {
  const model = modelOf();
  model.put(Service, service("shop", "web"));
  model.put(ServiceBGPStatus, announcement("shop", "web", "n1"));
  model.put(BGPSessionStatus, session("n1", "tor", "Active"));
  model.refresh();
  return new DetailBuilder(model, CONFIG_NAMESPACES).component(id, by, new AccessFilter(by, CONFIG_NAMESPACES), signal);
}

test("the announcers of a Service are shown only to viewers who may list the status objects", async () => {
  const [services, overBgp, overL2] = ["services in shop", "servicebgpstatuses in shop", "servicel2statuses in shop"];
  expect(await ask(WEB, viewer(services, overBgp, overL2))).toMatchObject({ component: { announcements: [{ node: "n1" }] } });
  const answer = await ask(WEB, viewer(services));
  expect(answer).toMatchObject({ component: { type: "plain", verdict: { id: WEB } } });
  expect(JSON.stringify(answer)).not.toMatch(/n1|tor/);
  expect(await ask(WEB, viewer(overBgp, overL2))).toHaveProperty("missing");
});

async function visiblePeers(by: Viewer) {
  const answer = await ask(WEB, by);
  return "component" in answer && answer.component.type === "service"
    ? answer.component.announcements.flatMap(({ peers = [] }) => peers)
    : [];
}

test("the state of a session is shown only to viewers who may list sessions", async () => {
  const inShop = ["services in shop", "servicebgpstatuses in shop", "servicel2statuses in shop"];
  expect(await visiblePeers(unrestrictedViewer)).toEqual([{ name: "tor", bgp: "Active", health: "Down" }]);
  expect(await visiblePeers(viewer(...inShop, "bgpsessionstatuses in metallb-system"))).toEqual(await visiblePeers(unrestrictedViewer));
  expect(await visiblePeers(viewer(...inShop))).toEqual([{ name: "tor", health: "Down" }]);
});
