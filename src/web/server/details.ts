import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Service } from "../../api/core/service.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { parseKey } from "../../api/kind.ts";
import type { Thing } from "../../api/health.ts";
import type { Answer, Step } from "../../explain/answer.ts";
import type { Picture } from "../model/model.ts";
import type { Ref, Scene } from "../model/row-builder.ts";
import { checks, checkThing } from "../rows/connectivity.ts";
import { policies, policyThing } from "../rows/failover.ts";
import { services, serviceThing } from "../rows/loadbalancer.ts";
import { routers, routerThing } from "../rows/router.ts";
import type { Eyes } from "../access/access-filter.ts";
import type { Viewer } from "../access/viewer.ts";
import type { PlainThing, ServiceThing, ThingAnswer, WhyAnswer } from "../api.ts";

interface Details {
  readonly paint: (key: string, scene: Scene, eyes: Eyes) => Exclude<ThingAnswer, { missing: string }>["thing"] | undefined;
  /** What a viewer must be allowed to list, as for its row. */
  readonly of: (key: string) => readonly Ref[];
}

/** What is only worked out for whoever asks for it: all of one thing, and why it is as it is. */
export class DetailPainter {
  readonly #picture: Picture;
  readonly #painters: ReadonlyMap<string, Details>;
  readonly #sessions: Ref;

  constructor(picture: Picture, { metallbNamespace }: { metallbNamespace: string }) {
    this.#picture = picture;
    this.#sessions = { kind: BGPSessionStatus, namespace: metallbNamespace };
    const paintService: Details["paint"] = (key, scene, eyes) => {
      const thing = serviceThing(key, scene, metallbNamespace);
      return thing && (eyes.may([this.#sessions]) ? thing : withoutSessions(thing));
    };
    this.#painters = new Map<string, Details>([
      [RouterNodeConfigurationStatus.kind, { paint: routerThing, of: routers.of }],
      [Service.kind, { paint: paintService, of: services.of }],
      [FailoverPolicy.kind, { paint: policyThing, of: policies.of }],
      [PodNetworkConnectivityCheck.kind, { paint: checkThing, of: checks.of }],
    ]);
  }

  async thing(id: string, viewer: Viewer, eyes: Eyes, signal: AbortSignal): Promise<ThingAnswer> {
    const missing = { missing: `There is no ${id}, or you may not see it` };
    const { kind, key } = splitId(id);
    const about: Thing = { kind, ...parseKey(key) };
    const painter = this.#painters.get(kind);
    const refs = painter?.of(key) ?? [];
    await viewer.learn([...eyes.asksOf([about]), ...refs, this.#sessions], signal);
    if (!eyes.sees(about)) return missing;
    return this.#picture.glance((scene) => {
      const thing = (eyes.may(refs) ? painter?.paint(key, scene, eyes) : undefined) ?? plain(id, scene, eyes);
      return thing ? { thing } : missing;
    });
  }

  async why(id: string, viewer: Viewer, eyes: Eyes, signal: AbortSignal): Promise<WhyAnswer> {
    const answer = this.#picture.why(id);
    if (answer) await viewer.learn(eyes.asksOf(thingsIn(answer)), signal);
    const seen = answer && eyes.answer(answer);
    return seen ? { answer: seen } : { missing: `There is no ${id}, or you may not see it` };
  }
}

function plain(id: string, scene: Scene, eyes: Eyes): PlainThing | undefined {
  const verdict = scene.verdict(id);
  const seen = verdict && eyes.verdict(verdict);
  return seen && { type: "plain", key: id, verdict: seen };
}

/** What hides behind the name of a peer shows in its health, and says nothing. */
function withoutSessions(thing: ServiceThing): ServiceThing {
  const announcements = thing.announcements.map((one) =>
    one.peers ? { ...one, peers: one.peers.map(({ name, health }) => ({ name, health })) } : one,
  );
  return { ...thing, announcements };
}

/** `Service/shop/web` is the Service with key `shop/web`. */
function splitId(id: string): { kind: string; key: string } {
  const slash = id.indexOf("/");
  return { kind: id.slice(0, Math.max(0, slash)), key: id.slice(slash + 1) };
}

function* thingsIn({ path, causes }: Answer): Iterable<Thing> {
  yield* thingsBelow(path);
  for (const { thing, symptoms, remedy } of causes) {
    yield thing;
    if (remedy?.change) yield remedy.change.thing;
    for (const symptom of symptoms) yield symptom.thing;
  }
}

function* thingsBelow({ thing, remedy, needs }: Step): Iterable<Thing> {
  yield thing;
  if (remedy?.change) yield remedy.change.thing;
  for (const need of needs) yield* thingsBelow(need);
}
