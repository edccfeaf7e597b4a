import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { understood } from "../support/parse-command-line.ts";
import { ALERT_CASES, type AlertCase } from "./alert-cases.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy/chart/files");
const DOCS = join(import.meta.dirname, "../../docs");
const RULES = join(DEPLOY, "alerts.yaml");
const RUNBOOKS = "https://plumbline.dev/docs/runbooks";

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const { groups } = parse(await readFile(RULES, "utf8")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const metrics = new Set((await readFile(join(DOCS, "metrics.md"), "utf8")).matchAll(/^\| `(\w+)`/gm).map(([, name]) => name));

/** Without those that Prometheus makes itself, and without what a histogram appends. */
function strangers(expression: string): string[] {
  const names = expression.matchAll(/\b((?:plumbline|metallb)_\w+?)(?:_bucket|_sum|_count)?\b/g).map(([, name = ""]) => name);
  return [...names].filter((name) => !metrics.has(name));
}

/** One that promtool carries out: at this time these alerts of this name, and no others. */
function ruleTest({ alert, after, labels = {}, severity, summary }: AlertCase, series: AlertCase["fires"], fires: boolean): object {
  const expected = { exp_labels: { ...labels, severity }, exp_annotations: { summary, runbook_url: `${RUNBOOKS}/${alert}.md` } };
  return {
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [{ eval_time: `${after}m`, alertname: alert, exp_alerts: fires ? [expected] : [] }],
  };
}

test("promtool accepts the rules", async () => {
  const { stdout } = await promisify(execFile)("promtool", ["check", "rules", RULES]);
  expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
});

test("each alert fires with its labels exactly in its cases", async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-alerts-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const tests = ALERT_CASES.flatMap((one) => [ruleTest(one, one.fires, true), ruleTest(one, one.quiet, false)]);
  await writeFile(join(directory, "tests.yaml"), stringify({ rule_files: [RULES], evaluation_interval: "1m", tests }));
  const { stdout } = await promisify(execFile)("promtool", ["test", "rules", join(directory, "tests.yaml")]).catch(
    (error: { stdout: string; stderr: string }) => ({ stdout: error.stdout + error.stderr }),
  );
  expect(stdout).toContain("SUCCESS");
  expect(ALERT_CASES.map(({ alert }) => alert).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
});

test("alerts and the dashboard use only existing metrics", async () => {
  expect(rules.flatMap(({ expr }) => strangers(expr))).toEqual([]);
  const dashboard = JSON.parse(await readFile(join(DEPLOY, "dashboard.json"), "utf8")) as { panels: { targets?: { expr: string }[] }[] };
  const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect(expressions.length).toBeGreaterThan(10);
  expect(expressions.flatMap(strangers)).toEqual([]);
  expect(strangers("rate(plumbline_no_such_total[5m])")).toEqual(["plumbline_no_such_total"]);
});

test("each alert has a runbook and each runbook an alert, with its meaning, commands and fix", async () => {
  for (const { alert, annotations } of rules) expect(annotations["runbook_url"]).toBe(`${RUNBOOKS}/${alert}.md`);
  const files = (await readdir(join(DOCS, "runbooks"))).filter((name) => name !== "README.md");
  expect(files.toSorted()).toEqual(rules.map(({ alert }) => `${alert}.md`).toSorted());
  for (const name of files) {
    const text = await readFile(join(DOCS, "runbooks", name), "utf8");
    const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading);
    expect([name, ...headings]).toEqual([name, name.replace(".md", ""), "What it means", "What to run", "Fix"]);
    expect(text.split("## What to run")[1]).toMatch(/^\s*```(?:console|sh)\n(?:\$ )?kubectl plumbline why/);
  }
});

test("the commands of the runbooks are valid", async () => {
  const directory = join(DOCS, "runbooks");
  const texts = await Promise.all((await readdir(directory)).map((name) => readFile(join(directory, name), "utf8")));
  const lines = new Set(texts.flatMap((text) => [...text.matchAll(/^kubectl plumbline (.*)$/gm)].map(([, line = ""]) => line)));
  expect(lines.size).toBeGreaterThan(5);
  for (const line of lines) expect([line, await understood(line.split(" "))]).toEqual([line, true]);
});
