import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const css = readFileSync(join(import.meta.dirname, "tokens.css"), "utf8");
const colors = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name = "", light = "", dark = ""]) => [name, { light, dark }]),
);

/** As WCAG 2 computes it. */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const BACKGROUNDS = ["ground", "surface", "raised"];
const TEXTS = ["text", "text-soft", "accent", "healthy", "degraded", "unknown", "down"];
const pairs = [
  ...TEXTS.flatMap((text) => BACKGROUNDS.map((background) => [text, background, 4.5] as const)),
  ...["down", "degraded", "unknown"].flatMap((health) =>
    ["text", "text-soft", health].map((text) => [text, `${health}-wash`, 4.5] as const),
  ),
  ["text", "accent-wash", 4.5] as const,
  ["accent", "accent-wash", 4.5] as const,
  ["on-accent", "accent", 4.5] as const,
  ["line-strong", "surface", 3] as const,
];

test.each(["light", "dark"] as const)("every text and shape has enough contrast in %s", (scheme) => {
  const poor = pairs.flatMap(([text, background, least]) => {
    const [one, other] = [colors.get(text)?.[scheme], colors.get(background)?.[scheme]];
    const found = one === undefined || other === undefined ? 0 : contrast(one, other);
    return found < least ? [`${text} on ${background}: ${found.toFixed(2)}`] : [];
  });
  expect(poor).toEqual([]);
});
