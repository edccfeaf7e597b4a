import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** A part of the page with a heading; what is in it scrolls by itself. */
export function Pane({
  title,
  count,
  tools,
  children,
  class: kind = "",
  style = {},
}: {
  title: string;
  count?: ComponentChildren;
  tools?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
  style?: Readonly<Record<`--${string}`, number>>;
}) {
  const name = useId();
  return (
    <section class={`pane ${kind}`} style={style} aria-labelledby={name}>
      <header>
        <h2 id={name}>{title}</h2>
        {count !== undefined && <span class="soft">{count}</span>}
        <span class="tools">{tools}</span>
      </header>
      {children}
    </section>
  );
}

/** Nothing to show: says what would be here and how it comes here. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="nothing">
      <strong>{title}</strong>
      {children && <p class="soft">{children}</p>}
    </div>
  );
}

/** The server has not sent it yet. */
export function Waiting({ what }: { what: string }) {
  return (
    <div class="nothing soft" role="status">
      Reading {what}…
    </div>
  );
}
