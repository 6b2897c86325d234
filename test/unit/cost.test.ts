import { expect, it } from 'vitest';
import { routes } from '#contract/routes.ts';
import { batchOf } from '../../bin/cost/batch-of.ts';
import { dollarsOf, totalOf } from '../../bin/cost/dollars-of.ts';
import { type OperationCalls, operations } from '../../bin/cost/operations.ts';
import { renderCost } from '../../bin/cost/render-cost.ts';

const nothing: OperationCalls = {
  invocations: {},
  dynamodb: {},
  readUnits: 0,
  writeUnits: 0,
  requests: {},
  transitions: 0,
};
const noRequests = { front: 0, gateway: 0 };
const million = (calls: Partial<OperationCalls>) =>
  totalOf(dollarsOf({ ...nothing, ...calls }, noRequests)) * 1e6;

it('prices what AWS counts, each at its own price', () => {
  expect(million({})).toBe(0);
  expect(million({ readUnits: 1 })).toBeCloseTo(0.125);
  expect(million({ writeUnits: 1 })).toBeCloseTo(0.625);
  expect(million({ transitions: 1 })).toBeCloseTo(25);
  expect(
    million({ requests: { 's3 PUT object': 1, 's3 GET object': 1, 's3 DELETE object': 1 } }),
  ).toBeCloseTo(5.4);
  expect(million({ requests: { 'kms Encrypt': 1, 'sfn StartExecution': 1 } })).toBeCloseTo(3);
  // $0.20 for the invocations, then 0.05 s of 1 GB, and 3,000 bytes of logs.
  expect(million({ invocations: { GetBatch: 1 } })).toBeCloseTo(0.2 + 0.66667 + 1.5);
  expect(totalOf(dollarsOf(nothing)) * 1e6).toBeCloseTo(3.5 + 1 + 0.85 + 0.25);
});

it('refuses to leave out what it has no price of', () => {
  expect(() => dollarsOf({ ...nothing, requests: { 'sns Publish': 1 } })).toThrow('sns Publish');
});

it('draws the line of batches through the two that are counted', () => {
  expect(batchOf(10)).toEqual({
    ...operations['batch of 10'],
    dynamodb: expect.objectContaining(operations['batch of 10'].dynamodb),
  });
  expect(batchOf(50).writeUnits).toBe(operations['batch of 50'].writeUnits);
  const perRequest = (operations['batch of 50'].writeUnits - operations['batch of 10'].writeUnits) / 40;
  expect(batchOf(1000).writeUnits).toBe(Math.round(operations['batch of 10'].writeUnits + perRequest * 990));
});

it('has an operation for every route', () => {
  const names = Object.keys(operations);
  const without = Object.keys(routes).filter(
    (route) => !names.some((name) => name === route || name.startsWith(`${route}, `)),
  );
  // To create a batch is part of `batch of 10`.
  expect(without).toEqual(['create-batch']);
});

it('writes every operation, and no number that is none', () => {
  const text = renderCost();
  for (const name of Object.keys(operations)) expect(text).toContain(`| ${name} `);
  expect(text).not.toMatch(/NaN|undefined|Infinity/);
});
