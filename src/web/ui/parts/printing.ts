import { signal } from "@preact/signals";
import { options } from "preact";

/** True while the page is put on paper: what only scrolling shows is then drawn whole. */
export const printing = signal(false);

export function followPrinter(): void {
  const set = (value: boolean) => {
    // The browser prints what is there when the listener returns.
    const later = options.debounceRendering;
    options.debounceRendering = (draw) => draw();
    printing.value = value;
    if (later) options.debounceRendering = later;
    else delete options.debounceRendering;
  };
  addEventListener("beforeprint", () => set(true));
  addEventListener("afterprint", () => set(false));
  matchMedia("print").addEventListener("change", ({ matches }) => set(matches));
}
