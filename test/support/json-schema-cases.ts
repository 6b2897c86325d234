import { seededRandom } from './seeded-random.ts';

/** A schema and data, as JSON Schema 2020-12 and this project's subset read them alike. */
export interface SchemaCase {
  schema: Record<string, unknown>;
  data: unknown;
}

export const caseSeed = 20_261_127;
export const caseCount = 24_000;

const names = ['a', 'b', 'c/d', 'e~f', '__proto__', 'toString', 'constructor', 'ä'];
const texts = ['', 'a', 'ab', 'abc', '😀', '😀a', 'toString', '1', 'é'];
const numbers = [0, 1, 2, 3, -1, -2.5, 0.1, 0.3, 1.5, 4.5, 10, 100, 7, -0, 1e3, 0.75];
const types = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'];

type Maker = ReturnType<typeof makerOf>;

function makerOf(random: () => number) {
  const below = (count: number): number => Math.floor(random() * count);
  return {
    random,
    below,
    pick: <Entry>(entries: readonly Entry[]): Entry => entries[below(entries.length)] as Entry,
    chance: (share: number): boolean => random() < share,
  };
}

const some = <Entry>(maker: Maker, most: number, make: (index: number) => Entry): Entry[] =>
  Array.from({ length: maker.below(most + 1) }, (_, index) => make(index));

function anyValue(maker: Maker, levels: number): unknown {
  switch (maker.below(levels > 0 ? 7 : 5)) {
    case 0:
      return null;
    case 1:
      return maker.chance(0.5);
    case 2:
    case 3:
      return maker.pick(numbers);
    case 4:
      return maker.pick(texts);
    case 5:
      return some(maker, 3, () => anyValue(maker, levels - 1));
    default:
      return Object.fromEntries(
        some(maker, 3, () => [maker.pick(names), anyValue(maker, levels - 1)] as const),
      );
  }
}

const optional = (
  maker: Maker,
  share: number,
  make: () => Record<string, unknown>,
): Record<string, unknown> => (maker.chance(share) ? make() : {});

const pair = (maker: Maker, kind: string, most: number): Record<string, unknown> => ({
  ...optional(maker, 0.3, () => ({ [`min${kind}`]: maker.below(most) })),
  ...optional(maker, 0.3, () => ({ [`max${kind}`]: maker.below(most) + 1 })),
});

const reference = (maker: Maker): Record<string, unknown> => ({
  $ref: maker.pick(['#', '#/$defs/x', '#/$defs/y~1z', '#/definitions/__proto__', '#/definitions/q~0']),
});

function numberSchema(maker: Maker): Record<string, unknown> {
  return {
    type: maker.pick(['integer', 'number', ['number', 'null']]),
    ...optional(maker, 0.3, () => ({ minimum: maker.pick(numbers) })),
    ...optional(maker, 0.3, () => ({ maximum: maker.pick(numbers) })),
    ...optional(maker, 0.2, () => ({ exclusiveMinimum: maker.pick(numbers) })),
    ...optional(maker, 0.2, () => ({ exclusiveMaximum: maker.pick(numbers) })),
    ...optional(maker, 0.6, () => ({ multipleOf: maker.pick([1, 2, 3, 0.1, 0.01, 0.5, 2.5]) })),
  };
}

function arraySchema(maker: Maker, levels: number): Record<string, unknown> {
  return {
    type: 'array',
    ...optional(maker, 0.6, () => ({ items: schemaOf(maker, levels - 1, true) })),
    ...optional(maker, 0.3, () => ({
      prefixItems: [
        schemaOf(maker, levels - 1, true),
        ...some(maker, 2, () => schemaOf(maker, levels - 1, true)),
      ],
    })),
    ...pair(maker, 'Items', 3),
    ...optional(maker, 0.4, () => ({ uniqueItems: maker.chance(0.8) })),
  };
}

