import type { Page } from "playwright-core";
import { expect, test, vi } from "vitest";
import { usePage } from "../support/page/page-setup.ts";
import type { PageServer } from "../support/page/server.ts";
import { pageFixture } from "../support/page/fixtures.ts";

const BROKEN = pageFixture({ nodes: 12, services: 5, every: 6 });

let server: PageServer;
let page: Page;
const { problems, open } = usePage(BROKEN, (...started) => {
  [page, server] = started;
});

async function clickIn(selector: string, [dx, dy]: readonly [number, number]): Promise<void> {
  const { x, y } = (await page.locator(selector).first().boundingBox()) ?? { x: 0, y: 0 };
  await page.mouse.click(x + dx, y + dy);
}
const count = (selector: string) => page.locator(selector).count();
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 40 });

test("the topology shows switches, nodes and sessions, and what is clicked opens", async () => {
  await open("#/topology");
  await page.getByText("12 nodes · 22 of 24 sessions up · 6 pairs of nodes without traffic").waitFor();
  const drawing = page.getByRole("application", { name: "Switches, nodes and sessions" });
  await clickIn(".tile.node.Down", [60, 10]);
  await page.locator(".detail").getByRole("heading", { name: "openperouter-system/node2" }).waitFor();
  // All ports that are down are one path.
  await clickIn(".port.Down", [4, 4]);
  await page.locator(".detail").getByText("BGP session with 10.0.0.1 is Active").waitFor();
  await page.locator(".detail").getByRole("link", { name: "10.0.0.1" }).click();
  await page.locator(".detail").getByText("10 of 12 up, as the nodes report").waitFor();
  await page.getByRole("link", { name: "Close" }).click();

  await page.getByRole("row", { name: "node2 ↔ node9" }).click();
  await page.getByRole("status").getByText("node2 ↔ node9 for ").waitFor();
  expect(await count(".pair.chosen")).toBe(1);
  await page.getByLabel("VNI", { exact: true }).selectOption("200");
  await eventually(async () => expect(await count(".tile.outside")).toBe(4));
  await eventually(async () => expect(await count(".pair")).toBe(0));
  expect(page.url()).toContain("vni=200");

  await drawing.focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
  await page
    .getByRole("status")
    .getByText(/^(node\d+:|Session of node)/)
    .waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".detail").waitFor();
  expect(problems).toEqual([]);
});

test("the topology of 500 nodes is a few hundred elements, follows what changes, and shows a rack whole when asked", async () => {
  server.fixture = pageFixture({ nodes: 500, services: 5, every: 25 });
  await open("#/topology");
  await page.getByText("500 nodes · 980 of 1000 sessions up").waitFor();
  expect(await count(".tile.node.Down")).toBe(20);
  expect(await count(".pair")).toBe(60);
  expect(await count("*")).toBeLessThan(1_500);
  const well = pageFixture({ nodes: 500, services: 5 });
  server.tell({ views: { topology: { upsert: well.rows.topology } } });
  await eventually(async () => expect(await count(".tile.Down, .pair")).toBe(0));
  expect(await count(".tile.group")).toBe(20);
  await clickIn(".tile.group", [60, 20]);
  await eventually(async () => expect(await count(".tile.node")).toBe(25));
  await page.keyboard.press("/");
  await page.keyboard.type("node49");
  await eventually(async () => expect(await count(".tile.node")).toBe(11));
});

test("the timeline has what failed, was fixed and changed, newest first, and follows", async () => {
  await open("#/timeline");
  await page.getByText("6, newest first").waitFor();
  const texts = async () => (await page.getByRole("row").allTextContents()).slice(1);
  expect((await texts())[0]).toMatch(/Failed.*eth1 on node2.*and 1 more.*Interface eth1 has no carrier/);
  await page.getByRole("row", { name: /works again after 11m/ }).click();
  await page.locator(".detail").getByText("and 21 more").waitFor();
  expect(server.streams.at(-1)?.query).not.toContain("component");
  await page.keyboard.press("Escape");
  const [first] = BROKEN.rows.timeline;
  if (first)
    server.tell({ views: { timeline: { upsert: [{ ...first, key: "entry/99", time: new Date().toISOString(), message: "just now" }] } } });
  await eventually(async () => expect((await texts())[0]).toContain("just now"));
  await page.keyboard.press("b");
  await page.getByText("2 of 7, newest first").waitFor();
  await page.getByRole("button", { name: "Only changed" }).click();
  await page.getByText("3 of 7, newest first").waitFor();
  expect(problems).toEqual([]);
});
