import { median } from "../measure.ts";

export const RANGES = { 4: "10.0.0.0/16", 6: "fc00::/64" } as const;
/** Of the smaller range. */
const ADDRESSES = 65_536;
/** How many batches a figure is the median of. */
const [, , batches = ""] = process.argv;

export interface Report {
  /** What one more Service takes, with a tenth and with nine tenths of the /16 given. */
  usAt: { tenth: number; nineTenths: number };
  /** What the first one measured at nine tenths got. */
  given: string;
}

/** Services by number. Each has one address of each range. */
export interface Competitor {
  allocate(service: number): string;
  release(service: number): void;
  /** The next in the order of their numbers, by the quickest way there is. */
  fill(service: number): void;
}

/** Allocates to some more Services at both levels, again and again, and takes their addresses back each time. */
export function reportOn(competitor: Competitor, more: number): void {
  let filled = 0;
  const fillTo = (services: number) => {
    for (; filled < services; filled++) competitor.fill(filled);
  };
  fillTo(Math.floor(ADDRESSES * 0.1));
  const tenth = usPerService(competitor, filled, more);
  fillTo(Math.floor(ADDRESSES * 0.9));
  const nineTenths = usPerService(competitor, filled, more);
  const given = competitor.allocate(filled);
  process.send?.({ usAt: { tenth, nineTenths }, given } satisfies Report);
}

function usPerService(competitor: Competitor, first: number, more: number): number {
  const batch = () => {
    const start = performance.now();
    for (let service = first; service < first + more; service++) competitor.allocate(service);
    const us = ((performance.now() - start) * 1_000) / more;
    for (let service = first; service < first + more; service++) competitor.release(service);
    return us;
  };
  batch();
  return median(Array.from({ length: Number(batches) }, batch));
}