function objectSchema(maker: Maker, levels: number): Record<string, unknown> {
  const properties = Object.fromEntries(
    some(maker, 4, () => [maker.pick(names), schemaOf(maker, levels - 1, true)] as const),
  );
  return {
    type: 'object',
    ...optional(maker, 0.9, () => ({ properties })),
    ...optional(maker, 0.5, () => ({
      required: [...new Set([...Object.keys(properties), maker.pick(names)].filter(() => maker.chance(0.5)))],
    })),
    ...optional(maker, 0.4, () => ({
      additionalProperties: maker.chance(0.4) ? false : schemaOf(maker, levels - 1, true),
    })),
    ...optional(maker, 0.15, () => ({ propertyNames: schemaOf(maker, 0, true) })),
    ...pair(maker, 'Properties', 3),
  };
}

function combination(maker: Maker, levels: number): Record<string, unknown> {
  const part = () => schemaOf(maker, levels - 1, false);
  switch (maker.below(4)) {
    case 0:
      return { anyOf: [part(), part()] };
    case 1:
      return { oneOf: [part(), part(), ...some(maker, 1, part)] };
    case 2:
      return { allOf: [part(), ...some(maker, 1, part)] };
    default:
      return { not: part() };
  }
}

/** @param consumed whether data was read since the last reference, so that another one makes no endless cycle */
function schemaOf(maker: Maker, levels: number, consumed: boolean): unknown {
  const kind = maker.random();
  if (kind < 0.06) return maker.chance(0.8);
  if (kind < 0.12) return {};
  if (kind < 0.2) return { enum: [anyValue(maker, 2), ...some(maker, 3, () => anyValue(maker, 1))] };
  if (kind < 0.25) return { const: anyValue(maker, 2) };
  if (kind < 0.36) return numberSchema(maker);
  if (kind < 0.46) return { type: 'string', ...pair(maker, 'Length', 3) };
  if (kind < 0.52) return { type: maker.pick(types), description: 'A note', ...pair(maker, 'Length', 3) };
  if (kind < 0.56)
    return { ...numberSchema(maker), ...pair(maker, 'Items', 3), type: ['string', 'array', 'number'] };
  if (levels <= 0) return { type: [maker.pick(types)] };
  if (kind < 0.62 && consumed)
    return { ...reference(maker), ...optional(maker, 0.2, () => pair(maker, 'Length', 3)) };
  if (kind < 0.75) return arraySchema(maker, levels);
  if (kind < 0.9) return objectSchema(maker, levels);
  return { ...combination(maker, levels), ...optional(maker, 0.2, () => combination(maker, levels)) };
}

/** A schema of an array or an object, or of an alternative of them: data is read before the next reference. */
const startOf = (maker: Maker): Record<string, unknown> =>
  maker.chance(0.3)
    ? arraySchema(maker, 3)
    : maker.chance(0.7)
      ? objectSchema(maker, 3)
      : combination(maker, 3);

const rootOf = (maker: Maker): Record<string, unknown> => ({
  ...startOf(maker),
  $defs: Object.fromEntries([
    ['x', startOf(maker)],
    ['y/z', { anyOf: [{ type: 'null' }, startOf(maker)] }],
  ]),
  definitions: Object.fromEntries([
    ['__proto__', startOf(maker)],
    ['q~', schemaOf(maker, 1, false)],
  ]),
});

/** Data that fits in most cases. It reads the schema as it is written, without `not` and most limits. */
function fittingData(maker: Maker, root: Record<string, unknown>, schema: unknown, levels: number): unknown {
  if (typeof schema !== 'object' || schema === null || levels <= 0) return anyValue(maker, 1);
  const node = schema as Record<string, unknown>;
  if (typeof node.$ref === 'string') {
    const [, group = '', name = ''] = node.$ref.split('/');
    const own = name.replaceAll('~1', '/').replaceAll('~0', '~');
    const target = group === '' ? root : new Map(Object.entries(root[group] as object)).get(own);
    return fittingData(maker, root, target, levels - 1);
  }
  const alternatives = (node.anyOf ?? node.oneOf ?? node.allOf) as unknown[] | undefined;
  if (alternatives !== undefined) return fittingData(maker, root, maker.pick(alternatives), levels);
  if (node.enum !== undefined) return maker.pick(node.enum as unknown[]);
  if ('const' in node) return node.const;
  return typedData(maker, root, node, levels);
}

