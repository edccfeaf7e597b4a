import { go, option, refine, route } from "../route.ts";

/** Every word must be somewhere. */
export function matches(words: string, ...texts: readonly (string | undefined)[]): boolean {
  const text = texts.join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export const sought = () => option("q");
export const onlyBad = () => option("bad") === "1";

export function Search({ placeholder }: { placeholder: string }) {
  return (
    <span class="search">
      <label>
        <span class="unseen">{placeholder}</span>
        <input
          id="search"
          class="field"
          type="search"
          placeholder={placeholder}
          value={sought()}
          onInput={({ currentTarget }) => refine({ q: currentTarget.value })}
          autocomplete="off"
          spellcheck={false}
        />
        <kbd aria-hidden="true">/</kbd>
      </label>
      <button type="button" class="button" aria-pressed={onlyBad()} onClick={toggleBad}>
        Only what is wrong
      </button>
    </span>
  );
}

export function toggleBad(): void {
  refine({ bad: onlyBad() ? "" : "1" });
}

export function closeThing(): void {
  const { view, options } = route.peek();
  go({ view, options });
}
