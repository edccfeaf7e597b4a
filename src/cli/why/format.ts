import { type Component, type Fix, type Health, nodeOf } from "../../api/health.ts";
import { humanDuration } from "../../util/age.ts";
import type { ComponentHealth } from "../../explain/answer.ts";
import { stripControlCharacters } from "../print/columns.ts";
import type { Color, Colorize } from "../print/color.ts";

const COLORS: Readonly<Record<Health, Color>> = { Healthy: "green", Degraded: "yellow", Unknown: "yellow", Down: "red" };

/** Components that are no Kubernetes objects: written as ordinary nouns. */
const PARTS: Readonly<Record<string, string>> = {
  Address: "address",
  Agent: "agent",
  Controller: "controller",
  Link: "link",
  Names: "names",
  Overlay: "overlay",
  Path: "path",
  Session: "session",
  Site: "site",
  DataPath: "data path",
  Source: "source",
  Target: "target",
};

/** Abbreviations that a CamelCase reason spells like a word. */
const ABBREVIATIONS = new Set(["api", "bfd", "bgp", "crd", "dns", "frr", "ip", "mac", "mtu", "tcp", "vni", "vrf"]);

/** `Service shop/web`, `link eth1 on node2`: a component inside a sentence. */
export function componentTitle(component: Component): string {
  const node = nodeBefore(component);
  return stripControlCharacters(node === undefined ? objectText(component) : `${objectText(component)} on ${node}`);
}

/** `Service shop/web`, `node2: link eth1`: a component at the start of a line. */
function componentSubject(component: Component): string {
  const node = nodeBefore(component);
  return stripControlCharacters(node === undefined ? objectText(component) : `${node}: ${objectText(component)}`);
}

/** A Node is an object with a name of its own; an agent is named by its node alone. */
function nodeBefore(component: Component): string | undefined {
  return component.kind === "Node" ? undefined : nodeOf(component);
}

function objectText({ kind, namespace, name }: Component): string {
  const kindText = PARTS[kind] ?? kind;
  if (kind === "Agent" || kind === "Overlay" || kind === "DataPath") return kindText;
  if (kind === "Agents") return `${name === "loadbalancer" ? "load balancer" : name} agent`;
  return `${kindText} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

/** `node2: link eth1 is down (no carrier) for 20s`. */
export function healthLine(verdict: ComponentHealth, now: number, colorize: Colorize, emphasize = (subject: string) => subject): string {
  const { component, health } = verdict;
  const reason = reasonText(verdict);
  return [
    `${emphasize(componentSubject(component))} is ${colorize(COLORS[health], health.toLowerCase())}`,
    ...(reason === "" ? [] : [`(${reason})`]),
    ...ageText(verdict, now),
  ].join(" ");
}

/** The line without its reason, for what another component explains. */
export function effectLine(verdict: ComponentHealth, now: number, colorize: Colorize): string {
  const { component, health } = verdict;
  return [`${componentSubject(component)} is ${colorize(COLORS[health], health.toLowerCase())}`, ...ageText(verdict, now)].join(" ");
}

/** The message of the component itself; empty where it has none, or only repeats the reason. */
export function messageText(verdict: ComponentHealth): string {
  const text = stripControlCharacters(verdict.message ?? "");
  return text.toLowerCase() === reasonText(verdict).toLowerCase() ? "" : text;
}

/** Where some kinds could not be read, the answer is limited to the others. */
export function noProblemsText(isWhole: boolean): string {
  return isWhole ? "No problems found." : "No problems found in what could be read.";
}

function ageText({ since }: Pick<ComponentHealth, "since">, now: number): string[] {
  return since === undefined ? [] : [`for ${humanDuration(Math.max(0, now - Date.parse(since)))}`];
}

/** `NoCarrier` as `no carrier`. What the line says already is left out: `SessionDown` of a session that is down is empty. */
function reasonText({ component: { kind }, health, reason = "" }: ComponentHealth): string {
  const parts = (stripControlCharacters(reason).match(/[A-Z]+(?![a-z])|[A-Z]?[^A-Z]+/g) ?? []).map((part) =>
    /^[A-Z0-9]{2,}$/.test(part) || ABBREVIATIONS.has(part.toLowerCase()) ? part.toUpperCase() : part.toLowerCase(),
  );
  if (parts.length > 1 && parts[0]?.toLowerCase() === kind.toLowerCase()) parts.shift();
  const text = parts.join(" ");
  return text === health.toLowerCase() ? "" : text;
}

/** What to change and what to run, a line each. */
export function fixLines({ fix }: { fix?: Fix | undefined }): string[] {
  if (!fix) return [];
  const { text, change, command } = fix;
  const object =
    change && `${componentTitle(change.component)}${change.field === undefined ? "" : `, ${stripControlCharacters(change.field)}`}`;
  return [
    `Fix:    ${stripControlCharacters(text)}`,
    ...(object === undefined ? [] : [`Change: ${object}`]),
    ...(command === undefined ? [] : [`Run:    ${stripControlCharacters(command)}`]),
  ];
}
