import type { Domain, Health, Component } from "../../../api/health.ts";
import { HEALTHS, componentId } from "../../../api/health.ts";
import type { HealthCount } from "../../api.ts";

/** A health has a shape and a word besides its color. Drawn in a square of 16. */
export const SHAPES: Readonly<Record<Health, string>> = {
  Healthy: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M5.2 8.2l2 2 3.6-4",
  Degraded: "M8 2L14.2 13.5H1.8ZM8 6.2V9.6M8 11.2V11.9",
  Unknown: "M8 1.8L14.2 8L8 14.2L1.8 8ZM6.4 6.6Q6.6 5.3 8 5.3Q9.6 5.3 9.6 6.7Q9.6 7.6 8 8.4V9.2M8 10.6V11.2",
  Down: "M2.5 2.5H13.5V13.5H2.5ZM5.3 5.3L10.7 10.7M10.7 5.3L5.3 10.7",
};
const TEXTS: Readonly<Record<Health, string>> = { Healthy: "healthy", Degraded: "degraded", Unknown: "unknown", Down: "down" };

export const healthText = (health: Health) => TEXTS[health];
export const healthRank = (health: Health) => HEALTHS.indexOf(health);

/** The shape; with its word, unless that stands beside it. */
export function HealthIcon({ health, bare = false, size = 16 }: { health: Health; bare?: boolean; size?: number }) {
  return (
    <svg
      class={`mark ${health}`}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      role="img"
      aria-label={bare ? undefined : healthText(health)}
      aria-hidden={bare}
    >
      <path d={SHAPES[health]} />
    </svg>
  );
}

const DOMAINS: Readonly<Record<Domain, string>> = {
  router: "Router",
  loadbalancer: "Load balancer",
  failover: "Failover",
  connectivity: "Connectivity",
  cluster: "Cluster",
};
export const DOMAIN_ORDER = Object.keys(DOMAINS) as Domain[];
export const domainName = (domain: Domain) => DOMAINS[domain];

/** How a thing is spoken of: its kind apart from its name. */
export function ComponentName({ component, brief = false }: { component: Component; brief?: boolean }) {
  const { kind, namespace, name, node } = component;
  return (
    <span class="component" title={componentId(component)}>
      <span class="kind">{kind}</span>{" "}
      <span class="mono name">
        {namespace === undefined || brief ? "" : <span class="soft">{namespace}/</span>}
        {name}
      </span>
      {node === undefined ? "" : <span class="soft"> on {node}</span>}
    </span>
  );
}

/** Parts of a whole, the worst first; in words for those who do not see the bar. */
export function CountBar({ tally, label }: { tally: HealthCount; label: string }) {
  const worstFirst = HEALTHS.toReversed().filter((health) => tally[health] > 0);
  const total = worstFirst.reduce((sum, health) => sum + tally[health], 0);
  const text = worstFirst.map((health) => `${tally[health]} ${healthText(health)}`).join(", ") || "nothing there";
  let at = 0;
  return (
    <svg class="tally" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={`${label}: ${text}`}>
      <rect class="track" width="100" height="6" rx="1" />
      {worstFirst.map((health) => {
        // A single one among thousands is still seen.
        const width = Math.max((tally[health] / total) * 100, 2);
        const x = at;
        at += width;
        return <rect key={health} class={health} x={x} width={width} height="6" />;
      })}
    </svg>
  );
}

/** `2 down, 1 degraded of 40`, or `40 healthy`. */
export function countText(count: HealthCount): string {
  const total = HEALTHS.reduce((sum, health) => sum + count[health], 0);
  const bad = HEALTHS.toReversed().filter((health) => health !== "Healthy" && count[health] > 0);
  if (bad.length === 0) return total === 0 ? "" : `${total} healthy`;
  return `${bad.map((health) => `${count[health]} ${healthText(health)}`).join(", ")} of ${total}`;
}
