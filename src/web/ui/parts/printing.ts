import { signal } from "@preact/signals";
import { options } from "preact";

/** True while the page is put on paper: what only scrolling shows is then drawn whole. */
export const printing = signal(false);

export function followPrinter(): void {
  addEventListener("beforeprint", () => put(true));
  addEventListener("afterprint", () => put(false));
  matchMedia("print").addEventListener("change", ({ matches }) => put(matches));
}

/** At once: the browser prints what is there when the listener returns. */
function put(onPaper: boolean): void {
  options.debounceRendering = (draw) => draw();
  printing.value = onPaper;
  delete options.debounceRendering;
}
