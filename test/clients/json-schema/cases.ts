import { seededRandom } from '../../support/seeded-random.ts';

type Schema = Record<string, unknown>;

/** A schema and data, as JSON Schema 2020-12 and this project's subset read them alike. */
interface SchemaCase {
  schema: Schema;
  data: unknown;
}

const names = ['a', 'b', 'c/d', 'e~f', '__proto__', 'toString', 'constructor', 'ä'];
const texts = ['', 'a', 'ab', 'abc', '😀', '😀a', 'toString', '1', 'é'];
const numbers = [0, 1, 2, 3, -1, -2.5, 0.1, 0.3, 1.5, 4.5, 10, 100, 7, -0, 1e3, 0.75];
const types = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'];

const random = seededRandom(20_261_127);
const below = (count: number): number => Math.floor(random() * count);
const pick = <Entry>(entries: readonly Entry[]): Entry => entries[below(entries.length)] as Entry;
const chance = (share: number): boolean => random() < share;
const some = <Entry>(most: number, make: () => Entry): Entry[] =>
  Array.from({ length: below(most + 1) }, make);
const optional = (share: number, make: () => Schema): Schema => (chance(share) ? make() : {});

function anyValue(levels: number): unknown {
  if (levels === 0 || chance(0.7))
    return pick([null, chance(0.5), pick(numbers), pick(numbers), pick(texts)]);
  const values = some(3, () => anyValue(levels - 1));
  return chance(0.5) ? values : Object.fromEntries(values.map((value) => [pick(names), value]));
}

const bounds = (kind: string): Schema => ({
  ...optional(0.3, () => ({ [`min${kind}`]: below(3) })),
  ...optional(0.3, () => ({ [`max${kind}`]: below(3) + 1 })),
});

const numberSchema = (): Schema => ({
  type: pick(['integer', 'number', ['number', 'null']]),
  ...optional(0.3, () => ({ minimum: pick(numbers) })),
  ...optional(0.3, () => ({ maximum: pick(numbers) })),
  ...optional(0.2, () => ({ exclusiveMinimum: pick(numbers) })),
  ...optional(0.2, () => ({ exclusiveMaximum: pick(numbers) })),
  ...optional(0.6, () => ({ multipleOf: pick([1, 2, 3, 0.1, 0.01, 0.5, 2.5]) })),
});

const arraySchema = (levels: number): Schema => ({
  type: 'array',
  ...optional(0.6, () => ({ items: schemaOf(levels - 1) })),
  ...optional(0.3, () => ({ prefixItems: [schemaOf(levels - 1), ...some(2, () => schemaOf(levels - 1))] })),
  ...bounds('Items'),
  ...optional(0.4, () => ({ uniqueItems: chance(0.8) })),
});

function objectSchema(levels: number): Schema {
  const properties = Object.fromEntries(some(4, () => [pick(names), schemaOf(levels - 1)]));
  const required = new Set([...Object.keys(properties), pick(names)].filter(() => chance(0.5)));
  return {
    type: 'object',
    ...optional(0.9, () => ({ properties })),
    ...optional(0.5, () => ({ required: [...required] })),
    ...optional(0.4, () => ({ additionalProperties: chance(0.6) && schemaOf(levels - 1) })),
    ...optional(0.2, () => ({ propertyNames: pick([bounds('Length'), schemaOf(0)]) })),
    ...bounds('Properties'),
  };
}

function combination(levels: number): Schema {
  const part = () => schemaOf(levels - 1, false);
  return pick<() => Schema>([
    () => ({ anyOf: [part(), part()] }),
    () => ({ oneOf: [part(), part(), ...some(1, part)] }),
    () => ({ allOf: [part(), ...some(1, part)] }),
    () => ({ not: part() }),
  ])();
}

const reference = (): Schema => ({
  $ref: pick(['#', '#/$defs/x', '#/$defs/y~1z', '#/definitions/__proto__', '#/definitions/q~0']),
});

