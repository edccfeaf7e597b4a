import { go, option, refine, route } from "../live/route.ts";

/** Every word must be somewhere. */
export function matches(query: string, ...texts: readonly (string | undefined)[]): boolean {
  const text = texts.join(" ").toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((term) => text.includes(term));
}

export const searchText = () => option("q");
export const onlyUnhealthy = () => option("bad") === "1";

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
          value={searchText()}
          onInput={({ currentTarget }) => refine({ q: currentTarget.value })}
          autocomplete="off"
          spellcheck={false}
        />
        <kbd aria-hidden="true">/</kbd>
      </label>
      <button type="button" class="button" aria-pressed={onlyUnhealthy()} onClick={toggleUnhealthy}>
        Only problems
      </button>
    </span>
  );
}

export function toggleUnhealthy(): void {
  refine({ bad: onlyUnhealthy() ? "" : "1" });
}

export function closeDetail(): void {
  const { view, options } = route.peek();
  go({ view, options });
}
