import { describe, expect, test } from 'vitest';
import {
  isStrict,
  type JsonSchema,
  problemOfData,
  problemOfSchema,
  smallestInstance,
} from '#contract/json-schema.ts';

/** Own keys as JSON has them: `__proto__` too. */
const json = (text: string) => JSON.parse(text) as Record<string, unknown>;
const nested = (levels: number, open: string, inner: string, close: string) =>
  json(open.repeat(levels) + inner + close.repeat(levels));

function secondsOf(run: () => unknown): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/** 2 MB of small objects. */
const ordinary = JSON.stringify(
  Array.from({ length: 42_000 }, (_each, id) => ({ id, name: `name ${id}`, price: id / 8, isOpen: true })),
);

/**
 * A processor that needs 10 ms for these 2 MB has 0.3 s for a check. The two alternate, so that both have the same processor. A
 * run that is short enough is the last one.
 */
function expectShort(run: () => unknown): void {
  let [parsing, working] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let count = 0; count < 6 && !(working < 30 * parsing); count += 1) {
    parsing = Math.min(
      parsing,
      secondsOf(() => JSON.parse(ordinary)),
    );
    working = Math.min(working, secondsOf(run));
  }
  expect(working / parsing).toBeLessThan(30);
}

describe('data', () => {
  const fitting: [schema: JsonSchema, fits: unknown, wrong: unknown, problem: string][] = [
    [{ type: 'integer' }, 1.0, 1.5, 'must be integer'],
    [{ type: ['null', 'boolean'] }, false, 0, 'must be null or boolean'],
    [{ type: ['array', 'number'] }, [], {}, 'must be array or number'],
    [{ type: 'object' }, {}, [], 'must be object'],
    [
      { enum: [1, { a: 1, b: [2] }] },
      { b: [2], a: 1 },
      { a: 1, c: [2] },
      'must be one of the allowed values',
    ],
    [{ const: { a: 1 } }, { a: 1 }, { a: 2 }, 'must be the allowed value'],
    [{ const: null }, null, false, 'must be the allowed value'],
    [{ minimum: 2 }, 2, 1.9, 'must be at least 2'],
    [{ maximum: 2 }, 2, 2.1, 'must be at most 2'],
    [{ exclusiveMinimum: 2 }, 2.1, 2, 'must be more than 2'],
    [{ exclusiveMaximum: 2 }, 1.9, 2, 'must be less than 2'],
    [{ multipleOf: 0.01 }, 0.06, 0.075, 'must be a multiple of 0.01'],
    // Like Python's jsonschema: the quotient is 2.9999999999999996.
    [{ multipleOf: 0.1 }, 0.2, 0.3, 'must be a multiple of 0.1'],
    [{ multipleOf: 0.5 }, 1e308, 0.3, 'must be a multiple of 0.5'],
    [{ minLength: 2 }, '😀😀', '😀', 'must have at least 2 characters'],
    [{ maxLength: 2 }, '😀😀', '😀😀a', 'must have at most 2 characters'],
    [{ minItems: 2 }, [1, 1], [1], 'must have at least 2 items'],
    [{ minItems: 1, minLength: 1 }, {}, [], 'must have at least 1 items'],
    [{ maxItems: 1 }, [1], [1, 1], 'must have at most 1 items'],
    [{ minProperties: 1 }, { a: 1 }, {}, 'must have at least 1 properties'],
    [{ minProperties: 1, minLength: 1, minimum: 1 }, [], {}, 'must have at least 1 properties'],
    [{ maxProperties: 1 }, { a: 1 }, { a: 1, b: 1 }, 'must have at most 1 properties'],
    [{ uniqueItems: false, type: 'array' }, [1, 1], 1, 'must be array'],
    [
      { uniqueItems: true },
      [1, true, '1', [1]],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      'must not have equal items',
    ],
    [{ required: ['a', 'toString'] }, { a: null, toString: 1 }, { a: 1 }, 'must have the property toString'],
    [{ properties: { 'a/b~': false } }, { c: 1 }, { 'a/b~': 1 }, '/a~1b~0 is not allowed'],
    [
      { properties: { a: true }, additionalProperties: false },
      { a: 1 },
      { toString: 1 },
      'must not have further properties',
    ],
    [
      { additionalProperties: { items: { type: 'null' } } },
      { a: [null] },
      { secret: [null, 1] },
      '/*/1 must be null',
    ],
    [
      { propertyNames: { maxLength: 1 } },
      { a: 1 },
      { secret: 1 },
      'has a property whose name must have at most 1 characters',
    ],
    [{ items: { type: 'string' } }, ['a'], ['a', 1], '/1 must be string'],
    [{ prefixItems: [true, { type: 'string' }], items: false }, [1, 'a'], [1, 'a', 2], '/2 is not allowed'],
    [{ prefixItems: [true, { type: 'string' }] }, [1], [1, 2], '/1 must be string'],
    [{ items: [true, { type: 'string' }] }, [1], [1, 2], '/1 must be string'],
    [{ items: [{ type: 'string' }] }, ['a', 1], [1], '/0 must be string'],
    [{ items: [true], additionalItems: { type: 'null' } }, [1, null], [1, 1], '/1 must be null'],
    [
      { anyOf: [{ type: 'string' }, { type: 'null' }] },
      null,
      1,
      'must match at least one of the alternatives',
    ],
    [{ oneOf: [{ type: 'integer' }, { minimum: 2 }] }, 1, 2, 'must match exactly one of the alternatives'],
    [{ allOf: [true, { minimum: 2 }] }, 2, 1, 'must be at least 2'],
    [{ not: { type: 'null' } }, 1, null, 'must not match the excluded schema'],
    [
      { properties: { a: { $ref: '#/$defs/b~1~01', minimum: 2 } }, $defs: { 'b/~1': { type: 'integer' } } },
      { a: 2 },
      { a: 1 },
      '/a must be at least 2',
    ],
    // Both are for the model alone.
    [{ pattern: '^a$', format: 'email', type: 'string' }, 'b', 1, 'must be string'],
  ];
  test.each(fitting)('%j fits %j and not %j: %s', (schema, fits, wrong, problem) => {
    expect(problemOfSchema(schema)).toBeUndefined();
    expect(problemOfData(schema, fits)).toBeUndefined();
    expect(problemOfData(schema, wrong)).toBe(problem);
  });

  test.each(['__proto__', 'toString', 'constructor'])('%s is a name as any other', (name) => {
    const key = JSON.stringify(name);
    const schema = json(
      `{"type":"object","properties":{${key}:{"type":"null"}},"required":[${key}],"additionalProperties":false}`,
    );
    expect(problemOfSchema(json(`{${key}:1}`))).toBe(`#/${name} is not supported`);
    expect(problemOfSchema({ $ref: `#/$defs/${name}`, $defs: {} })).toContain('#/$ref');
    expect(smallestInstance(schema)).toEqual(json(`{${key}:null}`));
  });

  test('data has at most 512 levels', () => {
    const schema = { items: { $ref: '#' } };
    for (const each of [schema, { items: true }, { additionalItems: true, items: [] }]) {
      expect(problemOfData(each, nested(512, '[', '', ']'))).toBeUndefined();
      expect(problemOfData(each, nested(513, '[', '', ']'))).toBe('is nested too deeply');
      expect(problemOfData(each, nested(60_000, '[', '', ']'))).toBe('is nested too deeply');
    }
    const alternatives = { additionalProperties: { oneOf: [{ oneOf: [{ oneOf: [{ $ref: '#' }] }] }] } };
    expect(problemOfData(alternatives, nested(512, '{"a":', '1', '}'))).toContain('is nested too deeply');
    expect(problemOfData({}, nested(60_000, '{"a":', '1', '}'))).toBe('is nested too deeply');
  });
});