/** @param isConsumed whether data was read since the last reference, so that another one makes no endless cycle */
function schemaOf(levels: number, isConsumed = true): unknown {
  const flat: (() => unknown)[] = [
    () => pick<unknown>([true, false, {}]),
    () => ({ enum: [anyValue(2), ...some(3, () => anyValue(1))] }),
    () => ({ const: anyValue(2) }),
    numberSchema,
    () => ({ type: pick([...types, 'string', ['boolean', 'array']]), ...bounds('Length') }),
    () => ({
      ...numberSchema(),
      ...bounds('Items'),
      ...bounds('Properties'),
      type: ['string', 'array', 'number'],
    }),
  ];
  const nested = [
    () => arraySchema(levels),
    () => objectSchema(levels),
    () => ({ ...combination(levels), ...optional(0.2, () => combination(levels)) }),
    () => (isConsumed ? { ...reference(), ...bounds('Length') } : {}),
  ];
  return pick(levels === 0 || chance(0.5) ? flat : nested)();
}

/** A schema of an array or an object, or of an alternative of them: data is read before the next reference. */
const startOf = (): Schema => pick([arraySchema, objectSchema, objectSchema, combination])(3);

const rootOf = (): Schema => ({
  ...startOf(),
  $defs: { x: startOf(), 'y/z': { anyOf: [{ type: 'null' }, startOf()] } },
  definitions: Object.fromEntries([
    ['__proto__', startOf()],
    ['q~', schemaOf(1, false)],
  ]),
});

const own = (object: unknown, name: string): unknown => new Map(Object.entries(object ?? {})).get(name);

function targetOf(root: Schema, reference: string): unknown {
  const [, group = '', name = ''] = reference.split('/');
  return group === '' ? root : own(root[group], name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Data that fits in most cases. It reads the schema as it is written, without `not` and most limits. */
function fittingData(root: Schema, schema: unknown, levels: number): unknown {
  if (typeof schema !== 'object' || schema === null || levels === 0) return anyValue(1);
  const { $ref, anyOf, oneOf, allOf, enum: values, type, ...node } = schema as Schema;
  const [, alternatives] = [anyOf, oneOf, allOf].entries().find(([, list]) => list !== undefined) ?? [];
  if (typeof $ref === 'string') return fittingData(root, targetOf(root, $ref), levels - 1);
  if (alternatives !== undefined) return fittingData(root, pick(alternatives as unknown[]), levels);
  if (values !== undefined) return pick(values as unknown[]);
  if ('const' in node) return node.const;
  const typed = typedData[String(Array.isArray(type) ? pick(type) : type)];
  return typed === undefined ? anyValue(1) : typed(node, (child) => fittingData(root, child, levels - 1));
}

type DataOf = (schema: unknown) => unknown;

const typedData: Partial<Record<string, (node: Schema, dataOf: DataOf) => unknown>> = {
  null: () => null,
  boolean: () => chance(0.5),
  string: ({ minLength = 0 }) => 'bcdefg'.slice(0, Number(minLength) + below(2)),
  number: numberIn,
  integer: numberIn,
  array: ({ minItems = 0, prefixItems, items = {} }, dataOf) =>
    Array.from({ length: Number(minItems) + below(2) }, (_, index) =>
      dataOf(own(prefixItems, String(index)) ?? items),
    ),
  object({ minProperties = 0, properties, required, additionalProperties = {} }, dataOf) {
    const chosen = Object.keys(properties ?? {}).filter(() => chance(0.4));
    const all = new Set([...((required ?? []) as string[]), ...chosen]);
    for (const name of names) if (all.size < Number(minProperties)) all.add(name);
    const entries = [...all].map((name) => [name, dataOf(own(properties, name) ?? additionalProperties)]);
    return Object.fromEntries(entries);
  },
};

function numberIn({ multipleOf = 1, minimum, exclusiveMinimum, maximum }: Schema): number {
  const [unit, bound] = [Number(multipleOf), Number(minimum ?? exclusiveMinimum ?? maximum ?? 0)];
  return Math.ceil(bound / unit) * unit;
}

/** The same data with changes. */
function mutated(data: unknown): unknown {
  if (typeof data !== 'object' || data === null || chance(0.3)) return anyValue(1);
  const changed = (value: unknown) => (chance(0.3) ? mutated(value) : value);
  if (Array.isArray(data)) return [...data.slice(below(2)).map(changed), ...data.slice(0, below(2))];
  const entries = Object.entries(data).map(([name, value]) => [name, changed(value)]);
  return Object.fromEntries([...entries.slice(below(2)), ...some(1, () => [pick(names), null])]);
}

/** Half of the data fits in most cases, and half of it is changed. */
export const schemaCases: readonly SchemaCase[] = Array.from({ length: 6000 }, rootOf).flatMap((schema) => {
  const data = fittingData(schema, schema, 5);
  return [
    { schema, data },
    { schema, data: mutated(data) },
  ];
});
