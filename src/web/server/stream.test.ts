import { expect, test } from "vitest";
import { Service } from "../../api/core/service.ts";
import { createLog } from "../../kube/log.ts";
import { RefreshTimer } from "../model/refresh-timer.ts";
import { modelOf, CONFIG_NAMESPACES, service } from "../testing/fixtures.ts";
import { AccessFilter } from "../access/access-filter.ts";
import { RowReferences } from "../access/refs.ts";
import type { Viewer } from "../access/viewer.ts";
import { DetailBuilder } from "./details.ts";
import { EventStream } from "./stream.ts";

const { signal } = new AbortController();

test("rows that are created during the review of the viewer are sent too", async () => {
  const model = modelOf();
  model.put(Service, service("shop", "web"));
  model.refresh();
  const known = new Set<string | undefined>();
  const viewer: Viewer = {
    user: "someone",
    login: true,
    seesAll: false,
    version: 0,
    isIncomplete: false,
    async learn(refs) {
      const pending = [...refs].filter(({ namespace }) => !known.has(namespace));
      if (pending.length === 0) return;
      await new Promise((resolve) => setImmediate(resolve));
      for (const { namespace } of pending) known.add(namespace);
      model.put(Service, service("blog", "web"));
      model.refresh();
    },
    may: ({ namespace }) => known.has(namespace),
  };
  const timer = new RefreshTimer(model, createLog({ level: "silent" }));
  const access = new AccessFilter(viewer, CONFIG_NAMESPACES);
  const details = new DetailBuilder(model, CONFIG_NAMESPACES);
  const behind = new RowReferences(model.rows, CONFIG_NAMESPACES);
  const stream = new EventStream({
    model,
    timer,
    viewer,
    access,
    behind,
    details,
    views: ["loadbalancer"],
    components: [],
    whys: [],
    signal,
  });
  const reader = stream.body().getReader();
  await reader.read();
  const { value } = await reader.read();
  timer.stop();
  const text = new TextDecoder().decode(value);
  expect(text).toMatch(/^event: snapshot\n/);
  expect(text.match(/service\/\w+\/web/g)).toEqual(["service/shop/web", "service/blog/web"]);
});
