import { expect, test } from "vitest";
import { Service } from "../../api/core/service.ts";
import { createLog } from "../../kube/log.ts";
import { Pulse } from "../model/refresh-timer.ts";
import { pictureOf, PLACES, service } from "../testing/fixtures.ts";
import { Eyes } from "../access/access-filter.ts";
import { RefsBehind } from "../access/refs.ts";
import type { Viewer } from "../access/viewer.ts";
import { DetailPainter } from "./details.ts";
import { EventStream } from "./stream.ts";

const { signal } = new AbortController();

test("what comes into being while the API server is asked about the viewer is told as well", async () => {
  const picture = pictureOf();
  picture.put(Service, service("shop", "web"));
  picture.refresh();
  const known = new Set<string | undefined>();
  const viewer: Viewer = {
    user: "someone",
    login: true,
    seesAll: false,
    version: 0,
    isIncomplete: false,
    async learn(refs) {
      const asked = [...refs].filter(({ namespace }) => !known.has(namespace));
      if (asked.length === 0) return;
      await new Promise((resolve) => setImmediate(resolve));
      for (const { namespace } of asked) known.add(namespace);
      picture.put(Service, service("blog", "web"));
      picture.refresh();
    },
    may: ({ namespace }) => known.has(namespace),
  };
  const pulse = new Pulse(picture, createLog({ level: "silent" }));
  const eyes = new Eyes(viewer, PLACES);
  const details = new DetailPainter(picture, PLACES);
  const behind = new RefsBehind(picture.rows, PLACES);
  const stream = new EventStream({ picture, pulse, viewer, eyes, behind, details, views: ["loadbalancer"], things: [], whys: [], signal });
  const reader = stream.body().getReader();
  await reader.read();
  const { value } = await reader.read();
  pulse.stop();
  const told = new TextDecoder().decode(value);
  expect(told).toMatch(/^event: snapshot\n/);
  expect(told.match(/service\/\w+\/web/g)).toEqual(["service/shop/web", "service/blog/web"]);
});
