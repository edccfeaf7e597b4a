import { type Browser, chromium } from "playwright-core";

/** Debian's Chromium, without a window. As root it runs only without its sandbox. */
export async function browser(): Promise<Browser> {
  return chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}
