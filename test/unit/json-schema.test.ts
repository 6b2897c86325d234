import { expect, test } from 'vitest';
import { isStrict, problemOfData, problemOfSchema, smallestInstance } from '#contract/json-schema.ts';

const person = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' }, 'a/b': { items: { type: 'null' } } },
  required: ['name', 'age'],
  additionalProperties: { type: 'boolean' },
};

test('problems name the place in the data', () => {
  expect(problemOfSchema(person)).toBeUndefined();
  expect(problemOfData(person, { name: 'Ada', age: 1 })).toBeUndefined();
  expect(problemOfData(person, 1)).toBe('must be object');
  expect(problemOfData(person, { name: 'Ada', age: 1.5 })).toBe('/age must be integer');
  expect(problemOfData(person, { name: 'Ada' })).toBe('must have the property age');
  expect(problemOfData(person, { name: 'Ada', age: 1, secret: 2 })).toBe('/* must be boolean');
  expect(problemOfData(person, { name: 'Ada', age: 1, 'a/b': [null, 1] })).toBe('/a~1b/1 must be null');
});

test('a schema is rejected with the place', () => {
  expect(problemOfSchema({ properties: { a: { if: {} } } })).toEqual({
    place: '#/properties/a/if',
    problem: 'is not supported',
  });
});

test('an instance fits', () => {
  expect(smallestInstance(person)).toEqual({ name: '', age: 0 });
  const tree: Record<string, unknown> = {
    type: 'object',
    properties: {
      left: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
      right: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
    },
    required: ['left', 'right'],
    additionalProperties: false,
  };
  expect(problemOfSchema(tree)).toBeUndefined();
  expect(smallestInstance(tree)).toEqual({ left: null, right: null });
  expect(isStrict(tree)).toBe(true);
  expect(isStrict(person)).toBe(false);
  for (const schema of [
    { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true },
    { type: 'number', exclusiveMinimum: 2.5, exclusiveMaximum: 2.6 },
    { type: 'integer', minimum: 7, multipleOf: 5 },
    { type: 'string', minLength: 5 },
    { oneOf: [{ type: 'string' }, { type: 'string', minLength: 1 }] },
    { type: 'object', minProperties: 2 },
  ])
    expect(problemOfData(schema, smallestInstance(schema)), JSON.stringify(schema)).toBeUndefined();
});
