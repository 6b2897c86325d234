import { expect, it } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { webFunctions } from '#support/entry-points.ts';
import { measureOperations } from '#support/operations.ts';
import { useScriptedService } from '#support/use-service.ts';
import { startWebhookReceiver } from '#support/webhook-receiver.ts';
import { type OperationCalls, type OperationName, operations } from '../../bin/cost/operations.ts';

const receiver = closeAfterTests(await startWebhookReceiver());
const { model, service } = await useScriptedService({
  variables: {
    // So long that no lease is renewed, even on a slow machine.
    LEASE_SECONDS: '600',
    // With one worker, the number of claims of a batch is always the same.
    BATCH_WORKSPACE_SLOTS: '1',
    REQUESTS_PER_WORKER: '25',
  },
  recordCalls: true,
  maxConcurrency: 1,
});

/** All counts by name, so that a service or function that only one side has counts as 0 on the other side. */
const countsOf = ({ readUnits, writeUnits, transitions, ...tallies }: OperationCalls): Map<string, number> =>
  new Map([
    ...Object.entries({ readUnits, writeUnits, transitions }),
    ...Object.entries(tallies).flatMap(([kind, tally]) =>
      Object.entries(tally).map(([name, count]): [string, number] => [`${kind} ${name}`, count]),
    ),
  ]);

it('asks of AWS no more in any operation than docs/cost.md reckons with', async () => {
  const measured = await measureOperations(service, model, receiver);
  console.log(JSON.stringify(measured));
  const exceeded = (Object.keys(operations) as OperationName[]).flatMap((operation) => {
    const budget = countsOf(operations[operation]);
    return [...countsOf(measured[operation])]
      .filter(([name, count]) => count > (budget.get(name) ?? 0))
      .map(([name, count]) => `${operation}: ${count} ${name}, not ${budget.get(name) ?? 0}`);
  });
  expect(exceeded).toEqual([]);
  // The budget has the read of a history that the environment has not cached.
  expect(measured['send-message, streamed'].dynamodb).not.toHaveProperty('Query');
  if (webFunctions === 'all')
    expect(measured['send-message, first of a chat'].dynamodb).not.toHaveProperty('Query');
});
