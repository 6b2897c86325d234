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
    // No lease is renewed, however slow the machine is.
    variables: { OPENAI_BASE_URL: model.url, LEASE_SECONDS: '600' },
    recordCalls: true,
    maxConcurrency: 1,
  });
});
afterAll(async () => {
  await service.close();
  await Promise.all([model.close(), receiver.close()]);
});

/** Counts by what they count; a service or function that is named in one alone counts 0 in the other. */
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
