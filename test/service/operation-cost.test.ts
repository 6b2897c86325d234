import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { measureOperations } from '#support/operations.ts';
import { type ScriptedModel, startScriptedModel } from '#support/scripted-model.ts';
import { type Service, startService } from '#support/service.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#support/webhook-receiver.ts';
import { type OperationCalls, type OperationName, operations } from '../../bin/cost/operations.ts';

vi.setConfig({ testTimeout: 180_000 });

let model: ScriptedModel;
let receiver: WebhookReceiver;
let service: Service;
beforeAll(async () => {
  [model, receiver] = await Promise.all([startScriptedModel(), startWebhookReceiver()]);
  service = await startService({
    variables: {
      OPENAI_BASE_URL: model.url,
      // So long that no lease is renewed, even on a slow machine.
      LEASE_SECONDS: '600',
      // With one worker, the number of claims of a batch is always the same.
      BATCH_WORKSPACE_PLACES: '1',
      REQUESTS_PER_WORKER: '25',
    },
    recordCalls: true,
    maxConcurrency: 1,
  });
});
afterAll(async () => {
  await service.close();
  await Promise.all([model.close(), receiver.close()]);
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
});
