import { effect, signal } from "@preact/signals";

const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const KEPT = "plumbline-theme";

export const theme = signal<Theme>(kept());

function kept(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEPT)) ?? "system";
  } catch {
    return "system";
  }
}

export function followTheme(): void {
  effect(() => {
    if (theme.value === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme.value;
    try {
      localStorage.setItem(KEPT, theme.value);
    } catch {
      // A browser that keeps nothing forgets it with the tab.
    }
  });
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}
