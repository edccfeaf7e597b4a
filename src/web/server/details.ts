import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Service } from "../../api/core/service.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { parseKey } from "../../api/kind.ts";
import type { Thing } from "../../api/standing.ts";
import type { Answer, Step } from "../../explain/answer.ts";
import type { Picture } from "../picture/picture.ts";
import type { Scene } from "../picture/scene.ts";
import { checkThing } from "../rows/connectivity.ts";
import { policyThing } from "../rows/failover.ts";
import { serviceThing } from "../rows/loadbalancer.ts";
import { routerThing } from "../rows/router.ts";
import type { Eyes } from "../viewers/eyes.ts";
import type { Viewer } from "../viewers/viewer.ts";
import type { PlainThing, ThingAnswer, WhyAnswer } from "../views.ts";

type Details = (key: string, scene: Scene) => Exclude<ThingAnswer, { missing: string }>["thing"] | undefined;

/** What is only worked out for whoever asks for it: all of one thing, and why it is as it is. */
export class DetailPainter {
  readonly #picture: Picture;
  readonly #painters: ReadonlyMap<string, Details>;

  constructor(picture: Picture, { metallbNamespace }: { metallbNamespace: string }) {
    this.#picture = picture;
    this.#painters = new Map<string, Details>([
      [RouterNodeConfigurationStatus.kind, routerThing],
      [Service.kind, (key, scene) => serviceThing(key, scene, metallbNamespace)],
      [FailoverPolicy.kind, policyThing],
      [PodNetworkConnectivityCheck.kind, checkThing],
    ]);
  }

  async thing(id: string, viewer: Viewer, eyes: Eyes, signal: AbortSignal): Promise<ThingAnswer> {
    const missing = { missing: `There is no ${id}, or you may not see it` };
    const { kind, key } = splitId(id);
    const about: Thing = { kind, ...parseKey(key) };
    await viewer.learn(eyes.asksOf([about]), signal);
    if (!eyes.sees(about)) return missing;
    return this.#picture.glance((scene) => {
      const thing = this.#painters.get(kind)?.(key, scene) ?? plain(id, scene, eyes);
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