describe('schemas', () => {
  test.each([
    ['if', {}],
    ['additionalItems', true],
    ['$id', 'a'],
  ])('%s is not supported', (keyword, value) => {
    expect(problemOfSchema({ properties: { 'a/b': { [keyword]: value } } })).toBe(
      `#/properties/a~1b/${keyword} is not supported`,
    );
  });

  test.each<JsonSchema>([
    { type: 'strin' },
    { type: [] },
    { type: ['null', 'null'] },
    { enum: [] },
    { properties: [] },
    { $defs: 1 },
    { required: [1] },
    { additionalProperties: null },
    { additionalProperties: [] },
    { propertyNames: 'a' },
    { not: [true] },
    { items: 1 },
    { prefixItems: [] },
    { anyOf: [] },
    { oneOf: true },
    { allOf: {} },
    { minLength: -1 },
    { maxItems: 1.5 },
    { minProperties: '1' },
    { minimum: '1' },
    { maximum: null },
    { exclusiveMinimum: true },
    { multipleOf: 0 },
    { uniqueItems: 1 },
    { $ref: 1 },
  ])('%j is malformed', (schema) => {
    const [keyword] = Object.keys(schema);
    expect(problemOfSchema({ properties: { a: schema } })).toBe(`#/properties/a/${keyword} is malformed`);
  });

  test('a schema in a schema is an object, true or false', () => {
    expect(problemOfSchema({ properties: { a: null } })).toBe('#/properties/a is malformed');
    expect(problemOfSchema({ anyOf: [true, {}, 'a'] })).toBe('#/anyOf/2 is malformed');
    expect(problemOfSchema({ $defs: { 'a/~': [] } })).toBe('#/$defs/a~1~0 is malformed');
  });

  test('annotations are accepted, and $id at the root', () => {
    expect(
      problemOfSchema({ $id: 'https://example.com', default: [{ if: 1 }], pattern: '(' }),
    ).toBeUndefined();
  });

  test.each(['#/$defs/b', '#/$defs/a/properties/x', '#/properties/a', 'https://example.com', ''])(
    'the reference %s leads nowhere',
    ($ref) => {
      expect(problemOfSchema({ $defs: { a: { properties: { x: true } } }, not: { $ref } })).toBe(
        '#/not/$ref leads to no schema in $defs',
      );
    },
  );

  test.each<[JsonSchema, string]>([
    [{ $ref: '#' }, '#/$ref'],
    [{ allOf: [{ $ref: '#' }] }, '#/allOf/0/$ref'],
    [
      {
        properties: { a: { $ref: '#/$defs/a' } },
        $defs: { a: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } },
      },
      '#/properties/a/$ref',
    ],
    [{ $defs: { a: { oneOf: [{ $ref: '#/$defs/a' }] } } }, '#/$defs/a/oneOf/0/$ref'],
  ])('%j has an endless reference', (schema, place) => {
    expect(problemOfSchema(schema)).toBe(`${place} leads back to itself`);
  });

  test.each<JsonSchema>([
    { properties: { a: { $ref: '#' } } },
    { propertyNames: { $ref: '#' } },
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { items: { $ref: '#/$defs/a' } } } },
  ])('%j may refer to itself', (schema) => {
    expect(problemOfSchema(schema)).toBeUndefined();
    expect(problemOfData(schema, [{ a: [{}] }])).toBeUndefined();
  });

  test('each bound is named', () => {
    const filled = (bytes: number) => ({ title: 'é'.repeat((bytes - 12) / 2) });
    expect(problemOfSchema(filled(16_384))).toBeUndefined();
    expect(problemOfSchema(filled(16_386))).toBe('# has more than 16384 bytes');
    expect(problemOfSchema(nested(31, '{"not":', 'true', '}'))).toBeUndefined();
    expect(problemOfSchema(nested(32, '{"not":', 'true', '}'))).toBe('# has more than 32 levels');
    expect(problemOfSchema({ allOf: Array(1999).fill(true) })).toBeUndefined();
    expect(problemOfSchema({ allOf: Array(2000).fill(true) })).toBe('# has more than 2000 schemas');
    expect(problemOfSchema({ default: nested(60_000, '[', '', ']') })).toBe('# is nested too deeply');
    expect(problemOfSchema(nested(60_000, '{"not":', 'true', '}'))).toBe('# is nested too deeply');
  });
});

