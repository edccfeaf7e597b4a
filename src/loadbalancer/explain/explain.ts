import type { Explainer } from "../../api/health.ts";
import { announcements } from "./announcements.ts";
import { configObjects } from "./config-objects.ts";
import { configuration } from "./configuration.ts";
import { services } from "./services.ts";
import { sessions } from "./sessions.ts";

/** What the load balancer's objects say to the cause graph. `metallbNamespace`: where its configuration is. */
export function edges({ metallbNamespace }: { readonly metallbNamespace: string }): readonly Explainer[] {
  return [...configObjects(metallbNamespace), ...configuration, sessions, ...announcements(metallbNamespace), services(metallbNamespace)];
}