function typedData(
  maker: Maker,
  root: Record<string, unknown>,
  node: Record<string, unknown>,
  levels: number,
): unknown {
  const type = Array.isArray(node.type) ? maker.pick(node.type) : node.type;
  switch (type) {
    case 'object':
      return fittingObject(maker, root, node, levels);
    case 'array': {
      const first = (node.prefixItems ?? []) as unknown[];
      const length = Number(node.minItems ?? 0) + maker.below(2);
      return Array.from({ length }, (_, index) =>
        fittingData(maker, root, first[index] ?? node.items ?? {}, levels - 1),
      );
    }
    case 'string':
      return 'bcdefg'.slice(0, Number(node.minLength ?? 0) + maker.below(2));
    case 'number':
    case 'integer': {
      const unit = Number(node.multipleOf ?? 1);
      return Math.ceil(Number(node.minimum ?? node.exclusiveMinimum ?? node.maximum ?? 0) / unit) * unit;
    }
    case 'boolean':
      return maker.chance(0.5);
    default:
      return type === 'null' ? null : anyValue(maker, 1);
  }
}

function fittingObject(
  maker: Maker,
  root: Record<string, unknown>,
  node: Record<string, unknown>,
  levels: number,
): Record<string, unknown> {
  const properties = new Map(Object.entries((node.properties ?? {}) as object));
  const required = (node.required ?? []) as string[];
  const chosen = [...properties.keys()].filter(() => maker.chance(0.4));
  const all = new Set([...required, ...chosen]);
  for (const name of names) if (all.size < Number(node.minProperties ?? 0)) all.add(name);
  return Object.fromEntries(
    [...all].map(
      (name) =>
        [
          name,
          fittingData(maker, root, properties.get(name) ?? node.additionalProperties ?? {}, levels - 1),
        ] as const,
    ),
  );
}

/** The same data with a change at one place. */
function mutated(maker: Maker, data: unknown): unknown {
  if (maker.chance(0.3) || typeof data !== 'object' || data === null) return anyValue(maker, 1);
  if (Array.isArray(data)) {
    const index = maker.below(data.length + 1);
    const changed = index < data.length ? mutated(maker, data[index]) : anyValue(maker, 1);
    if (maker.chance(0.3)) return [...data, ...data.slice(0, 1)];
    return maker.chance(0.2) ? data.slice(1) : [...data.slice(0, index), changed, ...data.slice(index + 1)];
  }
  const entries = Object.entries(data);
  const index = maker.below(entries.length + 1);
  const [name, value] = entries[index] ?? [maker.pick(names), null];
  const others = entries.filter(([other]) => other !== name);
  return Object.fromEntries(maker.chance(0.2) ? others : [...others, [name, mutated(maker, value)]]);
}

/** Half of the data fits in most cases, and half of it is changed. */
export function* schemaCases(): Generator<SchemaCase> {
  const maker = makerOf(seededRandom(caseSeed));
  for (let index = 0; index < caseCount; index += 2) {
    const schema = rootOf(maker);
    const data = fittingData(maker, schema, schema, 5);
    yield { schema, data };
    yield { schema, data: mutated(maker, data) };
  }
}

/** The same schema with draft 7's form of tuples. */
export function withOldTuples(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withOldTuples);
  if (typeof schema !== 'object' || schema === null) return schema;
  const changed = Object.entries(schema).map(
    ([keyword, value]) =>
      [keyword, ['enum', 'const'].includes(keyword) ? value : withOldTuples(value)] as const,
  );
  const { prefixItems, items, ...others } = Object.fromEntries(changed);
  if (prefixItems === undefined) return Object.fromEntries(changed);
  return { ...others, items: prefixItems, ...(items !== undefined && { additionalItems: items }) };
}
