import fc from 'fast-check';
import * as z from 'zod';

/** What is looked at of a JSON Schema: all that the contract's schemas use. */
export interface SchemaNode {
  type?: string;
  format?: string;
  enum?: unknown[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  items?: SchemaNode;
  properties?: Record<string, SchemaNode>;
  required?: string[];
}

/** What is sent, as JSON Schema; a field that its document tells otherwise than its check is taken from the document. */
export function inputNode(schema: z.ZodType): SchemaNode {
  const { $defs = {}, ...node } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      const { override } = jsonSchema as { override?: Record<string, unknown> };
      if (override !== undefined) Object.assign(jsonSchema, { pattern: undefined }, override);
      // Of what may also be null, what it else is: null is among the mutations.
      const { anyOf, ...others } = jsonSchema as SchemaNode & { anyOf?: SchemaNode[] };
      const [given, nothing] = anyOf ?? [];
      if (nothing?.type === 'null') Object.assign(jsonSchema, { anyOf: undefined }, given, others);
    },
  });
  // What several requests have stands where they refer to it.
  return JSON.parse(JSON.stringify(node), (_key, value) =>
    typeof value?.$ref === 'string' ? { ...$defs[value.$ref.replace('#/$defs/', '')], ...value } : value,
  ) as SchemaNode;
}

/** By name of a field, what it may say so that the service knows what is meant, or what makes that; the rest is free. */
export type Known = Readonly<Record<string, unknown>>;

/** Values that fit a schema. Lists are short and texts too: sizes are for mutations. */
export function valid(node: SchemaNode, known: Known, name = ''): fc.Arbitrary<unknown> {
  if (Object.hasOwn(known, name) && node.type !== 'array')
    return known[name] instanceof fc.Arbitrary ? known[name] : fc.constant(known[name]);
  if (node.enum !== undefined) return fc.constantFrom(...node.enum);
  switch (node.type) {
    case 'object':
      return fc.record(
        Object.fromEntries(
          Object.entries(node.properties ?? {}).map(([key, child]) => [key, valid(child, known, key)]),
        ),
        { requiredKeys: node.required ?? [] },
      );
    case 'array':
      return fc.array(valid(node.items ?? {}, known, name), { minLength: node.minItems ?? 0, maxLength: 2 });
    case 'string':
      if (node.format === 'uuid') return fc.uuid();
      return fc.string({ unit: 'grapheme', minLength: node.minLength ?? 0, maxLength: 12 });
    case 'integer':
      return fc.integer({ min: node.minimum ?? -1000, max: Math.min(node.maximum ?? 1000, 1000) });
    case 'boolean':
      return fc.boolean();
    default:
      throw new Error(`Fuzzing knows no schema of the type ${node.type}, as ${name} has it: teach it`);
  }
}

export type Path = readonly (string | number)[];

/** Every place of a value that a schema names, the whole first, and places that it names and the value leaves out. */
export function* places(
  node: SchemaNode,
  value: unknown,
  path: Path = [],
): Generator<{ path: Path; node: SchemaNode }> {
  yield { path, node };
  if (node.type === 'object')
    for (const [key, child] of Object.entries(node.properties ?? {}))
      yield* places(child, (value as Record<string, unknown> | undefined)?.[key], [...path, key]);
  if (node.type === 'array' && Array.isArray(value))
    for (const [index, item] of value.entries()) yield* places(node.items ?? {}, item, [...path, index]);
}