describe('the work is bounded', () => {
  const definitions = (count: number, of: (next: string) => unknown, last: unknown) =>
    Object.fromEntries(
      Array.from({ length: count + 1 }, (_, index) => [
        `a${index}`,
        index === count ? last : of(`#/$defs/a${index + 1}`),
      ]),
    );
  const twice = (keyword: string, count: number, last: unknown = {}): JsonSchema => ({
    $ref: '#/$defs/a0',
    $defs: definitions(count, ($ref) => ({ [keyword]: [{ $ref }, { $ref }] }), last),
  });
  const text = 'x'.repeat(262_000);
  const numbers = Array.from({ length: 40_000 }, (_, index) => index);
  const wide = Object.fromEntries(numbers.slice(0, 20_000).map((index) => [`k${index}`, index]));
  const slow = 'took too many steps to check';
  const hostile: [name: string, schema: JsonSchema, data: unknown, problem?: string][] = [
    ['2^40 references of allOf', twice('allOf', 40), 1, slow],
    ['2^40 references of anyOf', twice('anyOf', 40, false), 1, slow],
    ['2^40 references of oneOf', twice('oneOf', 40), text, slow],
    [
      '2^40 negations',
      {
        $ref: '#/$defs/a0',
        $defs: definitions(40, ($ref) => ({ oneOf: [{ not: { $ref } }, { not: { $ref } }] }), false),
      },
      1,
      slow,
    ],
    [
      '1,900 references in a row',
      { items: { $ref: '#/$defs/a0' }, $defs: definitions(480, ($ref) => ({ $ref }), { $ref: '#' }) },
      nested(512, '[', '', ']'),
      'is nested too deeply',
    ],
    [
      'unique items at every level',
      { uniqueItems: true, items: { $ref: '#' } },
      nested(500, '[', text.slice(0, 1000).replaceAll('x', '1,') + 1, ']'),
      slow,
    ],
    [
      'an enum of 1,000 values for each of many',
      { items: { enum: numbers.slice(0, 1000) } },
      numbers.map((index) => index % 1000),
    ],
    [
      'a large constant for each of many',
      { items: { const: numbers.slice(0, 2000) } },
      numbers,
      '/0 must be the allowed value',
    ],
    ['a long text, often', { allOf: Array(900).fill({ minLength: 1 }) }, text, slow],
    [
      'long names of references',
      {
        allOf: Array(30).fill({ $ref: `#/$defs/${text.slice(0, 250)}` }),
        $defs: { [text.slice(0, 250)]: { items: true } },
      },
      numbers,
      slow,
    ],
    ['many properties', { propertyNames: { minLength: 1 }, additionalProperties: { type: 'integer' } }, wide],
    [
      'long required lists, often',
      { items: { required: Array(4000).fill('a') } },
      numbers.map(() => ({ a: 1 })),
      slow,
    ],
  ];
  /** A schema of 60^6 references to a last one, which checks the same part of the data until the steps end. */
  const often = (last: JsonSchema, data: unknown): [JsonSchema, unknown] => [
    {
      properties: { a: { $ref: '#/$defs/a0' } },
      $defs: definitions(6, ($ref) => ({ anyOf: Array(60).fill({ $ref }) }), last),
    },
    { a: data, rest: text.slice(0, -JSON.stringify(data).length) },
  ];
  const named = (name: (index: number) => string) =>
    Object.fromEntries(numbers.slice(0, 25_000).map((index) => [name(index), 1]));
  const [words, digits] = [named((index) => `${index}k`), named((index) => `${(index * 7919) % 1_000_003}`)];
  const deep = nested(500, '[', JSON.stringify(text.slice(0, 250_000)), ',1]');
  const repeated: [name: string, ...ReturnType<typeof often>][] = [
    ...[words, digits].flatMap((data): typeof repeated => [
      ['closed objects', ...often({ additionalProperties: false }, data)],
      ['names that are not allowed', ...often({ propertyNames: false }, data)],
      ['a first property that is not allowed', ...often({ properties: { '0k': false, 0: false } }, data)],
      ['numbers of properties', ...often({ minProperties: 100_000 }, data)],
      ['constants beside objects', ...often({ const: 1 }, data)],
    ]),
    ['constants beside deep lists', ...often({ const: 1 }, deep)],
    ['long tuples', ...often({ prefixItems: Array(1500).fill(true), minItems: 9 }, [])],
    ['a long name that is required', ...often({ required: ['b'.repeat(7000)] }, {})],
    [
      'long names with tildes',
      ...often({ properties: { ['~'.repeat(4000)]: false } }, { ['~'.repeat(4000)]: 1 }),
    ],
    ['numbers that are no multiple', ...often({ multipleOf: 1e-300, maximum: -1 }, 1e300)],
    ['long paths', ...often({ items: { $ref: '#/$defs/a6' }, maxItems: 0 }, nested(400, '[', '1', ']'))],
  ];
  test.each(repeated)('%s, as often as the steps allow', (_name, schema, data) => {
    expect(problemOfSchema(schema)).toBeUndefined();
    let found: string | undefined;
    expectShort(() => {
      found = problemOfData(schema, data);
    });
    expect(found).toBe(slow);
  });

  test('a long tuple beside many items', () => {
    const schema = { items: { prefixItems: Array(1900).fill(true), items: true } };
    const data = nested(1, '[', Array(87_000).fill('[]').join(), ']');
    expectShort(() => problemOfData(schema, data));
  });

  test.each(hostile)('%s', (_name, schema, data, problem) => {
    expect(problemOfSchema(schema)).toBeUndefined();
    let found: string | undefined;
    expectShort(() => {
      found = problemOfData(schema, data);
    });
    expect(found?.replace(/^(\/0)+ /, '')).toBe(problem?.replace(/^(\/0)+ /, ''));
    expectShort(() => smallestInstance(schema));
  });

  test('a schema is checked in a moment', () => {
    const chain = { $defs: definitions(500, ($ref) => ({ $ref }), { $ref: '#/$defs/a0' }) };
    for (const schema of [twice('allOf', 150), chain, { allOf: Array(2000).fill({}) }, { title: text }])
      expectShort(() => problemOfSchema(schema));
    expect(problemOfSchema(chain)).toContain('leads back to itself');
  });
});

