import fc from 'fast-check';
import * as z from 'zod';

/** The part of JSON Schema that the contract's schemas use. */
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

/** A schema's input as JSON Schema. If a field's OpenAPI description overrides its check, the override is used. */
export function inputNode(schema: z.ZodType): SchemaNode {
  const { $defs = {}, ...node } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      const { override } = jsonSchema as { override?: Record<string, unknown> };
      if (override !== undefined) Object.assign(jsonSchema, { pattern: undefined }, override);
      // A nullable schema becomes its other alternative: null is one of the mutations anyway.
      const { anyOf, ...others } = jsonSchema as SchemaNode & { anyOf?: SchemaNode[] };
      const [alternative, nullType] = anyOf ?? [];
      if (nullType?.type === 'null') Object.assign(jsonSchema, { anyOf: undefined }, alternative, others);
    },
  });
  // References to named schemas are replaced by the schemas. The copy also drops what is undefined.
  return withoutReferences(JSON.parse(JSON.stringify(node)), JSON.parse(JSON.stringify($defs))) as SchemaNode;
}

function withoutReferences(value: unknown, definitions: Readonly<Record<string, unknown>>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element) => withoutReferences(element, definitions));
  const { $ref, ...own } = value as { $ref?: string };
  const referred = $ref === undefined ? undefined : definitions[$ref.replace('#/$defs/', '')];
  return Object.fromEntries(
    Object.entries({ ...(referred as object | undefined), ...own }).map(([key, child]) => [
      key,
      withoutReferences(child, definitions),
    ]),
  );
}

/**
 * By field name: a value that exists in the service, or an arbitrary that generates one. Other fields get any value.
 */
export type Known = Readonly<Record<string, unknown>>;

/** Values that a schema accepts. Lists and texts are short: the mutations test sizes. */
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
      throw new Error(`Fuzzing does not support the schema type ${node.type} of ${name}: add it here`);
  }
}

export type Path = readonly (string | number)[];

/** Every location that a schema names: the whole value first, then its parts, including those that the value lacks. */
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
