import { afterEach, expect, test, vi } from "vitest";
import { fixedAccess } from "../../kube/testing/fixed-access.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { answer, useFakeTime, statusError, ScriptedServer, type ScriptedStep } from "../../kube/testing/scripted-server.ts";
import { ServedKinds } from "./served-kinds.ts";

const { signal } = new AbortController();
afterEach(() => void vi.useRealTimers());

/** A server of these groups: versions, best first, with their resources. */
async function serverOf(groups: Record<string, Record<string, string[]>>) {
  const serve: ScriptedStep = (response, { path }) => {
    const [, , group = "", version] = path.split("/");
    const served = groups[group];
    if (!served) return statusError(404, "NotFound")(response, { path } as never);
    const body =
      version === undefined
        ? { versions: Object.keys(served).map((each) => ({ version: each })) }
        : { resources: (served[version] ?? []).map((name) => ({ name })) };
    return answer(200, body)(response, { path } as never);
  };
  const server = await ScriptedServer.start([serve]);
  const client = new KubeClient(fixedAccess(server.url), { retries: 0 });
  return { server, client, served: new ServedKinds(client), requests: () => server.received.map(({ path }) => path) };
}

test("the newest known version is used, whatever else the cluster serves", async () => {
  const { server, client, served } = await serverOf({
    "helm.toolkit.fluxcd.io": { v3: ["helmreleases"], v2: ["helmreleases"], v2beta1: ["helmreleases"] },
    "kustomize.toolkit.fluxcd.io": { v1beta2: ["kustomizations"] },
  });
  await served.ask(["HelmRelease", "Kustomization"], signal);
  expect(served.lookup("HelmRelease")).toMatchObject({ found: { group: "helm.toolkit.fluxcd.io", version: "v2", plural: "helmreleases" } });
  expect(served.lookup("Kustomization")).toMatchObject({ found: { version: "v1beta2" } });
  client.close();
  await server[Symbol.asyncDispose]();
});

test("a group without the resource, or only with unknown versions, does not serve the kind", async () => {
  const { server, client, served } = await serverOf({
    "keda.sh": { v1alpha1: ["triggerauthentications"] },
    "networking.istio.io": { v9: ["virtualservices"] },
  });
  await served.ask(["ScaledObject", "VirtualService", "VolumeReplication"], signal);
  for (const kind of ["ScaledObject", "VirtualService", "VolumeReplication"] as const)
    expect(served.lookup(kind)).toEqual({ absent: "kind" });
  client.close();
  await server[Symbol.asyncDispose]();
});

test("a served kind is looked up once, a missing one every 30 s, and a doubted one at once", async () => {
  useFakeTime();
  const { server, client, served, requests } = await serverOf({ "keda.sh": { v1alpha1: ["scaledobjects"] } });
  await served.ask(["ScaledObject", "VirtualService"], signal);
  expect(requests()).toHaveLength(3);
  vi.advanceTimersByTime(29_000);
  await served.ask(["ScaledObject", "VirtualService"], signal);
  expect(requests()).toHaveLength(3);
  vi.advanceTimersByTime(1_000);
  await served.ask(["ScaledObject", "VirtualService"], signal);
  expect(requests().slice(3)).toEqual(["/apis/networking.istio.io"]);
  served.doubt("ScaledObject");
  await served.ask(["ScaledObject"], signal);
  expect(requests().slice(4)).toEqual(["/apis/keda.sh", "/apis/keda.sh/v1alpha1"]);
  client.close();
  await server[Symbol.asyncDispose]();
});

test("a failed lookup is no absence, and is retried soon", async () => {
  useFakeTime();
  const { server, client, served } = await serverOf({});
  expect(served.lookup("HelmRelease")).toMatchObject({ code: "Unreachable" });
  server.follow(statusError(403, "Forbidden", "you may not"));
  await served.ask(["HelmRelease"], signal);
  expect(served.lookup("HelmRelease")).toMatchObject({ error: expect.stringContaining("you may not"), code: "Forbidden" });
  server.follow(statusError(404, "NotFound"));
  vi.advanceTimersByTime(5_000);
  await served.ask(["HelmRelease"], signal);
  expect(served.lookup("HelmRelease")).toEqual({ absent: "kind" });
  client.close();
  await server[Symbol.asyncDispose]();
});

test("concurrent lookups share one request, and aborting one does not abort the others", async () => {
  const { server, client, served, requests } = await serverOf({ "keda.sh": { v1alpha1: ["scaledobjects"] } });
  await Promise.all(Array.from({ length: 8 }, () => served.ask(["ScaledObject"], signal)));
  expect(requests()).toEqual(["/apis/keda.sh", "/apis/keda.sh/v1alpha1"]);

  served.doubt("ScaledObject");
  const stopping = new AbortController();
  const first = served.ask(["ScaledObject"], stopping.signal);
  const second = served.ask(["ScaledObject"], signal);
  stopping.abort(new Error("stopped"));
  await expect(first).rejects.toThrow("stopped");
  await second;
  expect(served.lookup("ScaledObject")).toMatchObject({ found: { version: "v1alpha1" } });
  client.close();
  await server[Symbol.asyncDispose]();
});
