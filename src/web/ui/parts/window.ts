import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { printing } from "./printing.ts";

/** Drawn above and below what is seen, so that a short scroll draws nothing. */
const MARGIN = 4;
/** On paper there is no scrolling, and no end of paper either. */
const ON_PAPER = 1_000;

export interface Window {
  readonly first: number;
  readonly end: number;
  readonly scrollTo: (index: number) => void;
}

/** Which rows of a long list are drawn: those that can be seen in the element that scrolls. Rows have one height. */
export function useWindow(scroller: RefObject<HTMLElement | null>, count: number, rowHeight: number, headHeight = 0): Window {
  const [range, setRange] = useState({ top: 0, height: 800 });
  const drawn = useRef(range);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = (height: number) => {
      const visible = { top: Math.floor(element.scrollTop / rowHeight), height };
      if (visible.top === drawn.current.top && visible.height === drawn.current.height) return;
      drawn.current = visible;
      setRange(visible);
    };
    const scrolled = () => measure(drawn.current.height);
    measure(element.clientHeight);
    element.addEventListener("scroll", scrolled, { passive: true });
    const resized = new ResizeObserver(() => measure(element.clientHeight));
    resized.observe(element);
    return () => {
      element.removeEventListener("scroll", scrolled);
      resized.disconnect();
    };
  }, [rowHeight]);

  const visible = Math.ceil(range.height / rowHeight);
  const last = Math.max(0, count - visible);
  const first = printing.value ? 0 : Math.max(0, Math.min(range.top, last) - MARGIN);
  const end = printing.value ? Math.min(count, ON_PAPER) : Math.min(count, Math.min(range.top, last) + visible + MARGIN);
  const scrollTo = (index: number) => {
    const element = scroller.current;
    if (!element) return;
    const [top, bottom] = [index * rowHeight, (index + 1) * rowHeight];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight - headHeight) element.scrollTop = bottom - element.clientHeight + headHeight;
  };
  return { first, end, scrollTo };
}
