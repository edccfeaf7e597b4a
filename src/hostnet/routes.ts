import type { Route } from "./snapshot.ts";

/** The used fields of `ip -d -j route`. */
interface PrintedRoute {
  readonly type?: string;
  readonly dst: string;
  readonly protocol?: string;
  readonly scope?: string;
  readonly prefsrc?: string;
  readonly metric?: number;
  readonly pref?: string;
  readonly metrics?: readonly Readonly<Record<string, unknown>>[];
  readonly nexthops?: readonly PrintedHop[];
}

interface PrintedHop {
  readonly dev?: string;
  readonly gateway?: string;
  readonly via?: { readonly family: string; readonly host: string };
  readonly weight?: number;
  readonly flags?: readonly string[];
}

/** The kernel's routes return with the address or the next advertisement, a routing daemon's with the daemon. */
const KEPT_BY_OTHERS = new Set([
  "kernel",
  "ra",
  "redirect",
  "gated",
  "mrt",
  "zebra",
  "bird",
  "xorp",
  "babel",
  "bgp",
  "isis",
  "ospf",
  "rip",
  "eigrp",
]);
const FIRST_DAEMON_NUMBER = 186;
const METRICS = new Set(["mtu", "advmss", "window", "initcwnd", "initrwnd", "hoplimit", "quickack", "congctl"]);

/** Configured routes of the main table through one interface, those without a gateway first, since others may need them. */
export function routesThrough(device: string, printed: unknown, family: 4 | 6): Route[] {
  const routes = (printed as readonly (PrintedRoute & PrintedHop)[]).filter(
    (route) => !keptByOthers(route) && hops(route).every((hop) => hop.dev === device),
  );
  const near = routes.filter((route) => hops(route).every((hop) => hop.gateway === undefined && hop.via === undefined));
  const far = routes.filter((route) => !near.includes(route));
  return [...near, ...far].map((route) => ({ family, args: routeArgs(route, family) }));
}

function keptByOthers({ protocol = "boot" }: PrintedRoute): boolean {
  return KEPT_BY_OTHERS.has(protocol) || Number(protocol) >= FIRST_DAEMON_NUMBER;
}

function hops(route: PrintedRoute & PrintedHop): readonly PrintedHop[] {
  return route.nexthops ?? [route];
}

function routeArgs(route: PrintedRoute & PrintedHop, family: 4 | 6): string[] {
  const { type, dst, protocol, scope, prefsrc, metric, pref, metrics = [], nexthops } = route;
  const args = type === undefined || type === "unicast" ? [] : [type];
  args.push(dst === "default" ? (family === 4 ? "0.0.0.0/0" : "::/0") : dst);
  if (!nexthops) args.push(...nextHopArgs(route));
  if (protocol !== undefined) args.push("proto", protocol);
  if (family === 4 && scope !== undefined && scope !== "global") args.push("scope", scope);
  if (prefsrc !== undefined) args.push("src", prefsrc);
  if (metric !== undefined) args.push("metric", String(metric));
  if (pref !== undefined && pref !== "medium") args.push("pref", pref);
  for (const [name, value] of metrics.flatMap((some) => Object.entries(some))) {
    if (METRICS.has(name)) args.push(name, String(value));
  }
  for (const hop of nexthops ?? []) args.push("nexthop", ...nextHopArgs(hop), "weight", String(hop.weight ?? 1));
  return args;
}

function nextHopArgs({ dev, gateway, via, flags = [] }: PrintedHop): string[] {
  const args: string[] = [];
  if (gateway !== undefined) args.push("via", gateway);
  if (via !== undefined) args.push("via", via.family, via.host);
  if (dev !== undefined) args.push("dev", dev);
  if (flags.includes("onlink")) args.push("onlink");
  return args;
}
