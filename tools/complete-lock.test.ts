import { expect, test } from "vitest";
import { missingFromLock } from "./complete-lock.ts";

const bundler = {
  version: "1.0.0",
  dev: true,
  optionalDependencies: { "@b/linux-x64-gnu": "1.0.0", "@b/linux-x64-musl": "1.0.0", "@b/win32-arm64-msvc": "1.0.0" },
} as const;

test("native packages of other platforms are added with what makes npm skip them", () => {
  const packages = { "node_modules/bundler": bundler, "node_modules/@b/linux-x64-gnu": { version: "1.0.0" } };
  expect(Object.fromEntries(missingFromLock({ packages }))).toEqual({
    "node_modules/@b/linux-x64-musl": { version: "1.0.0", os: ["linux"], cpu: ["x64"], libc: ["musl"], dev: true, optional: true },
    "node_modules/@b/win32-arm64-msvc": { version: "1.0.0", os: ["win32"], cpu: ["arm64"], dev: true, optional: true },
  });
});

test("a second version of the same package goes below the one that needs it", () => {
  const packages = {
    "node_modules/@b/linux-x64-musl": { version: "2.0.0" },
    "node_modules/bundler": { version: "1.0.0", optionalDependencies: { "@b/linux-x64-musl": "1.0.0" } },
  };
  expect([...missingFromLock({ packages }).keys()]).toEqual(["node_modules/bundler/node_modules/@b/linux-x64-musl"]);
});

test("a complete lock file stays as it is, and packages without a platform are npm's business", () => {
  const packages = {
    "node_modules/@b/darwin-x64": { version: "1.0.0" },
    "node_modules/bundler": { version: "1.0.0", optionalDependencies: { "@b/darwin-x64": "1.0.0", colours: "^3.0.0" } },
  };
  expect(missingFromLock({ packages }).size).toBe(0);
});
