import { plan } from "../../hostnet/plan.ts";
import type { Link, Links } from "../../hostnet/snapshot.ts";
import type { DesiredLink } from "../../hostnet/desired-link.ts";
import { ROUTER_SYSCTLS } from "../../router/apply-resource.ts";
import type { ObservedInterface } from "../../router/model/observed.ts";

/** The commands for a node that has only the router's namespace and these interfaces. */
export function kernelPlan(links: readonly DesiredLink[], interfaces: readonly ObservedInterface[], routerNetns: string): string[] {
  const { commands, rejected } = plan(links, {
    host: linksOf(interfaces),
    router: linksOf([]),
    // The namespace of process 1 is the machine's own.
    namespaces: { host: "1", router: routerNetns },
    ovs: [],
    routes: new Map(),
  });
  if (rejected) throw rejected;
  const settings = Object.entries(ROUTER_SYSCTLS).map(
    ([path, value]) => `ip netns exec ${routerNetns} sysctl -qw ${path.replaceAll("/", ".")}=${value.split("|")[0] ?? ""}`,
  );
  return [
    ...settings,
    ...commands.map(({ program, netns, args }) => {
      const prefix = program === "ip" && netns === "router" ? ["ip", "-n", routerNetns] : [program];
      return [...prefix, ...args.map(quoted)].join(" ");
    }),
  ];
}

function linksOf(interfaces: readonly ObservedInterface[]): Links {
  const named = [{ name: "lo", kind: "" }, ...interfaces].map(({ name, kind = "" }, nth): Link => {
    return {
      name,
      type: kind,
      index: nth + 1,
      alias: "",
      group: "default",
      mtu: 1500,
      mac: "",
      up: true,
      addresses: [],
      addrGenMode: "eui64",
    };
  });
  return new Map(named.map((link) => [link.name, link]));
}

function quoted(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg}'`;
}
