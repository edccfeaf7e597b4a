import type { Explainer } from "../api/standing.ts";
import { announcements } from "./explaining/announcements.ts";
import { configObjects } from "./explaining/config-objects.ts";
import { configuration } from "./explaining/configuration.ts";
import { services } from "./explaining/services.ts";
import { sessions } from "./explaining/sessions.ts";

/** What the load balancer's objects say to the cause graph. `metallbNamespace`: where its configuration is. */
export function edges({ metallbNamespace }: { readonly metallbNamespace: string }): readonly Explainer[] {
  return [...configObjects(metallbNamespace), ...configuration, sessions, ...announcements(metallbNamespace), services(metallbNamespace)];
}