test('a strict schema may refer to itself, also by the definitions of draft 7, and have tuples', () => {
  const treeOf = (children: JsonSchema) => ({
    type: 'object',
    properties: { children: { type: 'array', ...children } },
    required: ['children'],
    additionalProperties: false,
  });
  const tree = treeOf({ items: { $ref: '#/definitions/tree' } });
  for (const schema of [
    treeOf({ items: { $ref: '#' } }),
    treeOf({ prefixItems: [{ type: 'string' }] }),
    treeOf({ items: [{ type: 'string' }], additionalItems: false }),
    { ...tree, definitions: { tree } },
  ]) {
    expect([problemOfSchema(schema), isStrict(schema)]).toEqual([undefined, true]);
    expect(problemOfData(schema, smallestInstance(schema))).toBeUndefined();
  }
});

test('in a strict schema every schema is strict', () => {
  const person = { type: 'object', properties: {}, additionalProperties: false };
  const other = { type: 'object', properties: {} };
  expect(isStrict(person)).toBe(true);
  for (const root of [{ anyOf: [person] }, { $ref: '#/$defs/a', $defs: { a: person } }, { type: 'string' }])
    expect(isStrict(root), JSON.stringify(root)).toBe(false);
  expect(isStrict({ ...person, properties: { a: other }, required: ['a'] })).toBe(false);
  expect(isStrict({ ...person, properties: { a: { anyOf: [other] } }, required: ['a'] })).toBe(false);
  expect(isStrict({ ...person, $defs: { b: other } })).toBe(false);
});

test.each<[JsonSchema, unknown]>([
  [{ type: 'integer', minimum: 7, multipleOf: 5 }, 10],
  [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
  [{ type: 'string', minLength: 3 }, 'xxx'],
  [{ type: 'array', items: { $ref: '#' }, minItems: 1 }, undefined],
  [{ type: 'string', not: {} }, undefined],
  [{ type: 'string', minLength: 1e9 }, undefined],
  [{ type: 'array', minItems: 1e9 }, undefined],
])('the smallest instance of %j', (schema, instance) => {
  expect(problemOfSchema(schema)).toBeUndefined();
  expect(smallestInstance(schema)).toEqual(instance);
});
