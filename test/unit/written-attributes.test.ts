import { expect, it } from 'vitest';
import { writtenAttributes } from '#local/dynamodb/written-attributes.ts';

const Key = { pk: { S: 'p' }, sk: { S: 's' } };

it.each<[string, object, string[]]>([
  ['of an item', { Item: { ...Key, one: { S: '' }, two: { S: '' } } }, ['pk', 'sk', 'one', 'two']],
  [
    'of every clause of an update',
    {
      Key,
      UpdateExpression:
        'SET one = if_not_exists(two, :v), three.four = :v REMOVE #five.#four, six[0] ADD seven :v DELETE eight :v',
      ExpressionAttributeNames: { '#five': 'five', '#four': 'four' },
    },
    ['pk', 'sk', 'one', 'two', 'three', 'five', 'six', 'seven', 'eight'],
  ],
  [
    'of a condition',
    {
      Key,
      ConditionExpression:
        'attribute_exists(pk) AND NOT (one BETWEEN :a AND :b OR #two IN (:a, :b)) AND contains (three, :a)',
      ExpressionAttributeNames: { '#two': 'two#2' },
    },
    ['pk', 'sk', 'one', 'two#2', 'three'],
  ],
  [
    'of a write in a transaction',
    { TransactItems: [{ Update: { Key, UpdateExpression: 'set one=:v' } }] },
    ['pk', 'sk', 'one'],
  ],
])('the attributes %s', (_of, request, expected) => {
  expect(writtenAttributes(request)).toEqual(expected);
});
