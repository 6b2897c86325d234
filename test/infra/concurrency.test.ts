import { Match, Template } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { planConcurrency } from '#lib/concurrency.ts';
import { parseSettings } from '#lib/settings.ts';
import configuration from '../../cdk.json' with { type: 'json' };
import { createService } from './synthesize.ts';

const plain = { webFunctions: 'none' };

/** The reserved concurrency and the event sources' concurrency by function, and the warnings of the synth. */
function concurrencyOf(settings: Record<string, unknown> = {}) {
  const { stack } = createService({ settings: { ...plain, ...settings } });
  const template = Template.fromStack(stack);
  const functions = Object.entries(template.findResources('AWS::Lambda::Function')).map(
    ([id, { Properties }]) => [id.replace(/[0-9A-F]{8}$/, ''), Properties] as const,
  );
  const reserved = functions
    .map(
      ([name, properties]) => [name, properties.ReservedConcurrentExecutions as number | undefined] as const,
    )
    .filter(([, executions]) => executions !== undefined);
  const sources = Object.values(template.findResources('AWS::Lambda::EventSourceMapping')).map(
    ({ Properties }) => {
      const target = JSON.stringify(Properties.FunctionName);
      const name = functions.find(([name]) => target.includes(`"${name}`))?.[0] ?? target;
      return [name, Properties.ScalingConfig?.MaximumConcurrency] as const;
    },
  );
  return {
    names: functions.map(([name]) => name),
    reserved: Object.fromEntries(reserved),
    sources: Object.fromEntries(sources),
    template,
    warnings: stack.node.metadata.filter(({ type }) => type === 'aws:cdk:warning').map(({ data }) => data),
  };
}

const plan = (settings: Record<string, unknown>) => planConcurrency(parseSettings(settings));
const sends = (settings: Record<string, unknown>) => plan(settings).reserved.get('send-message');
const sum = (reserved: Iterable<number | undefined>) =>
  [...reserved].reduce((total: number, executions = 0) => total + executions, 0);

test('the authorizer and all that may run for long have reservations, which leave the short routes and other stacks theirs', () => {
  const { names, reserved, sources, warnings } = concurrencyOf();
  expect(reserved).toEqual({
    AuthorizeRequest: 200,
    CompleteChat: 50,
    DeliverWebhook: 50,
    DispatchBatch: 20,
    PrepareAttachment: 50,
    ReconcileBatches: 1,
    ResumeStream: 50,
    SendMessage: 255,
  });
  expect(sources).toEqual({ ProcessBatchItems: 20, FailDeadLetters: 2, PurgeChat: 2 });
  const [account, shortRoutes, otherStacks] = [1000, 200, 100];
  expect(account - sum(Object.values(reserved))).toBe(shortRoutes + 20 + 2 + 2 + otherStacks);
  // Only functions that run once for a request, a batch or an hour, and end soon, have no limit.
  expect(names.filter((name) => !(name in reserved) && !(name in sources)).toSorted()).toEqual([
    'AdvanceBatch',
    'CancelBatch',
    'CreateBatch',
    'CreateChat',
    'DeleteChat',
    'DeleteUnusedChats',
    'EraseUser',
    'FailBatch',
    'GetBatch',
    'GetChat',
    'GetModel',
    'ListBatchResults',
    'ListBatches',
    'ListChats',
    'ListMessages',
    'ListModels',
    'ListPublishedAgents',
    'RecordFeedback',
    'RejectOpenaiPath',
    'RenameChat',
    'StopReply',
    'UploadFile',
  ]);
  expect(warnings).toEqual([]);
});

test('send-message has what the others leave of the account', () => {
  expect(sends({ accountConcurrency: 3000 })).toBe(2255);
  const { reserved } = plan({
    authorizerConcurrency: 100,
    shortRouteConcurrency: 50,
    otherStacksConcurrency: 400,
  });
  expect([reserved.get('authorize-request'), reserved.get('send-message')]).toEqual([100, 205]);
  expect(1000 - sum(reserved.values())).toBe(50 + 20 + 2 + 2 + 400);
});

test('what does not fit is rejected with the sum, and what just fits is not', () => {
  expect(() => parseSettings({ accountConcurrency: 754 })).toThrow(
    'accountConcurrency: 754 is less than 200 authorize-request + 50 prepare-attachment + 50 deliver-webhook + 50 resume-stream + 50 complete-chat + 20 dispatch-batch + 1 reconcile-batches + 200 short routes + 20 process-batch-items + 2 fail-dead-letters + 2 purge-chat + 100 other stacks + 10 send-message (at least) = 755; lower authorizerConcurrency',
  );
  expect(sends({ accountConcurrency: 755 })).toBe(10);
  expect(() => parseSettings({ authorizerConcurrency: 446 })).toThrow('= 1001; lower');
  expect(sends({ authorizerConcurrency: 445 })).toBe(10);
  expect(() => parseSettings({ accountConcurrency: 101 })).toThrow('accountConcurrency: 101 is less than');
  expect(() => parseSettings({ otherStacksConcurrency: 99 })).toThrow('otherStacksConcurrency');
});

test('an account of 10, as new ones have, reserves nothing, has two workers, and is warned of', () => {
  const { reserved, sources, template, warnings } = concurrencyOf({ accountConcurrency: 10 });
  expect(reserved).toEqual({});
  expect(sources).toEqual({ ProcessBatchItems: 2, FailDeadLetters: 2, PurgeChat: 2 });
  expect(warnings).toEqual([
    expect.stringContaining(
      'Nothing is reserved: Lambda keeps 100 executions unreserved, and accountConcurrency is 10.',
    ),
  ]);
  // A workspace's share is half of these two workers.
  template.hasResourceProperties('AWS::Lambda::Function', {
    Environment: { Variables: Match.objectLike({ BATCH_WORKSPACE_PLACES: '1' }) },
  });
  expect(plan({ accountConcurrency: 100 })).toMatchObject({ reserved: new Map(), batchWorkers: 20 });
});

test.each(['staging', 'development'] as const)(
  '%s reserves nothing, so that it fits beside another stage, and is not warned of',
  (stage) => {
    expect(plan(configuration.context.stages[stage])).toMatchObject({
      reserved: new Map(),
      warning: undefined,
    });
  },
);
