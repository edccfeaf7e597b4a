import { afterAll, beforeAll, expect, test } from "vitest";
import type { Role } from "../../src/api/failover/failover-policy.ts";
import { comparable, PolicyWatch, TestController, want } from "../support/failover-controller.ts";
import { type FailoverSite, failoverSite } from "../support/failover-site.ts";

type Mode = "safe" | "unsafe";
type Application = Awaited<ReturnType<FailoverSite["application"]>>;
type State = ReturnType<typeof comparable>;

/** As many as a machine of two cores can follow. */
const APPLICATIONS = 8;

let site: FailoverSite;
let policies: PolicyWatch;

beforeAll(async () => {
  site = await failoverSite("failover-kill");
  policies = new PolicyWatch(site.client);
});
afterAll(async () => {
  policies.stop();
  await site.stop();
});

/** An application that is switched to and fro, and whose controllers die. */
class Subject {
  readonly verbs = new Set<string>();
  readonly #app: Application;
  #controller: TestController;

  private constructor(app: Application) {
    this.#app = app;
    this.#controller = this.#start();
  }

  static async make(mode: Mode): Promise<Subject> {
    const subject = new Subject(await site.application());
    await subject.#app.policy({ desiredState: "primary", mode });
    await policies.complete(subject.#app.namespace, 1);
    return subject;
  }

  #start(): TestController {
    return new TestController({ access: site.access, namespace: this.#app.namespace });
  }

  /** How often its volumes were demoted under a pod, or worse. */
  async damage(): Promise<number> {
    return (await site.site.storage.damage(this.#app.namespace)).length;
  }

  async state(): Promise<State> {
    return comparable(this.#app.namespace, await this.#app.read());
  }

  /** Returns how many writes it took. With `dieAfter`, the controller dies after so many of them and another one takes over. */
  async switchTo(desiredState: Role, mode: Mode, dieAfter?: number): Promise<number> {
    const [first, { namespace }] = [this.#controller, this.#app];
    first.writes.length = 0;
    if (dieAfter !== undefined) first.dieAfter(dieAfter);
    const generation = await want(site.client, namespace, { desiredState, mode });
    const done = policies.complete(namespace, generation);
    await Promise.race([first.death, done]);
    first.dieAfter(Infinity);
    if (first.isDead) this.#controller = this.#start();
    await done;
    const writes = [...first.writes, ...(first.isDead ? this.#controller.writes : [])];
    for (const { verb } of writes) this.verbs.add(verb);
    return writes.length;
  }

  async stop(): Promise<void> {
    await this.#controller.stop();
  }
}

test("after a kill at any write, in both modes and directions, the next controller reaches the same state", async () => {
  const subjects = await Promise.all(Array.from({ length: APPLICATIONS }, () => Subject.make("safe")));
  const [first] = subjects;
  if (!first) throw new Error("no subject");

  const primary = await first.state();
  const points: { mode: Mode; point: number }[] = [];
  const secondary: Partial<Record<Mode, State>> = {};
  for (const mode of ["safe", "unsafe"] as const) {
    const down = await first.switchTo("secondary", mode);
    secondary[mode] = await first.state();
    const up = await first.switchTo("primary", mode);
    expect(await first.state()).toEqual(primary);
    points.push(...Array.from({ length: Math.max(down, up) }, (_, at) => ({ mode, point: at + 1 })));
  }
  expect(secondary.unsafe).toEqual(secondary.safe);

  const queue = points.values();
  const work = async (subject: Subject) => {
    for (const { mode, point } of queue) {
      const damage = await subject.damage();
      const harmed = async () => mode === "safe" && (await subject.damage()) > damage;
      await subject.switchTo("secondary", mode, point);
      expect({ mode, point, harmed: await harmed(), state: await subject.state() }).toEqual({
        mode,
        point,
        harmed: false,
        state: secondary.safe,
      });
      await subject.switchTo("primary", mode, point);
      expect({ mode, point, harmed: await harmed(), state: await subject.state() }).toEqual({ mode, point, harmed: false, state: primary });
    }
  };
  await Promise.all(subjects.map(work));
  console.info(`killed at ${points.length} points, both ways`);
  expect(new Set(subjects.flatMap(({ verbs }) => [...verbs]))).toEqual(new Set(["patch", "patchStatus"]));
  for (const subject of subjects) await subject.stop();
}, 900_000);
