import type { Domain, Health, Fix, Component } from "../api/health.ts";

export interface ComponentHealth {
  readonly id: string;
  readonly component: Component;
  readonly domain: Domain;
  /** Its own health combined with that of its dependencies. */
  readonly health: Health;
  readonly reason?: string;
  readonly message?: string;
  readonly since?: string;
  readonly fix?: Fix;
}

/** An unhealthy component that no dependency explains. */
export interface Cause extends ComponentHealth {
  readonly symptoms: readonly ComponentHealth[];
}

/** A component and its unhealthy dependencies, down to the causes. One that occurs several times is expanded at the first. */
export interface PathNode extends ComponentHealth {
  readonly cause: boolean;
  readonly dependencies: readonly PathNode[];
}

/** The answer to `why KIND/NAME`. Without causes it is healthy. */
export interface Answer {
  readonly path: PathNode;
  readonly causes: readonly Cause[];
}
