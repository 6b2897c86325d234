type Schema = Record<string, unknown>;

/** The schemas of a client library: `strict` ones are accepted as well, and OpenAI takes them as strict. */
interface ClientSchemas {
  accepted: Record<string, Schema>;
  strict: Record<string, Schema>;
  rejected: Record<string, [why: string, Schema]>;
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

const pydantic: ClientSchemas = {
  accepted: {
    model: open({ name: titled('Name', text), age: titled('Age', { type: 'integer' }) }, { title: 'Person' }),
    'Optional with default': {
      type: 'object',
      title: 'A',
      properties: { a: { anyOf: [text, { type: 'null' }], default: null, title: 'A' } },
    },
    'nested model': open(
      { address: { $ref: '#/$defs/Address' } },
      { $defs: { Address: open({ city: text }, { title: 'Address' }) } },
    ),
    Enum: open(
      { color: { $ref: '#/$defs/Color' } },
      { $defs: { Color: { enum: ['red', 'green'], title: 'Color', type: 'string' } } },
    ),
    Literal: open({ a: { const: 'x', title: 'A', type: 'string' }, b: { enum: [1, 2], type: 'integer' } }),
    'discriminated union': open(
      {
        pet: {
          discriminator: { mapping: { cat: '#/$defs/Cat' }, propertyName: 'kind' },
          oneOf: [{ $ref: '#/$defs/Cat' }],
        },
      },
      { $defs: { Cat: open({ kind: { const: 'cat', type: 'string' } }) } },
    ),
    'recursive model': {
      $ref: '#/$defs/Node',
      $defs: { Node: open({ children: { items: { $ref: '#/$defs/Node' }, type: 'array' } }) },
    },
    'Field bounds': open({
      a: { exclusiveMinimum: 0, maximum: 10, multipleOf: 0.5, type: 'number' },
      b: { maxLength: 5, minLength: 1, pattern: '^a', type: 'string' },
    }),
    tuple: open({
      a: { maxItems: 2, minItems: 2, prefixItems: [text, { type: 'integer' }], type: 'array' },
    }),
    set: open({ a: { items: text, type: 'array', uniqueItems: true } }),
    dict: open({ a: { additionalProperties: { type: 'integer' }, type: 'object' } }),
    'dict with Literal keys': open({
      a: { additionalProperties: text, propertyNames: { enum: ['x', 'y'] }, type: 'object' },
    }),
    'datetime, UUID and bytes': open({
      a: { format: 'date-time', type: 'string' },
      b: { format: 'uuid', type: 'string' },
      c: { format: 'binary', type: 'string' },
    }),
    Any: closed({ a: { title: 'A' } }),
    'description and examples': open({
      a: { description: 'One', examples: ['b'], deprecated: true, type: 'string' },
    }),
  },
  strict: {
    'extra=forbid': closed({ a: text }),
  },
  rejected: {
    'dict with constrained keys': [
      '#/properties/a/patternProperties is not supported',
      open({ a: { patternProperties: { '^a': text }, type: 'object' } }),
    ],
  },
};

const zod: ClientSchemas = {
  accepted: {
    optional: { ...draft, type: 'object', properties: { a: text }, additionalProperties: false },
    discriminatedUnion: {
      ...draft,
      ...closed({ a: { oneOf: [closed({ kind: { type: 'string', const: 'x' } })] } }),
    },
    record: { ...draft, type: 'object', propertyNames: text, additionalProperties: { type: 'number' } },
    intersection: { ...draft, allOf: [open({ a: text }), open({ b: text })] },
    never: { ...draft, type: 'object', properties: { a: { not: {} } } },
  },
  strict: {
    object: { ...draft, ...closed({ a: text }) },
    nullable: { ...draft, ...closed({ a: { anyOf: [text, { type: 'null' }] } }) },
    tuple: { ...draft, ...closed({ a: { type: 'array', prefixItems: [text, { type: 'number' }] } }) },
    int: {
      ...draft,
      ...closed({ a: { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 } }),
    },
    'email and base64': {
      ...draft,
      ...closed({
        a: { type: 'string', format: 'email', pattern: '^(?!\\.)' },
        b: { type: 'string', format: 'base64', contentEncoding: 'base64' },
      }),
    },
    'recursive getter': { ...draft, ...closed({ children: { type: 'array', items: { $ref: '#' } } }) },
    'lazy of a registry': {
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
    'tuple of draft 7': {
      ...draft7,
      ...closed({ a: { type: 'array', items: [text, { type: 'number' }], additionalItems: false } }),
    },
  },
  rejected: {
    'loose record': [
      '#/patternProperties is not supported',
      { ...draft, type: 'object', patternProperties: { '^x': text } },
    ],
    'nullable of OpenAPI 3.0': [
      '#/properties/a/nullable is not supported',
      closed({ a: { type: 'string', nullable: true } }),
    ],
  },
};

const openai: ClientSchemas = {
  accepted: {},
  strict: {
    zodResponseFormat: { ...draft7, ...closed({ a: text, b: { type: ['string', 'null'] } }) },
    'zodResponseFormat, recursive': {
      ...draft7,
      ...closed(
        { ui: { $ref: '#/definitions/ui' } },
        { definitions: { ui: closed({ children: { type: 'array', items: { $ref: '#/definitions/ui' } } }) } },
      ),
    },
    to_strict_json_schema: closed(
      { a: { $ref: '#/$defs/A', description: 'One' } },
      { $defs: { A: closed({ b: { anyOf: [text, { type: 'null' }] } }) }, title: 'R' },
    ),
  },
  rejected: {
    'zod 3 with relative references': [
      '#/properties/b/$ref leads to no schema in $defs',
      { ...draft7, ...closed({ a: closed({ x: text }), b: { $ref: '#/properties/a' } }) },
    ],
  },
};

/** As pydantic 2, zod's `z.toJSONSchema` and OpenAI's helpers make them. */
export const clientSchemas = Object.entries({ pydantic, zod, openai }).flatMap(
  ([library, { accepted, strict, rejected }]) => [
    ...Object.entries(accepted).map(([name, schema]) => made(library, name, schema, { strict: false })),
    ...Object.entries(strict).map(([name, schema]) => made(library, name, schema, { strict: true })),
    ...Object.entries(rejected).map(([name, [rejected, schema]]) =>
      made(library, name, schema, { rejected }),
    ),
  ],
);

function made(
  library: string,
  name: string,
  schema: Schema,
  expected: { strict?: boolean; rejected?: string },
) {
  return { name: `${library}: ${name}`, schema, ...expected };
}
