import { defineKind } from "../../src/api/define-kind.ts";
import { rule } from "../../src/api/rule.ts";
import { s } from "../../src/api/schema.ts";

const port = s.object(
  {
    name: s.string({ doc: "A name.", minLength: 1, maxLength: 5 }),
    protocol: s.default(s.enum(["TCP", "UDP"], { doc: "A protocol." }), "TCP"),
    number: s.int({ doc: "A number.", minimum: 1, maximum: 65_535 }),
    weight: s.default(s.int({ doc: "A weight.", minimum: 0, maximum: 9 }), 3),
    target: s.optional(s.intOrString({ doc: "A number or a name.", maxLength: 8, pattern: "^[a-z]+$" })),
  },
  {
    doc: "A port.",
    rules: [
      rule({
        cel: "self.weight <= oldSelf.weight",
        message: "weight only falls",
        transition: (self, oldSelf) => self.weight <= oldSelf.weight,
      }),
    ],
  },
);

const bucket = s.object(
  {
    size: s.optional(s.int({ doc: "A size." })),
    parts: s.optional(s.set(s.string({ doc: "A part.", maxLength: 6 }), { doc: "Parts.", maxItems: 3 })),
  },
  {
    doc: "A bucket.",
    rules: [
      rule({
        cel: "!has(self.size) || self.size % 2 == 0",
        message: "size must be even",
        fieldPath: ".size",
        check: (self) => self.size === undefined || self.size % 2 === 0,
      }),
    ],
  },
);

const choice = s.object(
  {
    type: s.enum(["a", "b"], { doc: "Which of the two." }),
    a: s.optional(s.bool({ doc: "The first." })),
    b: s.optional(s.bool({ doc: "The second." })),
  },
  {
    doc: "Exactly one of two.",
    rules: [
      rule({
        cel: "self.type != 'a' || has(self.a)",
        message: "a is needed",
        fieldPath: ".a",
        reason: "FieldValueRequired",
        check: (self) => self.type !== "a" || self.a !== undefined,
      }),
      rule({
        cel: "has(self.a) != has(self.b)",
        message: "one of a and b",
        reason: "FieldValueForbidden",
        check: (self) => (self.a === undefined) !== (self.b === undefined),
      }),
    ],
  },
);

/** Everything that the builder can say, in one kind. */
export const SampleKind = defineKind({
  group: "specimen.plumbline.dev",
  version: "v2",
  kind: "Specimen",
  plural: "specimens",
  scope: "Namespaced",
  shortNames: ["spm"],
  doc: "A specimen.",
  columns: [{ name: "Mode", path: ".spec.mode", type: "string", doc: "The mode." }],
  deprecated: [{ version: "v1", warning: "specimen.plumbline.dev/v1 is old; use v2" }],
  spec: s.object(
    {
      mode: s.default(s.enum(["on", "off"], { doc: "A mode." }), "on"),
      name: s.string({
        doc: "A name that stays.",
        minLength: 2,
        maxLength: 8,
        pattern: "^[a-zé]+$",
        rules: [
          rule({ cel: "self == oldSelf", message: "name is immutable", transition: (self, oldSelf) => self === oldSelf }),
          rule({ cel: "self != 'none'", message: "none is no name", reason: "FieldValueDuplicate", check: (self) => self !== "none" }),
        ],
      }),
      count: s.optional(
        s.int({
          doc: "A small number.",
          minimum: -5,
          maximum: 5,
          rules: [rule({ cel: "self != 4", message: "not four", check: (self) => self !== 4 })],
        }),
      ),
      big: s.optional(s.int({ doc: "A large number.", minimum: 0, maximum: 4_294_967_295 })),
      hold: s.optional(s.duration({ doc: "How long." })),
      limits: s.default(
        s.object(
          {
            low: s.default(s.int({ doc: "Low.", minimum: 0, maximum: 100 }), 10),
            high: s.optional(s.nullable(s.int({ doc: "High.", minimum: 0, maximum: 100 }))),
            soft: s.default(s.nullable(s.bool({ doc: "Soft?" })), true),
          },
          { doc: "Limits." },
        ),
        {},
      ),
      ports: s.optional(s.listMap(["name", "protocol"], port, { doc: "Ports.", minItems: 1, maxItems: 4 })),
      tags: s.optional(s.set(s.string({ doc: "A tag.", maxLength: 4 }), { doc: "Tags.", maxItems: 3 })),
      matrix: s.optional(
        s.list(
          s.list(s.int({ doc: "A cell.", rules: [rule({ cel: "self != 4", message: "no four here", check: (self) => self !== 4 })] }), {
            doc: "A row.",
            maxItems: 3,
          }),
          { doc: "Rows.", maxItems: 3 },
        ),
      ),
      labels: s.optional(s.map(s.string({ doc: "A value.", maxLength: 5 }), { doc: "Labels.", maxProperties: 3 })),
      buckets: s.optional(s.map(bucket, { doc: "Buckets.", maxProperties: 3 })),
      anything: s.optional(s.object({ known: s.optional(s.bool({ doc: "Known." })) }, { doc: "Anything.", preserveUnknownFields: true })),
      choice: s.optional(choice),
      nodeSelector: s.optional(s.labelSelector({ doc: "Nodes." })),
      secret: s.optional(s.secretReference({ doc: "A secret." })),
    },
    {
      doc: "What is wanted.",
      rules: [
        rule({
          cel: "!has(self.big) || !has(self.count)",
          message: "big or count",
          check: (self) => self.big === undefined || self.count === undefined,
        }),
      ],
    },
  ),
  status: s.object(
    {
      observed: s.optional(s.time({ doc: "When." })),
      packets: s.optional(s.counter({ doc: "How many." })),
      conditions: s.optional(s.conditions({ doc: "How it is." })),
    },
    { doc: "What is." },
  ),
});
