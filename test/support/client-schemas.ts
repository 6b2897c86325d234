/** A schema as a client library makes it. */
interface ClientSchema {
  name: string;
  schema: Record<string, unknown>;
  /** Why it is rejected. */
  rejected?: string;
  /** Whether OpenAI takes it as strict. */
  strict?: true;
}

const text = { type: 'string' };
const open = (properties: Record<string, unknown>, more: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...more,
});
const closed = (properties: Record<string, unknown>, more: object = {}) =>
  open(properties, { additionalProperties: false, ...more });
const draft = { $schema: 'https://json-schema.org/draft/2020-12/schema' };
const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#' };
const titled = (title: string, more: object) => ({ title, ...more });

const pydantic: ClientSchema[] = [
  {
    name: 'model',
    schema: open(
      { name: titled('Name', text), age: titled('Age', { type: 'integer' }) },
      { title: 'Person' },
    ),
  },
  {
    name: 'Optional with default',
    schema: {
      type: 'object',
      title: 'A',
      properties: { a: { anyOf: [text, { type: 'null' }], default: null, title: 'A' } },
    },
  },
  {
    name: 'nested model',
    schema: open(
      { address: { $ref: '#/$defs/Address' } },
      { $defs: { Address: open({ city: text }, { title: 'Address' }) } },
    ),
  },
  {
    name: 'Enum',
    schema: open(
      { color: { $ref: '#/$defs/Color' } },
      { $defs: { Color: { enum: ['red', 'green'], title: 'Color', type: 'string' } } },
    ),
  },
  {
    name: 'Literal',
    schema: open({ a: { const: 'x', title: 'A', type: 'string' }, b: { enum: [1, 2], type: 'integer' } }),
  },
  {
    name: 'discriminated union',
    schema: open(
      {
        pet: {
          discriminator: { mapping: { cat: '#/$defs/Cat' }, propertyName: 'kind' },
          oneOf: [{ $ref: '#/$defs/Cat' }],
        },
      },
      { $defs: { Cat: open({ kind: { const: 'cat', type: 'string' } }) } },
    ),
  },
  {
    name: 'recursive model',
    schema: {
      $ref: '#/$defs/Node',
      $defs: { Node: open({ children: { items: { $ref: '#/$defs/Node' }, type: 'array' } }) },
    },
  },
  {
    name: 'Field bounds',
    schema: open({
      a: { exclusiveMinimum: 0, maximum: 10, multipleOf: 0.5, type: 'number' },
      b: { maxLength: 5, minLength: 1, pattern: '^a', type: 'string' },
    }),
  },
  {
    name: 'tuple',
    schema: open({
      a: { maxItems: 2, minItems: 2, prefixItems: [text, { type: 'integer' }], type: 'array' },
    }),
  },
  { name: 'set', schema: open({ a: { items: text, type: 'array', uniqueItems: true } }) },
  { name: 'dict', schema: open({ a: { additionalProperties: { type: 'integer' }, type: 'object' } }) },
  {
    name: 'dict with constrained keys',
    schema: open({ a: { patternProperties: { '^a': text }, type: 'object' } }),
    rejected: '#/properties/a/patternProperties is not supported',
  },
  {
    name: 'dict with Literal keys',
    schema: open({ a: { additionalProperties: text, propertyNames: { enum: ['x', 'y'] }, type: 'object' } }),
  },
  {
    name: 'datetime, UUID and bytes',
    schema: open({
      a: { format: 'date-time', type: 'string' },
      b: { format: 'uuid', type: 'string' },
      c: { format: 'binary', type: 'string' },
    }),
  },
  { name: 'extra=forbid', schema: closed({ a: text }), strict: true },
  { name: 'Any', schema: closed({ a: { title: 'A' } }) },
  {
    name: 'description and examples',
    schema: open({ a: { description: 'One', examples: ['b'], deprecated: true, type: 'string' } }),
  },
];

