import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { progressOn } from "./progress.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A stream, and what was written to it since the last look. */
function output({ isTTY, columns = 60 }: { isTTY: boolean; columns?: number }): { stream: NodeJS.WriteStream; written: () => string } {
  let text = "";
  const stream = { isTTY, columns, write: (chunk: string) => (text += chunk) } as unknown as NodeJS.WriteStream;
  const written = () => {
    const since = text.replaceAll("\r\u001b[2K", "|");
    text = "";
    return since;
  };
  return { stream, written };
}

test("on a terminal the line of a step counts the seconds until the step is over", () => {
  const { stream, written } = output({ isTTY: true });
  const progress = progressOn(stream);
  progress.step("Building");
  vi.advanceTimersByTime(2_000);
  progress.detail("7 files");
  vi.advanceTimersByTime(1_000);
  expect(written()).toBe("|… Building (0s)|… Building (1s)|… Building (2s)|… Building: 7 files (2s)|… Building: 7 files (3s)");
  progress.step("Booting");
  expect(written()).toBe("|✓ Building (3s)\n|… Booting (3s)");
  progress.done("Booted");
  vi.advanceTimersByTime(5_000);
  expect(written()).toBe("|✓ Booted (3s)\n");
});

test("on a terminal a step that failed ends its line", () => {
  const { stream, written } = output({ isTTY: true });
  const progress = progressOn(stream);
  progress.step("Booting");
  written();
  progress.failed();
  vi.advanceTimersByTime(5_000);
  progress.failed();
  expect(written()).toBe("|✗ Booting (0s)\n");
});

test("a line too long for the terminal keeps its detail and the time", () => {
  const { stream, written } = output({ isTTY: true, columns: 41 });
  const progress = progressOn(stream);
  progress.step("Building the kernel from source (once)");
  progress.detail("7 files");
  expect(written()).toBe("|… Building the kernel from source … (0s)|… Building the kernel fro…: 7 files (0s)");
  progress.detail("Get:1 http://mirror.example/debian testing InRelease");
  expect(written()).toBe("|… Building t…: Get:1 http://mirror… (0s)");
});

test("elsewhere there is a line for each step and at most one in ten seconds for its details", () => {
  const { stream, written } = output({ isTTY: false });
  const progress = progressOn(stream);
  progress.step("Building");
  progress.detail("1 file");
  vi.advanceTimersByTime(61_000);
  progress.detail("7 files");
  progress.done("It is ready");
  progress.failed();
  expect(written()).toBe("Building (0s)\nBuilding: 7 files (1m01s)\nIt is ready (1m01s)\n");
});
