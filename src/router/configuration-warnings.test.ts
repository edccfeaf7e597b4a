import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { apiAnnotation } from "../api/annotations.ts";
import type { KubeObject } from "../api/kind.ts";
import type { Change } from "../kube/cache/cache.ts";
import { createLog } from "../kube/log.ts";
import { configurationWarnings } from "./configuration-warnings.ts";
import { l2vni, l3vni, underlay } from "./testing/fixtures.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

class Objects<T extends KubeObject> {
  readonly #objects: T[] = [];
  #tell: (change: Change<T>) => void = () => undefined;

  list = () => [...this.#objects];
  waitForSync = () => Promise.resolve();
  subscribe = (listener: (change: Change<T>) => void) => {
    this.#tell = listener;
    return () => undefined;
  };

  async add(object: T): Promise<void> {
    this.#objects.push(object);
    this.#tell({ type: "added", object } as never);
    await vi.advanceTimersByTimeAsync(1000);
  }
}

test("an L2VNI without vrf gets one warning once there are objects of v0.2, unless its annotation says what is meant", async () => {
  const [underlays, l2vnis, l3vnis] = [
    new Objects<never>(),
    new Objects<ReturnType<typeof l2vni>>(),
    new Objects<ReturnType<typeof l3vni>>(),
  ];
  const recorded: string[] = [];
  const record = ({ kind, metadata }: KubeObject, { type, reason, message }: { type: string; reason: string; message: string }) =>
    void recorded.push(`${kind}/${metadata.name} ${type} ${reason}: ${message}`);
  const log = createLog({ level: "silent" });
  const warnings = configurationWarnings({ underlays, l2vnis, l3vnis, passthroughs: new Objects<never>(), events: { record }, log });
  const stop = new AbortController();
  const running = warnings.run(stop.signal);

  await underlays.add(underlay() as never);
  await l2vnis.add(l2vni("unclear", { vni: 110 }));
  await l2vnis.add(l2vni("clear", { vni: 111 }, { annotations: { [apiAnnotation]: "v0.1" } }));
  await l2vnis.add(l2vni("named", { vni: 112, vrf: "red" }));
  expect(recorded).toEqual([]);

  await l3vnis.add(l3vni("red", { vni: 200, vrf: "red", underlayAddressFamily: "ipv4" }));
  const expected = expect.stringMatching(
    /^L2VNI\/unclear Warning UnclearVrf: spec.vrf: Read as v0.1, .* annotation plumbline.dev\/api: v0.2/,
  );
  expect(recorded).toEqual([expected]);
  await l3vnis.add(l3vni("blue", { vni: 201, vrf: "blue" }));
  expect(recorded).toEqual([expected]);

  stop.abort();
  await running;
});
