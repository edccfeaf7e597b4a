import type { Page } from "playwright-core";
import { expect, test, vi } from "vitest";
import { usePage } from "../support/page/page-setup.ts";
import { PageServer } from "../support/page/server.ts";
import { pageFixture } from "../support/page/fixtures.ts";

const BROKEN = pageFixture({ nodes: 12, services: 20, every: 6 });
const WELL = pageFixture({ nodes: 12, services: 20 });
const ROUTER = "RouterNodeConfigurationStatus/openperouter-system/node2";

let server: PageServer;
let page: Page;
const strangers: string[] = [];
const { problems, open } = usePage(BROKEN, (...started) => {
  [page, server] = started;
  server.token = undefined;
  server.resumes = false;
  strangers.length = 0;
  page.on("request", (request) => !request.url().startsWith(server.address) && strangers.push(request.url()));
});
const count = (selector: string) => page.locator(selector).count();
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 40 });

test("each view shows what the server tells, and nothing is asked of anyone else", async () => {
  await open();
  await page.getByText("2 problems").waitFor();
  await page.locator(".card").first().getByText("Interface eth1 has no carrier").waitFor();
  await page.getByRole("row", { name: "node2" }).getByText("down 2/6").waitFor();

  await open(`#/router/${ROUTER}`);
  await page.locator(".tree").getByText("VNI 200 is held by L3VNI red").waitFor();
  await page.locator(".detail").getByText("1 of 3 up").waitFor();

  await open("#/loadbalancer/Service/shop/web-4");
  await page.getByRole("img", { name: "IPv4: 8 of 8 assigned, full" }).waitFor();
  await page.locator(".detail").getByText("No session of this node is up, so nobody hears it").waitFor();
  await page.getByRole("application", { name: "Sessions, node by peer" }).waitFor();

  await open("#/failover/FailoverPolicy/shop/shop");
  await page.getByRole("listitem", { name: /^AwaitTermination: Done, 1m 13s/ }).waitFor();
  await page.locator(".waiting").getByText("has not everything yet").waitFor();

  await open("#/connectivity/PodNetworkConnectivityCheck/plumbline-system/node1-to-node2");
  await page.getByText("Everything to and from node2 fails").waitFor();
  await page
    .getByRole("img", { name: /^Latency of 40 attempts: .*, 5 failed$/ })
    .locator("canvas")
    .waitFor();
  expect(await count(".lanes .Down")).toBeGreaterThan(0);

  await open("#/why/Service/shop/web-4");
  await page.locator(".step.cause").getByText("Interface eth1 has no carrier").waitFor();
  expect(await count(".sheet .line")).toBe(4);
  await page.getByRole("button", { name: "Copy the command plumbline describe rncs node2" }).waitFor();

  expect(strangers).toEqual([]);
  expect(problems).toEqual([]);
});

test("what changes is seen without asking, and what is fixed is gone", async () => {
  await open();
  await page.getByText("2 problems").waitFor();
  const causes = BROKEN.rows.overview.filter(({ type }) => type === "cause").map(({ key }) => key);
  const nodes = WELL.rows.overview.filter(({ type }) => type === "node");
  server.tell({ views: { overview: { upsert: nodes, remove: causes.slice(0, 1) } } });
  await page.getByText("1 problem").waitFor();
  server.tell({ views: { overview: { upsert: WELL.rows.overview, remove: causes } } });
  await page.getByText("Everything works").waitFor();
  await page.getByText("No problems found").waitFor();
  expect(await count(".mark.Down")).toBe(0);
});

test("with 500 nodes and 100 services at most 200 rows are drawn, the worst on top, wherever one scrolls", async () => {
  server.fixture = pageFixture({ nodes: 500, services: 100, every: 25 });
  for (const [hash, scrolled] of [
    ["", ".nodes .table"],
    ["", ".cards"],
    ["#/router", ".table"],
    ["#/loadbalancer", ".services .table"],
    ["#/loadbalancer", ".matrix"],
    ["#/connectivity", ".matrix"],
    ["#/connectivity", ".lanes"],
    ["#/topology", ".paths .table"],
    ["#/timeline", ".table"],
  ] as const) {
    await open(hash);
    const scroller = page.locator(scrolled).first();
    await scroller.waitFor();
    for (const top of [0, 3_000, 1e6]) {
      await scroller.evaluate((element, top) => void (element.scrollTop = top), top);
      await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
      expect(await count("[role=row], tr, li, .line")).toBeLessThanOrEqual(200);
    }
  }
  await open("#/router");
  await page.getByRole("row").nth(1).waitFor();
  const [, first] = await page.getByRole("row").allTextContents();
  expect(first).toContain("1/3");
  expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe("501");
});

