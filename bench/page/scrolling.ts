import type { Browser } from "playwright-core";

interface TraceEvent {
  readonly ph: string;
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: {
    readonly name?: string;
    readonly data?: { readonly frames?: readonly { readonly url: string; readonly processId?: number }[] };
  };
}

const STEP_PX = 30;
/** There and back again, a row per frame. */
const SCROLL = `(selector, frames) => new Promise((done) => {
  const element = document.querySelector(selector);
  let frame = 0;
  requestAnimationFrame(function step() {
    element.scrollTop += frame < frames / 2 ? ${STEP_PX} : -${STEP_PX};
    if (++frame < frames) requestAnimationFrame(step);
    else requestAnimationFrame(() => setTimeout(done));
  });
})`;

/** The longest task of the page's main thread while it is scrolled, in milliseconds of its processor time: what else the machine does is not counted. */
export async function longestTask(browser: Browser, address: string, selector: string, frames: number): Promise<number> {
  // So low that ten rows do not fit and are scrolled too.
  const context = await browser.newContext({ viewport: { width: 1440, height: 340 } });
  try {
    const page = await context.newPage();
    await page.goto(address);
    await page.locator(selector).first().waitFor();
    const scroll = `(${SCROLL})(${JSON.stringify(selector)}, ${frames})`;
    // One run before, so that the code is compiled.
    await page.evaluate(scroll);
    await browser.startTracing(page, { categories: ["toplevel", "disabled-by-default-devtools.timeline", "__metadata"] });
    await page.evaluate(scroll);
    const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
    return longest(traceEvents);
  } finally {
    await context.close();
  }
}

function longest(events: readonly TraceEvent[]): number {
  const mains = new Set(
    events.flatMap(({ name, args, pid, tid }) => (name === "thread_name" && args?.name === "CrRendererMain" ? [`${pid} ${tid}`] : [])),
  );
  const tasks = events.filter(({ ph, name, pid, tid }) => ph === "X" && name.endsWith("RunTask") && mains.has(`${pid} ${tid}`));
  if (tasks.length === 0) throw new Error("The browser has traced no task of the page");
  return Math.max(...tasks.map(({ tdur, dur = 0 }) => tdur ?? dur)) / 1_000;
}
