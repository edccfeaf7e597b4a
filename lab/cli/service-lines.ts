import { type AnnouncedService, announcedText } from "./announced-services.ts";
import type { Connections } from "./connections.ts";

type Tallies = Pick<Connections, "tally">;

/** `Service default/web 10.200.0.1 over BGP from node1, node2; connections: 12 ok, 0 failed, last by web-1` */
export function serviceLines(services: readonly AnnouncedService[], connections: Tallies): string[] {
  return services.map((service) => {
    const { ok, failed, last } = connections.tally(service.key);
    const went = last === undefined ? "" : `, last ${last.by === undefined ? `failed: ${last.why ?? ""}` : `answered by ${last.by}`}`;
    const tally = service.addresses.length === 0 ? "" : `; connections: ${ok} ok, ${failed} failed${went}`;
    return `Service ${announcedText(service)}${tally}`;
  });
}

/** What is worth a line in a log: who announces a service changes, or connections begin or cease to pass. */
export class ServiceChanges {
  readonly #connections: Tallies;
  readonly #reported = new Map<string, string>();

  constructor(connections: Tallies) {
    this.#connections = connections;
  }

  of(services: readonly AnnouncedService[]): string[] {
    const lines = services.map((service) => [service.key, this.#line(service)] as const);
    const news = lines.filter(([key, line]) => this.#reported.get(key) !== line);
    for (const [key, line] of news) this.#reported.set(key, line);
    return news.map(([, line]) => `Service ${line}`);
  }

  #line(service: AnnouncedService): string {
    const { last } = this.#connections.tally(service.key);
    const pass = last === undefined ? "" : last.by === undefined ? "; connections fail" : "; connections pass";
    return `${announcedText(service)}${pass}`;
  }
}
