import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { browser } from "./browser.ts";
import type { PageFixture } from "./fixtures.ts";
import { PageServer } from "./server.ts";

/** One browser and one server for the tests of a file, and a new page for each test: `onPage` gets them before it is loaded. */
export function usePage(fixture: PageFixture, onPage: (page: Page, server: PageServer) => void) {
  const problems: string[] = [];
  let started: Browser;
  let server: PageServer;
  let context: BrowserContext;
  let page: Page;
  beforeAll(async () => {
    [started, server] = await Promise.all([browser(), PageServer.start(fixture)]);
  });
  afterAll(async () => {
    await started.close();
    await server[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    server.fixture = fixture;
    context = await started.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "light" });
    page = await context.newPage();
    problems.length = 0;
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    onPage(page, server);
  });
  afterEach(() => context.close());
  const open = async (hash = ""): Promise<void> => {
    await page.goto(server.address + hash);
    await page.getByText("live", { exact: true }).waitFor();
  };
  return { problems, open };
}