test("an address leads back to what was seen, and so do back and forward", async () => {
  await open("#/router?q=node1&sort=-node");
  await page.getByText("4 of 12").waitFor();
  await page.getByRole("row", { name: /node11/ }).click();
  await page.locator(".detail").getByRole("heading", { name: "openperouter-system/node11" }).waitFor();
  const address = page.url();
  expect(address).toContain("node11?q=node1&sort=-node");

  await page.reload();
  await page.locator(".detail").getByRole("heading", { name: "openperouter-system/node11" }).waitFor();
  await page.getByText("4 of 12").waitFor();
  expect(await page.getByRole("searchbox").inputValue()).toBe("node1");
  const [, first] = await page.getByRole("row").allTextContents();
  expect(first).toContain("node12");

  await page.goBack();
  await eventually(async () => expect(await count(".detail")).toBe(0));
  await page.goForward();
  await page.locator(".detail").waitFor();
  expect(page.url()).toBe(address);
});

test("everything is reached by keys", async () => {
  await open();
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.getByRole("grid", { name: "Routers by node" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("node2");
  await page.getByText("1 of 12").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.getByRole("grid", { name: "Routers by node" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.locator(".detail").getByRole("heading", { name: "openperouter-system/node2" }).waitFor();
  await page.keyboard.press("w");
  await page.locator(".step.cause").waitFor();
  await page.goBack();
  await page.locator(".detail").waitFor();
  await page.keyboard.press("Escape");
  await eventually(async () => expect(await count(".detail")).toBe(0));
  await page.keyboard.press("b");
  await page.getByText("2 of 12").waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await eventually(async () => expect(await page.getByRole("dialog").count()).toBe(0));
});

test("Tab goes through all that can be used, and one sees where it is", async () => {
  await open("#/loadbalancer");
  const stops: { name: string; outlined: boolean }[] = [];
  for (let stop = 0; stop < 40; stop++) {
    await page.keyboard.press("Tab");
    stops.push(
      await page.evaluate<(typeof stops)[number]>(`(() => {
        const at = document.activeElement;
        const style = getComputedStyle(at);
        const name = at.getAttribute("aria-label") ?? (at.id || at.textContent);
        return { name, outlined: at === document.body || (style.outlineStyle !== "none" && style.outlineWidth !== "0px") };
      })()`),
    );
  }
  expect(stops.filter(({ outlined }) => !outlined)).toEqual([]);
  const names = stops.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["Pools", "search", "Services", "Sessions, node by peer", "Help: keys"]));
});

test("it is dark where the system is dark, and as one wants it where one says so", async () => {
  const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
  await open();
  const light = await background();
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.keyboard.press("t");
  await eventually(async () => expect(await background()).toBe(light));
  await page.reload();
  await page.getByText("live", { exact: true }).waitFor();
  expect(await background()).toBe(light);
});

test("while the server is away the page says since when and loses its colors, and goes on by itself", async () => {
  await using away = await PageServer.start(WELL);
  await page.goto(away.address);
  await page.getByText("Everything works").waitFor();
  const green = "getComputedStyle(document.querySelector('.mark.Healthy')).color";
  const before = await page.evaluate(green);
  const { port } = away;
  const [sync] = WELL.rows.sync;
  if (sync) away.tell({ views: { sync: { upsert: [{ ...sync, hidden: ["secrets"] }] } } });
  await page.getByText("do not see: secrets").waitFor();
  await away[Symbol.asyncDispose]();
  await page.getByText(/reconnecting since \d\d:\d\d:\d\d/).waitFor();
  await page.getByText("No problems when last updated").waitFor();
  await page.getByText(/No message from the server since/).waitFor();
  expect(await page.evaluate(green)).not.toBe(before);

  await using back = await PageServer.start(BROKEN, port);
  await page.getByText("2 problems").waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  expect(back.streams[0]?.resumed).toBe("fixture-2");
});

test("a stream that was cut and has missed nothing is live again without a word of news", async () => {
  await open();
  await page.getByText("2 problems").waitFor();
  server.resumes = true;
  server.streams.length = 0;
  server.cut();
  await page.getByText(/reconnecting since/).waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  expect(server.streams[0]?.resumed).toMatch(/^fixture-/);
  expect(await page.getByText("2 problems").count()).toBe(1);
});

test("what is not read yet, not live or not shown is told", async () => {
  await open();
  const since = "2026-01-01T10:00:00Z";
  const sync = {
    type: "sync" as const,
    key: "sync",
    complete: false,
    lost: [{ kind: "BGPPeer", since, read: false }],
    hidden: ["services in bank"],
  };
  server.tell({ views: { sync: { upsert: [sync] } } });
  await page.getByText("Reading the cluster.").waitFor();
  await page.getByText(/BGPPeer \(as of \d\d:\d\d:\d\d\)/).waitFor();
  expect(await page.getByRole("alert").textContent()).toContain("You may not list, and so do not see: services in bank");
  expect(await page.getByText("2 problems").count()).toBe(1);
  server.tell({ views: { sync: { upsert: [{ ...sync, lost: [{ kind: "BGPPeer", since, read: true }] }] } } });
  await page.getByText("2 causes when last updated").waitFor();
  expect(await count(":root[data-old]")).toBe(1);
});

test("on paper there is everything, and nothing to press", async () => {
  server.fixture = pageFixture({ nodes: 120, services: 3, every: 6 });
  await open("#/router");
  await page.emulateMedia({ media: "print" });
  await eventually(async () => expect(await count("[role=row]")).toBe(121));
  expect(await page.getByRole("searchbox").isVisible()).toBe(false);
  expect(await page.getByRole("navigation").isVisible()).toBe(false);
  await page.emulateMedia({ media: "screen" });
  await eventually(async () => expect(await count("[role=row]")).toBeLessThan(60));
});

test("who must log in is asked for a token, told why one is refused, and then sees the page", async () => {
  server.token = "letmein";
  await page.goto(server.address);
  await page.getByLabel("Token").fill("guess");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("The cluster does not know this token").waitFor();
  await page.getByLabel("Token").fill("letmein");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("2 problems").waitFor();
  expect(await page.getByLabel("Token").count()).toBe(0);
});

test("everything that can be used or looked at has a name", async () => {
  for (const hash of [
    "",
    "#/topology/ToR/10.0.0.1",
    `#/router/${ROUTER}`,
    "#/loadbalancer",
    "#/failover/FailoverPolicy/shop/shop",
    "#/connectivity",
    "#/timeline/entry/2",
    "#/why/Service/shop/web-4",
  ]) {
    await open(hash);
    await page.locator("main .pane").first().waitFor();
    const nameless =
      await page.evaluate(`[...document.querySelectorAll("button, a, input, [role=img], [role=grid], [role=group], [role=application], section, aside")]
      .filter((element) => !(element.getAttribute("aria-hidden") === "true" || element.getAttribute("aria-label") || element.labels?.length || element.textContent.trim()))
      .map((element) => element.outerHTML.slice(0, 120))`);
    expect(nameless).toEqual([]);
    expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1);
  }
  await open();
  await page.getByRole("region", { name: "Problems" }).waitFor();
});

test("what is open can be closed, also where there is only one", async () => {
  server.fixture = { ...BROKEN, rows: { ...BROKEN.rows, failover: BROKEN.rows.failover.slice(0, 1) } };
  await open("#/failover/FailoverPolicy/shop/shop");
  await page.locator(".detail").waitFor();
  await page.getByRole("link", { name: "Close" }).click();
  await eventually(async () => expect(await count(".detail")).toBe(0));
});

test("where nothing is configured it says what to do first", async () => {
  server.fixture = {
    ...WELL,
    rows: { ...WELL.rows, overview: [], topology: [], router: [], loadbalancer: [], failover: [], connectivity: [], timeline: [] },
  };
  for (const [hash, text] of [
    ["", "plumbline lab up"],
    ["#/topology", "No router and no BGP session has reported"],
    ["#/timeline", "Nothing has happened yet"],
    ["#/router", "No router has reported"],
    ["#/loadbalancer", "plumbline apply -f examples/pools"],
    ["#/failover", "plumbline failover plan"],
    ["#/connectivity", "A ConnectivityMesh makes checks"],
  ] as const) {
    await open(hash);
    await eventually(async () => expect(await page.locator("main").textContent()).toContain(text));
  }
});
