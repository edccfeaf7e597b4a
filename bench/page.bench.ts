import { browser } from "../test/support/page/browser.ts";
import { PageServer } from "../test/support/page/server.ts";
import { pageFixture } from "../test/support/page/fixtures.ts";
import { compare, defineBench, interleaved, type Measure } from "./measure.ts";
import { longestTask } from "./page/scrolling.ts";

/** At most three times as long. */
const GOAL = Number((1 / 3).toPrecision(4));
const SCROLLED = [
  ["overview", "", ".nodes .table"],
  ["router", "#/router", ".table"],
  ["load balancer, services", "#/loadbalancer", ".services .table"],
  ["load balancer, sessions", "#/loadbalancer", ".matrix"],
  ["connectivity", "#/connectivity", ".matrix"],
  ["topology", "#/topology", ".fabric-scroll"],
  ["timeline", "#/timeline", ".table"],
] as const;

export const bench = defineBench({
  full: { runs: 5, nodes: 500, services: 100, frames: 60 },
  tiny: { runs: 1, nodes: 20, services: 20, frames: 4 },
  async run({ runs, nodes, services, frames }, say) {
    await using large = await PageServer.start(pageFixture({ nodes, services, every: 25 }));
    await using small = await PageServer.start(pageFixture({ nodes: 10, services, every: 5 }));
    const chromium = await browser();
    try {
      const measures: Measure[] = [];
      for (const [view, hash, selector] of SCROLLED) {
        const { ours, peer } = await interleaved(runs, {
          ours: () => longestTask(chromium, `${large.address}${hash}`, selector, frames),
          peer: () => longestTask(chromium, `${small.address}${hash}`, selector, frames),
        });
        say(`${view}: ${ours.join(" ")} ms with ${nodes} nodes; ${peer.join(" ")} ms with 10`);
        const what = `${view}: longest task while scrolling ${nodes} nodes × ${services} services (the peer: 10 nodes)`;
        measures.push(compare({ bench: "page", what, goal: GOAL, unit: "ms" }, ours, peer));
      }
      return measures;
    } finally {
      await chromium.close();
    }
  },
});
