import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Service } from "../../api/core/service.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { parseKey } from "../../api/kind.ts";
import type { Component } from "../../api/health.ts";
import type { Answer, PathNode } from "../../explain/answer.ts";
import type { DashboardModel } from "../model/model.ts";
import type { KindInNamespace, BuildContext } from "../rows/row-builder.ts";
import { checks, checkDetail } from "../rows/connectivity.ts";
import { policies, policyDetail } from "../rows/failover.ts";
import { services, serviceDetail } from "../rows/loadbalancer.ts";
import { routers, routerDetail } from "../rows/router.ts";
import type { AccessFilter } from "../access/access-filter.ts";
import type { Viewer } from "../access/viewer.ts";
import type { ComponentDetail, ServiceDetailData, DetailAnswer, WhyAnswer } from "../api.ts";

interface Details {
  readonly build: (
    key: string,
    context: BuildContext,
    access: AccessFilter,
  ) => Exclude<DetailAnswer, { missing: string }>["component"] | undefined;
  /** The same permissions as for its row. */
  readonly of: (key: string) => readonly KindInNamespace[];
}

/** Builds details and causes on request. */
export class DetailBuilder {
  readonly #model: DashboardModel;
  readonly #builders: ReadonlyMap<string, Details>;
  readonly #sessions: KindInNamespace;

  constructor(model: DashboardModel, { metallbNamespace }: { metallbNamespace: string }) {
    this.#model = model;
    this.#sessions = { kind: BGPSessionStatus, namespace: metallbNamespace };
    const buildService: Details["build"] = (key, context, access) => {
      const component = serviceDetail(key, context, metallbNamespace);
      return component && (access.may([this.#sessions]) ? component : withoutSessions(component));
    };
    this.#builders = new Map<string, Details>([
      [RouterNodeConfigurationStatus.kind, { build: routerDetail, of: routers.of }],
      [Service.kind, { build: buildService, of: services.of }],
      [FailoverPolicy.kind, { build: policyDetail, of: policies.of }],
      [PodNetworkConnectivityCheck.kind, { build: checkDetail, of: checks.of }],
    ]);
  }

  async component(id: string, viewer: Viewer, access: AccessFilter, signal: AbortSignal): Promise<DetailAnswer> {
    const missing = { missing: `${id} not found, or you have no access` };
    const { kind, key } = splitId(id);
    const about: Component = { kind, ...parseKey(key) };
    const builder = this.#builders.get(kind);
    const refs = builder?.of(key) ?? [];
    await viewer.learn([...access.asksOf([about]), ...refs, this.#sessions], signal);
    if (!access.sees(about)) return missing;
    return this.#model.glance((context) => {
      const component = (access.may(refs) ? builder?.build(key, context, access) : undefined) ?? plain(id, context, access);
      return component ? { component } : missing;
    });
  }

  async why(id: string, viewer: Viewer, access: AccessFilter, signal: AbortSignal): Promise<WhyAnswer> {
    const answer = this.#model.why(id);
    if (answer) await viewer.learn(access.asksOf(componentsIn(answer)), signal);
    const visible = answer && access.answer(answer);
    return visible ? { answer: visible } : { missing: `${id} not found, or you have no access` };
  }
}

function plain(id: string, context: BuildContext, access: AccessFilter): ComponentDetail | undefined {
  const verdict = context.verdict(id);
  const visible = verdict && access.verdict(verdict);
  return visible && { type: "plain", key: id, verdict: visible };
}

/** Without permission for sessions, only their health is shown. */
function withoutSessions(component: ServiceDetailData): ServiceDetailData {
  const announcements = component.announcements.map((one) =>
    one.peers ? { ...one, peers: one.peers.map(({ name, health }) => ({ name, health })) } : one,
  );
  return { ...component, announcements };
}

/** `Service/shop/web` is the Service with key `shop/web`. */
function splitId(id: string): { kind: string; key: string } {
  const slash = id.indexOf("/");
  return { kind: id.slice(0, Math.max(0, slash)), key: id.slice(slash + 1) };
}

function* componentsIn({ path, causes }: Answer): Iterable<Component> {
  yield* componentsBelow(path);
  for (const { component, symptoms, fix } of causes) {
    yield component;
    if (fix?.change) yield fix.change.component;
    for (const symptom of symptoms) yield symptom.component;
  }
}

function* componentsBelow({ component, fix, dependencies }: PathNode): Iterable<Component> {
  yield component;
  if (fix?.change) yield fix.change.component;
  for (const dependency of dependencies) yield* componentsBelow(dependency);
}