const zod: ClientSchema[] = [
  { name: 'object', schema: { ...draft, ...closed({ a: text }) }, strict: true },
  {
    name: 'optional',
    schema: { ...draft, type: 'object', properties: { a: text }, additionalProperties: false },
  },
  {
    name: 'nullable',
    schema: { ...draft, ...closed({ a: { anyOf: [text, { type: 'null' }] } }) },
    strict: true,
  },
  {
    name: 'discriminatedUnion',
    schema: { ...draft, ...closed({ a: { oneOf: [closed({ kind: { type: 'string', const: 'x' } })] } }) },
  },
  {
    name: 'record',
    schema: { ...draft, type: 'object', propertyNames: text, additionalProperties: { type: 'number' } },
  },
  {
    name: 'tuple',
    schema: { ...draft, ...closed({ a: { type: 'array', prefixItems: [text, { type: 'number' }] } }) },
    strict: true,
  },
  { name: 'intersection', schema: { ...draft, allOf: [open({ a: text }), open({ b: text })] } },
  {
    name: 'int',
    schema: {
      ...draft,
      ...closed({ a: { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 } }),
    },
    strict: true,
  },
  {
    name: 'email and base64',
    schema: {
      ...draft,
      ...closed({
        a: { type: 'string', format: 'email', pattern: '^(?!\\.)' },
        b: { type: 'string', format: 'base64', contentEncoding: 'base64' },
      }),
    },
    strict: true,
  },
  {
    name: 'recursive getter',
    schema: { ...draft, ...closed({ children: { type: 'array', items: { $ref: '#' } } }) },
    strict: true,
  },
  {
    name: 'lazy of a registry',
    schema: {
      ...draft,
      ...closed(
        { a: { $ref: '#/$defs/__schema0' } },
        {
          $defs: {
            __schema0: { anyOf: [{ type: 'null' }, { type: 'array', items: { $ref: '#/$defs/__schema0' } }] },
          },
        },
      ),
    },
    strict: true,
  },
  { name: 'never', schema: { ...draft, type: 'object', properties: { a: { not: {} } } } },
  {
    name: 'loose record',
    schema: { ...draft, type: 'object', patternProperties: { '^x': text } },
    rejected: '#/patternProperties is not supported',
  },
  {
    name: 'tuple of draft 7',
    schema: {
      ...draft7,
      ...closed({ a: { type: 'array', items: [text, { type: 'number' }], additionalItems: false } }),
    },
    strict: true,
  },
  {
    name: 'nullable of OpenAPI 3.0',
    schema: closed({ a: { type: 'string', nullable: true } }),
    rejected: '#/properties/a/nullable is not supported',
  },
];

const openai: ClientSchema[] = [
  {
    name: 'zodResponseFormat',
    schema: { ...draft7, ...closed({ a: text, b: { type: ['string', 'null'] } }) },
    strict: true,
  },
  {
    name: 'zodResponseFormat, recursive',
    schema: {
      ...draft7,
      ...closed(
        { ui: { $ref: '#/definitions/ui' } },
        { definitions: { ui: closed({ children: { type: 'array', items: { $ref: '#/definitions/ui' } } }) } },
      ),
    },
    strict: true,
  },
  {
    name: 'to_strict_json_schema',
    schema: closed(
      { a: { $ref: '#/$defs/A', description: 'One' } },
      { $defs: { A: closed({ b: { anyOf: [text, { type: 'null' }] } }) }, title: 'R' },
    ),
    strict: true,
  },
  {
    name: 'zod 3 with relative references',
    schema: { ...draft7, ...closed({ a: closed({ x: text }), b: { $ref: '#/properties/a' } }) },
    rejected: '#/properties/b/$ref leads to no schema in $defs',
  },
];

/** As pydantic 2, zod's `z.toJSONSchema` and OpenAI's helpers make them. */
export const clientSchemas: readonly ClientSchema[] = [
  ...pydantic.map((each) => ({ ...each, name: `pydantic: ${each.name}` })),
  ...zod.map((each) => ({ ...each, name: `zod: ${each.name}` })),
  ...openai.map((each) => ({ ...each, name: `openai: ${each.name}` })),
];
