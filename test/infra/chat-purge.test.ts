import { expect, test } from 'vitest';
import { synthesize } from './synthesize.ts';

const { resource, resources } = synthesize();
const queueUrlOf = (id: string) =>
  (resource('AWS::Lambda::Function', id).Properties.Environment as { Variables: Record<string, unknown> })
    .Variables.PURGE_QUEUE_URL;

test('deletions and the reconciler fill the queue of purges, whose function reports single failures', () => {
  const [queueId] = Object.keys(resources('AWS::SQS::Queue')).filter((id) => id.startsWith('PurgePurges'));
  for (const id of ['DeleteChat', 'DeleteUnusedChats', 'ReconcileBatches'])
    expect(queueUrlOf(id)).toEqual({ Ref: queueId });
  const source = Object.values(resources('AWS::Lambda::EventSourceMapping')).find(({ Properties }) =>
    JSON.stringify(Properties.EventSourceArn).includes(String(queueId)),
  );
  expect(source?.Properties).toMatchObject({
    BatchSize: 10,
    ScalingConfig: { MaximumConcurrency: 2 },
    FunctionResponseTypes: ['ReportBatchItemFailures'],
  });
});

test('a purge that fails five times becomes a dead letter, which is kept for two weeks', () => {
  const queue = resource('AWS::SQS::Queue', 'PurgePurges').Properties;
  expect(queue).toMatchObject({ SqsManagedSseEnabled: true, RedrivePolicy: { maxReceiveCount: 5 } });
  expect(JSON.stringify(queue.RedrivePolicy)).toContain('PurgeDeadLetters');
  expect(resource('AWS::SQS::Queue', 'PurgeDeadLetters').Properties).toMatchObject({
    MessageRetentionPeriod: 14 * 86_400,
    SqsManagedSseEnabled: true,
  });
});
