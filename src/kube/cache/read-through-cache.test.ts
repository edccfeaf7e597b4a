import { expect, test } from "vitest";
import { Namespace } from "../../api/core/namespace.ts";
import type { Change } from "./cache.ts";
import type { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/error.ts";
import { ReadThroughCache } from "./read-through-cache.ts";

const { signal } = new AbortController();
const at = (name: string, resourceVersion: string): Namespace => ({ metadata: { name, resourceVersion } });

/** A watch that lags behind a server, both moved by hand. */
function harness() {
  const server = new Map<string, Namespace>();
  const cached = new Map<string, Namespace>();
  let listener: ((change: Change<Namespace>) => void) | undefined;
  const client = {
    resource: () => ({
      list: () => Promise.resolve({ items: [...server.values()], resourceVersion: "9" }),
      get: (name: string) => {
        const found = server.get(name);
        return found ? Promise.resolve(found) : Promise.reject(new KubeError("NotFound", "none"));
      },
    }),
  } as unknown as KubeClient;
  const cache = {
    get: (key: string) => cached.get(key),
    list: () => [...cached.values()],
    subscribe(next: NonNullable<typeof listener>) {
      listener = next;
      return () => undefined;
    },
  };
  const watch = {
    tells: (object: Namespace) => cached.set(object.metadata.name, object),
    deletes: (object: Namespace) => {
      cached.delete(object.metadata.name);
      listener?.({ type: "deleted", object });
    },
  };
  return { server, watch, view: new ReadThroughCache(client, Namespace, cache) };
}

const versions = (view: ReadThroughCache<Namespace>) =>
  Object.fromEntries(view.list().map(({ metadata }) => [metadata.name, metadata.resourceVersion]));

test("a read object counts until the watch has a newer one", async () => {
  const { server, watch, view } = harness();
  watch.tells(at("a", "3"));
  server.set("a", at("a", "5"));
  server.set("b", at("b", "4"));
  await view.refresh(signal);
  expect(versions(view)).toEqual({ a: "5", b: "4" });
  watch.tells(at("a", "4"));
  expect(view.get("a")?.metadata.resourceVersion).toBe("5");
  watch.tells(at("a", "6"));
  expect(versions(view)).toEqual({ a: "6", b: "4" });
});

test("the response to a write counts, an older one does not", () => {
  const { watch, view } = harness();
  watch.tells(at("a", "3"));
  view.learn(at("a", "7"));
  view.learn(at("a", "5"));
  expect(versions(view)).toEqual({ a: "7" });
});

test("a watched deletion counts, unless it is of an earlier object", () => {
  const { watch, view } = harness();
  view.learn(at("a", "7"));
  watch.deletes(at("a", "6"));
  expect(versions(view)).toEqual({ a: "7" });
  watch.deletes(at("a", "8"));
  expect(versions(view)).toEqual({});
});

test("an object that the watch never delivered is read again, and removed if the server no longer has it", async () => {
  const { server, view } = harness();
  server.set("a", at("a", "5"));
  await view.refresh(signal);
  expect(view.unseen).toEqual(["a"]);
  await view.verify("a", signal);
  expect(versions(view)).toEqual({ a: "5" });
  server.delete("a");
  await view.verify("a", signal);
  expect(versions(view)).toEqual({});
  expect(view.unseen).toEqual([]);
});
