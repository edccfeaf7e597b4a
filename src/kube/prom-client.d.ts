/**
 * Parts of prom-client, taken one by one: its front door also loads a push gateway, cluster support and all of OpenTelemetry's API, 17 MB of RSS in
 * every program.
 */
declare module "prom-client/lib/counter.js" {
  export { Counter as default } from "prom-client";
}
declare module "prom-client/lib/gauge.js" {
  export { Gauge as default } from "prom-client";
}
declare module "prom-client/lib/histogram.js" {
  export { Histogram as default } from "prom-client";
}
declare module "prom-client/lib/registry.js" {
  export { Registry as default } from "prom-client";
}
declare module "prom-client/lib/metrics/*.js" {
  import type { Registry } from "prom-client";
  export default function collect(registry: Registry): void;
}
