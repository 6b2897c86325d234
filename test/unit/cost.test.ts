import { expect, it } from 'vitest';
import { routes } from '#contract/routes.ts';
import { parseSettings } from '#lib/settings.ts';
import { requestsPerEnvironment, usualConcurrency } from '../../bin/cost/assumptions.ts';
import { batchOf } from '../../bin/cost/batch-of.ts';
import { dollarsOf, totalOf } from '../../bin/cost/dollars-of.ts';
import {
  breakEvenConcurrency,
  dollarsOfInvocation,
  environmentMonthDollars,
  evenConcurrency,
  messagesAt,
} from '../../bin/cost/functions.ts';
import { type OperationCalls, operations } from '../../bin/cost/operations.ts';
import { renderCost } from '../../bin/cost/render-cost.ts';
import { dollarsOfMessages } from '../../bin/cost/render-web-functions.ts';

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

it.each([
  [1, 37.4003],
  [20, 1.87002],
  [64, 0.58438],
])('divides the memory of an environment among its requests: %d', (concurrency, memory) => {
  // 5.1 s of 2 GB at 3.6667 dollars a million, after $0.20 for the request and 8.8 ms of processor time.
  expect(dollarsOfInvocation('SendMessage', concurrency) * 1e6).toBeCloseTo(0.2 + 0.24371 + memory, 4);
});

it('prices the web function only where it replaces a Lambda function', () => {
  expect(dollarsOfInvocation('SendMessage') * 1e6).toBeCloseTo(0.2 + 5.1 * 13.3334);
  for (const name of ['GetBatch', 'ProcessBatchItems'])
    expect(dollarsOfInvocation(name, 20)).toBe(dollarsOfInvocation(name));
  expect(dollarsOf(operations['batch of 10'], undefined, 20)).toEqual(dollarsOf(operations['batch of 10']));
  const [withAll, withUploads] = [20, undefined].map((concurrency) =>
    dollarsOf(operations['create-chat'], undefined, concurrency),
  );
  expect({ ...withAll, functions: 0 }).toEqual({ ...withUploads, functions: 0 });
  expect(withAll?.functions).toBeLessThan(withUploads?.functions ?? 0);
});

it('costs at most 20 dollars for a million messages from 20 requests in an environment on, even at double rates', () => {
  expect(usualConcurrency).toBe(20);
  for (const concurrency of [20, 64])
    for (const factor of [1, 2]) expect(dollarsOfMessages(concurrency, factor)).toBeLessThanOrEqual(20);
});

it.each([0.5, 1, 2])('breaks even where both settings cost the same, at %d times the rates', (factor) => {
  const concurrency = breakEvenConcurrency(factor);
  expect(dollarsOfMessages(concurrency, factor)).toBeCloseTo(dollarsOfMessages());
  expect(dollarsOfMessages(concurrency * 1.01, factor)).toBeLessThan(dollarsOfMessages());
  expect(dollarsOfMessages(concurrency * 0.99, factor)).toBeGreaterThan(dollarsOfMessages());
});

it('serves evenly spread messages in as few environments as can take them, and always in one', () => {
  expect(requestsPerEnvironment).toBe(parseSettings({}).requestsPerEnvironment);
  for (const concurrency of [0.02, 1, 20, 64])
    expect(evenConcurrency(messagesAt(concurrency))).toBeCloseTo(concurrency);
  expect(evenConcurrency(messagesAt(65))).toBeCloseTo(32.5);
  // The memory of one environment, by month and by message.
  const [dollars, withoutMemory] = [1, Number.POSITIVE_INFINITY].map((concurrency) =>
    dollarsOfInvocation('SendMessage', concurrency),
  );
  expect(messagesAt(1) * ((dollars ?? 0) - (withoutMemory ?? 0))).toBeCloseTo(environmentMonthDollars());
});

it('refuses to leave out what it has no price of', () => {
  expect(() => dollarsOf({ ...nothing, requests: { 'sns Publish': 1 } })).toThrow('sns Publish');
});

it('draws the line of batches through the two that are counted', () => {
  const [small, large] = [operations['batch of 30'], operations['batch of 70']];
  expect(batchOf(30)).toEqual({
    ...small,
    invocations: { ...small.invocations, ProcessBatchItems: 2 },
    dynamodb: expect.objectContaining(small.dynamodb),
  });
  expect(batchOf(70).writeUnits).toBe(large.writeUnits);
  const perRequest = (large.writeUnits - small.writeUnits) / 40;
  expect(batchOf(1000).writeUnits).toBe(Math.round(small.writeUnits + perRequest * 970));
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
