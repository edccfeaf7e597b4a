import * as fc from "fast-check";
import { expect, test } from "vitest";
import { linkTo, parseRoute, VIEWS } from "./route.ts";

test("a route has the view, the component and its options", () => {
  expect(parseRoute("#/why/Service/shop/web@node1?q=a%20b")).toEqual({
    view: "why",
    component: "Service/shop/web@node1",
    options: { q: "a b" },
  });
});

test("an empty or unknown route is the overview", () => {
  expect(parseRoute("")).toEqual({ view: "overview", options: {} });
  expect(parseRoute("#/moon/3")).toEqual({ view: "overview", component: "3", options: {} });
});

test("a route with invalid encoding is used unchanged", () => {
  expect(parseRoute("#/router/100%")).toEqual({ view: "router", component: "100%", options: {} });
});

test("a link survives a round trip", () => {
  const route = fc.record({
    view: fc.constantFrom(...VIEWS),
    component: fc.string({ unit: "binary", minLength: 1, maxLength: 12 }).filter((text) => text.isWellFormed()),
    options: fc.dictionary(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), { noNullPrototype: true }),
  });
  fc.assert(
    fc.property(route, (route) => {
      expect(parseRoute(linkTo(route))).toEqual(route);
    }),
    { seed: 9, numRuns: 100 },
  );
});
