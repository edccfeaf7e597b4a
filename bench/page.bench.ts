import { browser } from "../test/support/page/browser.ts";
import { PageServer } from "../test/support/page/server.ts";
import { specimen } from "../test/support/page/specimen.ts";
import { compare, interleaved, type Bench, type Measure } from "./measure.ts";
import { longestTask } from "./page/scrolling.ts";

/** At most three times as long. */
const GOAL = Number((1 / 3).toPrecision(4));
const SCROLLED = [
  ["overview", "", ".nodes .table"],
  ["router", "#/router", ".table"],
  ["load balancer, services", "#/loadbalancer", ".services .table"],
  ["load balancer, sessions", "#/loadbalancer", ".matrix"],
  ["connectivity", "#/connectivity", ".matrix"],
] as const;

export const bench: Bench = {
  name: "page",
  async run(say) {
    await using large = await PageServer.start(specimen({ nodes: 500, services: 100, every: 25 }));
    await using small = await PageServer.start(specimen({ nodes: 10, services: 100, every: 5 }));
    const chromium = await browser();
    try {
      const measures: Measure[] = [];
      for (const [view, hash, selector] of SCROLLED) {
        const { ours, peer } = await interleaved({
          ours: () => longestTask(chromium, `${large.address}${hash}`, selector),
          peer: () => longestTask(chromium, `${small.address}${hash}`, selector),
        });
        say(`${view}: ${ours.join(" ")} ms with 500 nodes; ${peer.join(" ")} ms with 10`);
        const what = `${view}: longest task while scrolling 500 nodes × 100 services (the peer: 10 nodes)`;
        measures.push(compare({ bench: "page", what, goal: GOAL, unit: "ms" }, ours, peer));
      }
      return measures;
    } finally {
      await chromium.close();
    }
  },
};
