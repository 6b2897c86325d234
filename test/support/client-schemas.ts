type Schema = Record<string, unknown>;

const text = { type: 'string' };
const open = (properties: Record<string, unknown>, more: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...more,
});
const closed = (properties: Record<string, unknown>, more: object = {}) =>
  open(properties, { additionalProperties: false, ...more });
const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#' };

/** As pydantic 2, zod's `z.toJSONSchema` and OpenAI's helpers make them. OpenAI takes those with `strict` as strict. */
export const clientSchemas: { name: string; schema: Schema; strict?: true; rejected?: string }[] = [
  {
    name: 'pydantic: Optional with default',
    schema: {
      type: 'object',
      title: 'A',
      properties: { a: { anyOf: [text, { type: 'null' }], default: null, title: 'A' } },
    },
  },
  {
    name: 'pydantic: discriminated union',
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
    name: 'pydantic: recursive model',
    schema: {
      $ref: '#/$defs/Node',
      $defs: { Node: open({ children: { items: { $ref: '#/$defs/Node' }, type: 'array' } }) },
    },
  },
  {
    name: 'zod: tuple and email',
    schema: closed({
      a: { type: 'array', prefixItems: [text, { type: 'number' }] },
      b: { type: 'string', format: 'email', pattern: '^(?!\\.)' },
    }),
    strict: true,
  },
  {
    name: 'zod: recursive getter',
    schema: closed({ children: { type: 'array', items: { $ref: '#' } } }),
    strict: true,
  },
  {
    name: 'zod: tuple of draft 7',
    schema: {
      ...draft7,
      ...closed({ a: { type: 'array', items: [text, { type: 'number' }], additionalItems: false } }),
    },
    strict: true,
  },
  {
    name: 'openai: zodResponseFormat, recursive',
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
    name: 'zod 3 with relative references',
    schema: { ...draft7, ...closed({ a: closed({ x: text }), b: { $ref: '#/properties/a' } }) },
    rejected: '#/properties/b/$ref leads to no schema in $defs',
  },
];
