import { type Rule, rule } from "../rule.ts";
import { type Field, s } from "../schema.ts";

const UNSUPPORTED = "Accepted so that manifests for OpenPERouter are not rejected as a whole; not supported by this version.";

export const isis = <const V extends readonly string[]>(ipFamilies: V) =>
  s.object(
    {
      baseNet: s.string({
        doc: "The network entity title of the first node.",
        minLength: 25,
        maxLength: 25,
        pattern: "^[0-9a-f]{2}(\\.[0-9a-f]{4}){4}\\.[0-9a-f]{2}$",
      }),
      level: s.optional(s.int({ doc: "The IS-IS level. Default: both.", minimum: 1, maximum: 2 })),
      features: s.optional(
        s.list(s.enum(["advertisePassiveOnly"], { doc: "A feature." }), { doc: "Features of the instance.", maxItems: 32 }),
      ),
      interfaces: s.optional(
        s.listMap(
          ["name"],
          s.object(
            {
              name: s.string({ doc: "The name of the interface.", minLength: 1, maxLength: 15 }),
              ipFamily: s.optional(s.enum(ipFamilies, { doc: "The address families on the interface." })),
              features: s.optional(s.list(s.enum(["passive"], { doc: "A feature." }), { doc: "Features of the interface.", maxItems: 32 })),
            },
            { doc: "An interface that IS-IS runs on." },
          ),
          { doc: "The interfaces that IS-IS runs on.", maxItems: 128 },
        ),
      ),
    },
    { doc: `IS-IS in the underlay. ${UNSUPPORTED}` },
  );

export const srv6 = <F extends Readonly<Record<string, Field>>>(more: F) =>
  s.object(
    {
      ...more,
      locator: s.object(
        {
          basePrefix: s.string({ doc: "The IPv6 prefix that each node's locator is taken from.", maxLength: 43 }),
          format: s.enum(["usid-f3216"], { doc: "The format of the segment ids." }),
        },
        { doc: "The locator." },
      ),
    },
    { doc: `SRv6 in the underlay. ${UNSUPPORTED}` },
  );

interface Underlay {
  readonly isis?: object | undefined;
  readonly srv6?: object | undefined;
  readonly tunnelEndpoint?: { readonly cidrs: readonly string[] } | undefined;
}

export const SRV6_RULES: readonly Rule<Underlay>[] = [
  rule({
    cel: "!has(self.srv6) || has(self.isis)",
    message: "srv6 requires isis",
    check: (self) => self.srv6 === undefined || self.isis !== undefined,
  }),
  rule({
    cel: "!has(self.srv6) || (has(self.tunnelEndpoint) && self.tunnelEndpoint.cidrs.exists(one, one.contains(':')))",
    message: "srv6 requires an IPv6 prefix in tunnelEndpoint.cidrs",
    check: (self) => self.srv6 === undefined || (self.tunnelEndpoint?.cidrs ?? []).some((one) => one.includes(":")),
  }),
];
